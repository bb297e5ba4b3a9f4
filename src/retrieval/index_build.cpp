// build_index: see neighbour_index.h; the files are described in index_format.h.
#include <algorithm>

#include "retro/core/error.h"
#include "retro/core/hash.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/retrieval/neighbour_index.h"

#include "faiss_support.h"
#include "index_format.h"
#include "index_plan.h"
#include "index_recall.h"
#include "index_training.h"
#include "inverted_index.h"
#include "resumable_directory.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

/// A point this good ends the table of operating points.
constexpr double kBestRecall = 0.995;
/// Points shown beyond the one chosen.
constexpr int kPointsBeyond = 2;

class IndexBuilder {
 public:
  IndexBuilder(const RetrievalDatabase& database, const IndexConfig& config, uint64_t seed,
               int num_threads, const fs::path& directory)
      : database_(database),
        config_(config),
        seed_(seed),
        num_threads_(num_threads),
        directory_(directory),
        plan_(plan_index(config, database.num_indexable())) {}

  IndexReport build(const std::string& identity) {
    log_info("index: {}", plan_.reason);
    recall_chunks_ = sample_chunks(
        database_, std::min(config_.recall_queries, database_.num_indexable()), seed_, "recall");
    manifest_.database_version = database_.version();
    manifest_.covers.emplace();
    for (int64_t shard = 0; shard < database_.num_shards(); ++shard) {
      manifest_.covers->push_back(database_.shard_identity(shard));
    }
    manifest_.report = first_report();
    manifest_.report.identity = identity;
    if (plan_.type != "exact") write_lists();
    index_format::write_manifest(directory_, manifest_);
    measure();
    index_format::write_manifest(directory_, manifest_);
    return manifest_.report;
  }

 private:
  IndexReport first_report() const {
    IndexReport report;
    report.type = plan_.type;
    report.reason = plan_.reason;
    report.num_indexed = database_.num_indexable();
    report.num_lists = plan_.num_lists;
    report.num_probes = std::min<int64_t>(1, plan_.num_lists);
    report.rerank_factor = plan_.type == "ivf_pq" ? config_.rerank_factor : 1;
    return report;
  }

  void write_lists() {
    const fs::path trained = directory_ / index_format::kTrained;
    if (!fs::exists(trained)) write_faiss_index(*train(), trained);
    for (int64_t shard = 0; shard < database_.num_shards(); ++shard) {
      const std::string name = fmt::format("lists_{:06}.faiss", shard);
      const fs::path path = directory_ / name;
      if (!fs::exists(path)) {
        const int64_t width = padded_width(plan_.type, database_.key_width());
        auto index = read_faiss_index(trained, width);
        fill_index(database_, shard, num_threads_, *index);
        write_faiss_index(*index, path);
      }
      manifest_.shards.push_back({name, hash_file(path)});
      manifest_.report.size_bytes += static_cast<int64_t>(fs::file_size(path));
    }
  }

  std::unique_ptr<faiss::IndexIVF> train() const {
    const auto num_recall = static_cast<int64_t>(recall_chunks_.size());
    const bool can_hold_out = database_.num_indexable() - num_recall >= plan_.training_points;
    const auto chunks = sample_chunks(database_, plan_.training_points, seed_, "index training",
                                      can_hold_out ? recall_chunks_ : std::vector<int64_t>{});
    log_info("index: training {} lists on {} keys", format_count(plan_.num_lists),
             format_count(static_cast<int64_t>(chunks.size())));
    return train_index(database_, plan_, chunks, seed_, num_threads_);
  }

  void measure() {
    IndexReport& report = manifest_.report;
    const RecallSample sample(database_, recall_chunks_, num_threads_);
    report.recall_queries = sample.num_queries();
    report.exact_seconds_per_query = sample.exact_seconds_per_query();
    if (plan_.type == "exact") {
      report.seconds_per_query = report.exact_seconds_per_query;
      return;
    }
    const NeighbourIndex index(database_, directory_);
    report.operating_points = config_.num_probes > 0
                                  ? std::vector{sample.measure(index, config_.num_probes)}
                                  : measure_points(index, sample);
    choose_point();
  }

  /// 1, 2, 3, 4, 6, 8, 12, ... lists: until the recall is as good as it gets, or well beyond the
  /// target.
  std::vector<OperatingPoint> measure_points(const NeighbourIndex& index,
                                             const RecallSample& sample) const {
    std::vector<OperatingPoint> points;
    int num_beyond = 0;
    for (int64_t probes = 1; num_beyond <= kPointsBeyond; probes = next_probes(probes)) {
      points.push_back(sample.measure(index, std::min(probes, plan_.num_lists)));
      num_beyond += points.back().recall_at_10 >= config_.target_recall ? 1 : 0;
      if (points.back().recall_at_10 >= kBestRecall || probes >= plan_.num_lists) break;
    }
    return points;
  }

  static int64_t next_probes(int64_t probes) {
    const bool is_power_of_two = (probes & (probes - 1)) == 0;
    if (probes < 3) return probes + 1;
    return is_power_of_two ? probes / 2 * 3 : probes / 3 * 4;
  }

  void choose_point() {
    IndexReport& report = manifest_.report;
    const auto& points = report.operating_points;
    auto chosen = std::ranges::find_if(points, [&](const OperatingPoint& point) {
      return point.recall_at_10 >= config_.target_recall;
    });
    if (chosen == points.end()) {
      chosen = std::ranges::max_element(points, {}, &OperatingPoint::recall_at_10);
      log_warning("index: recall@10 is {:.3f}, below the target of {:.3f}; raise index.{}",
                  chosen->recall_at_10, config_.target_recall,
                  config_.num_probes > 0 ? "num_probes" : "rerank_factor");
    }
    report.num_probes = chosen->num_probes;
    report.recall_at_10 = chosen->recall_at_10;
    report.recall_1_in_10 = chosen->recall_1_in_10;
    report.seconds_per_query = chosen->seconds_per_query;
  }

  const RetrievalDatabase& database_;
  const IndexConfig& config_;
  uint64_t seed_;
  int num_threads_;
  fs::path directory_;
  IndexPlan plan_;
  std::vector<int64_t> recall_chunks_;
  index_format::Manifest manifest_;
};

std::string hash_of_inputs(const RetrievalDatabase& database, const IndexConfig& config,
                           uint64_t seed) {
  Hasher hasher;
  hasher.add("index").add(index_format::kVersion).add(database.version()).add(config.type);
  hasher.add(config.num_lists).add(config.num_probes).add(fmt::format("{}", config.target_recall));
  hasher.add(config.rerank_factor).add(config.recall_queries).add(static_cast<int64_t>(seed));
  return hasher.hex();
}

}  // namespace

std::string format_report(const IndexReport& report) {
  std::string text =
      fmt::format("index {}\n  {} chunks", report.reason, format_count(report.num_indexed));
  if (report.type != "exact") {
    text += fmt::format(", {} lists, {} probed, {} on disk", format_count(report.num_lists),
                        report.num_probes, format_bytes(static_cast<uint64_t>(report.size_bytes)));
  }
  text += fmt::format(
      "\n  recall@10 (set overlap with the exact 10) {:.3f}, 1-in-10 (exact nearest among 10) "
      "{:.3f}, {} queries, own document left out\n  {:.3f} ms a query and thread, exact search "
      "{:.3f} ms\n",
      report.recall_at_10, report.recall_1_in_10, report.recall_queries,
      report.seconds_per_query * 1e3, report.exact_seconds_per_query * 1e3);
  for (const OperatingPoint& point : report.operating_points) {
    text += fmt::format("  probes {:>6}  recall@10 {:.3f}  1-in-10 {:.3f}  {:.3f} ms{}\n",
                        point.num_probes, point.recall_at_10, point.recall_1_in_10,
                        point.seconds_per_query * 1e3,
                        point.num_probes == report.num_probes ? "  <- chosen" : "");
  }
  return text;
}

IndexReport build_index(const RetrievalDatabase& database, const IndexConfig& config, uint64_t seed,
                        int num_threads, const fs::path& directory) {
  const std::string identity = hash_of_inputs(database, config, seed);
  ResumableDirectory work(directory, identity,
                          [&] { const NeighbourIndex index(database, directory); });
  if (work.is_complete()) {
    log_info("index: {} is up to date", directory.string());
    return index_format::read_manifest(directory).report;
  }
  const IndexReport report =
      IndexBuilder(database, config, seed, num_threads, work.path()).build(identity);
  work.publish();
  log_info_line(format_report(report));
  return report;
}

}  // namespace retro
