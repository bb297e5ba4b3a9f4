#include <cmath>

#include "retro/core/json.h"
#include "retro/core/progress.h"
#include "retro/eval/breakdown.h"

namespace retro {

namespace {

using nlohmann::json;

json systems_json(const std::vector<SystemFigure>& systems) {
  json list = json::array();
  for (const SystemFigure& system : systems) {
    list.push_back({{"column", system.column},
                    {"bits_per_byte", system.bits_per_byte},
                    {"gain",
                     {{"estimate", system.gain.estimate},
                      {"low", system.gain.low},
                      {"high", system.gain.high}}}});
  }
  return list;
}

json part_json(const BreakdownPart& part) {
  json systems = systems_json(part.systems);
  for (size_t s = 0; s < part.nats.size(); ++s) systems[s]["nats"] = part.nats[s];
  return {{"from", part.from},     {"to", part.to},       {"documents", part.documents},
          {"tokens", part.tokens}, {"bytes", part.bytes}, {"is_too_few", part.is_too_few},
          {"systems", systems}};
}

json partition_json(const Partition& partition) {
  json parts = json::array();
  for (const BreakdownPart& part : partition.parts) parts.push_back(part_json(part));
  return {{"name", partition.name},
          {"unit", partition.unit},
          {"source", partition.source},
          {"parts", parts}};
}

json words_json(const WordFigures& figures) {
  json systems = json::array();
  for (const WordPerplexity& system : figures.systems) {
    systems.push_back(
        {{"column", system.column}, {"nats", system.nats}, {"perplexity", system.perplexity}});
  }
  return {{"source", figures.source}, {"words", figures.words}, {"systems", systems}};
}

json variants_json(const std::vector<VariantRow>& rows) {
  json list = json::array();
  for (const VariantRow& row : rows) {
    list.push_back({{"source", row.source},
                    {"share", row.share},
                    {"chunks", row.chunks},
                    {"bytes", row.bytes},
                    {"is_too_few", row.is_too_few},
                    {"systems", systems_json(row.systems)}});
  }
  return list;
}

constexpr int kLabel = 28;

std::string figures_line(const std::string& label, bool is_too_few,
                         const std::vector<SystemFigure>& systems) {
  std::string line = fmt::format("  {:<{}}", label, kLabel);
  if (is_too_few) return line + "  too few\n";
  for (const SystemFigure& system : systems) line += fmt::format(" {:>8.4f}", system.bits_per_byte);
  if (const SystemFigure* headline = headline_figure(systems))
    line += fmt::format("  {:+.4f} ±{:.4f}", headline->gain.estimate, headline->gain.half_width());
  return line + "\n";
}

std::string heading(const std::string& title, const std::vector<SystemFigure>& systems) {
  std::string line = fmt::format("{}\n  {:<{}}", title, "", kLabel);
  for (const SystemFigure& system : systems)
    line += fmt::format(" {:>8.8}", system.column.substr(0, system.column.find(".s")));
  const SystemFigure* headline = headline_figure(systems);
  return line + fmt::format("  gain of {}\n", headline == nullptr ? "" : headline->column);
}

std::string partition_text(const Partition& partition) {
  std::string text;
  for (const BreakdownPart& part : partition.parts) {
    if (part.tokens == 0) continue;
    if (text.empty())
      text = heading(fmt::format("{} by {}", partition.source, partition.name), part.systems);
    const std::string range = part.to < 0 ? fmt::format("{} and more", part.from)
                                          : fmt::format("{} to {}", part.from, part.to);
    text += figures_line(fmt::format("{} {} ({})", range, partition.unit, part.documents),
                         part.is_too_few, part.systems);
  }
  return text;
}

std::string variants_text(const std::string& title, const std::vector<VariantRow>& rows) {
  std::string text;
  for (const VariantRow& row : rows) {
    if (text.empty()) text = heading(title, row.systems);
    text += figures_line(fmt::format("{} {:g} %", row.source, 100 * row.share), row.is_too_few,
                         row.systems);
  }
  return text;
}

}  // namespace

const SystemFigure* headline_figure(const std::vector<SystemFigure>& systems) {
  for (const SystemFigure& system : systems) {
    if (system.column.starts_with("on.")) return &system;
  }
  return systems.empty() ? nullptr : &systems.back();
}

std::string to_json(const Breakdown& breakdown) {
  json partitions = json::array();
  for (const Partition& partition : breakdown.partitions)
    partitions.push_back(partition_json(partition));
  json words = json::array();
  for (const WordFigures& figures : breakdown.words) words.push_back(words_json(figures));
  const json value = {{"format", "retro breakdown"},
                      {"version", 1},
                      {"split", breakdown.split},
                      {"reference", breakdown.reference},
                      {"partitions", partitions},
                      {"words", words},
                      {"windows", variants_json(breakdown.windows)},
                      {"database", variants_json(breakdown.database)}};
  return value.dump(2, ' ', false, json::error_handler_t::replace);
}

std::string format_breakdown(const Breakdown& breakdown) {
  std::string text;
  for (const Partition& partition : breakdown.partitions) {
    // A terminal gets everything together; the sources are in the file.
    if (partition.source == "all") text += partition_text(partition);
  }
  for (const WordFigures& figures : breakdown.words) {
    text += fmt::format("{}: perplexity of a word, {} words:", figures.source,
                        format_count(figures.words));
    for (const WordPerplexity& system : figures.systems)
      text += fmt::format(" {} {:.2f}", system.column, system.perplexity);
    text += "\n";
  }
  text += variants_text("windows overlap by", breakdown.windows);
  return text + variants_text("share of the database's documents", breakdown.database);
}

}  // namespace retro
