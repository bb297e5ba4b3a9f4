#include "retro/eval/eval_result.h"

#include <cmath>
#include <limits>

#include "retro/core/json.h"
#include "retro/eval/verdict.h"

namespace retro {

namespace {

using nlohmann::json;

/// NaN is null in JSON.
double number(const json& object, const std::string& key, const std::string& where) {
  return json_get_or<double>(object, key, std::numeric_limits<double>::quiet_NaN(), where);
}

json interval_json(const Interval& interval) {
  return {{"estimate", interval.estimate}, {"low", interval.low}, {"high", interval.high}};
}

Interval interval_from(const json& value, const std::string& where) {
  return {number(value, "estimate", where), number(value, "low", where),
          number(value, "high", where)};
}

json filtered_json(const FilteredRow& row) {
  json systems = json::array();
  for (const SystemFigure& system : row.systems) {
    systems.push_back({{"column", system.column},
                       {"bits_per_byte", system.bits_per_byte},
                       {"gain", interval_json(system.gain)}});
  }
  json value = {{"alpha", row.alpha}, {"chunks", row.chunks},         {"documents", row.documents},
                {"bytes", row.bytes}, {"is_too_few", row.is_too_few}, {"systems", systems}};
  if (row.over_random) value["over_random"] = interval_json(*row.over_random);
  if (row.random_over_off) value["random_over_off"] = interval_json(*row.random_over_off);
  return value;
}

FilteredRow filtered_from(const json& value, const std::string& where) {
  FilteredRow row;
  row.alpha = number(value, "alpha", where);
  row.chunks = json_get<int64_t>(value, "chunks", where);
  row.documents = json_get<int64_t>(value, "documents", where);
  row.bytes = json_get<int64_t>(value, "bytes", where);
  row.is_too_few = json_get<bool>(value, "is_too_few", where);
  for (const json& system : json_at(value, "systems", where)) {
    row.systems.push_back({json_get<std::string>(system, "column", where),
                           number(system, "bits_per_byte", where),
                           interval_from(json_at(system, "gain", where), where)});
  }
  if (value.contains("over_random"))
    row.over_random = interval_from(value.at("over_random"), where);
  if (value.contains("random_over_off"))
    row.random_over_off = interval_from(value.at("random_over_off"), where);
  return row;
}

json shift_json(const ShiftRow& row) {
  return {{"shift", row.shift},
          {"alpha", row.alpha},
          {"chunks", row.chunks},
          {"documents", row.documents},
          {"is_too_few", row.is_too_few},
          {"reference_bits_per_byte", row.reference_bits_per_byte},
          {"on_bits_per_byte", row.on_bits_per_byte},
          {"gain", interval_json(row.gain)}};
}

ShiftRow shift_from(const json& value, const std::string& where) {
  ShiftRow row;
  row.shift = json_get<int64_t>(value, "shift", where);
  row.alpha = number(value, "alpha", where);
  row.chunks = json_get<int64_t>(value, "chunks", where);
  row.documents = json_get_or<int64_t>(value, "documents", 0, where);  // absent in older files
  row.is_too_few = json_get<bool>(value, "is_too_few", where);
  row.reference_bits_per_byte = number(value, "reference_bits_per_byte", where);
  row.on_bits_per_byte = number(value, "on_bits_per_byte", where);
  row.gain = interval_from(json_at(value, "gain", where), where);
  return row;
}

json group_json(const GroupResult& group) {
  json filtered = json::array();
  for (const FilteredRow& row : group.filtered) filtered.push_back(filtered_json(row));
  json shifts = json::array();
  for (const ShiftRow& row : group.shifts) shifts.push_back(shift_json(row));
  const RetrievalFacts& facts = group.retrieval;
  return {{"source", group.source},
          {"part", group.part},
          {"documents", group.documents},
          {"chunks", group.chunks},
          {"bytes", group.bytes},
          {"retrieval",
           {{"queries", facts.queries},
            {"share_with_neighbour", facts.share_with_neighbour},
            {"mean_distance", facts.mean_distance},
            {"mean_overlap", facts.mean_overlap}}},
          {"filtered", filtered},
          {"shifts", shifts},
          {"verdict",
           {{"kind", verdict_name(group.verdict.kind)}, {"sentence", group.verdict.sentence}}}};
}

GroupResult group_from(const json& value, const std::string& where) {
  GroupResult group;
  group.source = json_get<std::string>(value, "source", where);
  group.part = json_get<std::string>(value, "part", where);
  group.documents = json_get<int64_t>(value, "documents", where);
  group.chunks = json_get<int64_t>(value, "chunks", where);
  group.bytes = json_get<int64_t>(value, "bytes", where);
  const json& facts = json_at(value, "retrieval", where);
  group.retrieval.queries = json_get<int64_t>(facts, "queries", where);
  group.retrieval.share_with_neighbour = number(facts, "share_with_neighbour", where);
  group.retrieval.mean_distance = number(facts, "mean_distance", where);
  group.retrieval.mean_overlap = number(facts, "mean_overlap", where);
  for (const json& row : json_at(value, "filtered", where))
    group.filtered.push_back(filtered_from(row, where));
  for (const json& row : json_at(value, "shifts", where))
    group.shifts.push_back(shift_from(row, where));
  const json& verdict = json_at(value, "verdict", where);
  group.verdict = {parse_verdict(json_get<std::string>(verdict, "kind", where)),
                   json_get<std::string>(verdict, "sentence", where)};
  return group;
}

}  // namespace

std::string to_json(const EvalResult& result) {
  json groups = json::array();
  for (const GroupResult& group : result.groups) groups.push_back(group_json(group));
  const json value = {{"format", "retro evaluation"},
                      {"version", 1},
                      {"split", result.split},
                      {"reference", result.reference},
                      {"headline", result.headline},
                      {"columns", result.columns},
                      {"chunk_length", result.chunk_length},
                      {"sequence_length", result.sequence_length},
                      {"window_overlap", result.window_overlap},
                      {"max_chunks_per_document", result.max_chunks_per_document},
                      {"overlap_neighbours", result.overlap_neighbours},
                      {"bootstrap_resamples", result.bootstrap_resamples},
                      {"min_chunks", result.min_chunks},
                      {"groups", groups},
                      {"notes", result.notes}};
  return value.dump(2, ' ', false, json::error_handler_t::replace);
}

EvalResult eval_result_from_json(const std::string& text, const std::string& where) {
  const json value = parse_json(text, where);
  RETRO_CHECK(json_get<int64_t>(value, "version", where) == 1,
              "{}: an evaluation of another version; run `retro eval`", where);
  EvalResult result;
  result.split = json_get<std::string>(value, "split", where);
  result.reference = json_get<std::string>(value, "reference", where);
  result.headline = json_get<std::string>(value, "headline", where);
  result.columns = json_get<std::vector<std::string>>(value, "columns", where);
  result.chunk_length = json_get<int64_t>(value, "chunk_length", where);
  result.sequence_length = json_get<int64_t>(value, "sequence_length", where);
  result.window_overlap = number(value, "window_overlap", where);
  result.max_chunks_per_document = json_get<int64_t>(value, "max_chunks_per_document", where);
  result.overlap_neighbours = json_get<int64_t>(value, "overlap_neighbours", where);
  result.bootstrap_resamples = json_get<int64_t>(value, "bootstrap_resamples", where);
  result.min_chunks = json_get<int64_t>(value, "min_chunks", where);
  result.notes = json_get<std::vector<std::string>>(value, "notes", where);
  for (const json& group : json_at(value, "groups", where))
    result.groups.push_back(group_from(group, where));
  return result;
}

}  // namespace retro
