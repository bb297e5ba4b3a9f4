// format_report: see neighbour_index.h.
#include <algorithm>
#include <cmath>

#include "retro/core/progress.h"
#include "retro/retrieval/neighbour_index.h"

namespace retro {
namespace {

std::string describe_lists(const IndexReport& report) {
  std::string text =
      fmt::format(", {} lists found through {}, {} probed", format_count(report.num_lists),
                  report.has_graph ? "a graph (HNSW)" : "a scan", report.num_probes);
  if (report.code_width > 0) {
    text += fmt::format(", {}four-bit codes of {} features, {} candidates for k of {} re-ranked",
                        report.has_rotation ? "rotated (OPQ), " : "", report.code_width,
                        kSmallestRerankedK * report.rerank_factor, kSmallestRerankedK);
  }
  return text + fmt::format(", {} on disk ({:.0f} bytes a chunk)",
                            format_bytes(static_cast<uint64_t>(report.size_bytes)),
                            static_cast<double>(report.size_bytes) /
                                static_cast<double>(std::max<int64_t>(1, report.num_indexed)));
}

std::string describe_point(const OperatingPoint& point, const IndexReport& report) {
  const bool is_chosen =
      point.num_probes == report.num_probes && point.rerank_factor == report.rerank_factor;
  const std::string candidates =
      report.code_width > 0
          ? fmt::format("  candidates {:>5}", kSmallestRerankedK * point.rerank_factor)
          : "";
  return fmt::format("  probes {:>6}{}  recall@10 {}  1-in-10 {}  {:.3f} ms{}\n", point.num_probes,
                     candidates, format_recall(point.recall_at_10),
                     format_recall(point.recall_1_in_10), point.seconds_per_query * 1e3,
                     is_chosen ? "  <- chosen" : "");
}

}  // namespace

std::string format_recall(double recall) {
  return std::isnan(recall) ? "not measured" : fmt::format("{:.3f}", recall);
}

std::string format_report(const IndexReport& report) {
  std::string text =
      fmt::format("index {}\n  {} chunks", report.reason, format_count(report.num_indexed));
  if (report.type != "exact") text += describe_lists(report);
  text += fmt::format(
      "\n  recall@10 (set overlap with the exact 10) {}, 1-in-10 (exact nearest among 10) "
      "{}, {} queries, own document left out\n  {:.3f} ms a query and thread, exact search "
      "{:.3f} ms\n",
      format_recall(report.recall_at_10), format_recall(report.recall_1_in_10),
      report.recall_queries, report.seconds_per_query * 1e3, report.exact_seconds_per_query * 1e3);
  for (const OperatingPoint& point : report.operating_points) text += describe_point(point, report);
  return text;
}

}  // namespace retro
