#include "index_format.h"

#include <cmath>
#include <limits>

#include "retro/core/bundle.h"
#include "retro/core/checked_json.h"
#include "retro/core/error.h"
#include "retro/core/file_tree.h"
#include "retro/core/json.h"

namespace retro::index_format {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "retro neighbour index";
/// What an index of version 1 of type "ivf_pq" was made with.
constexpr int64_t kOldCodeWidth = 4;

/// JSON has no NaN: what was not measured is null.
nlohmann::json recall_to_json(double recall) {
  return std::isnan(recall) ? nlohmann::json() : nlohmann::json(recall);
}

double recall_from_json(const nlohmann::json& json, const char* key, const std::string& where) {
  if (json_at(json, key, where).is_null()) return std::numeric_limits<double>::quiet_NaN();
  return json_get<double>(json, key, where);
}

nlohmann::json to_json(const OperatingPoint& point) {
  return {{"num_probes", point.num_probes},
          {"rerank_factor", point.rerank_factor},
          {"recall_at_10", recall_to_json(point.recall_at_10)},
          {"recall_1_in_10", recall_to_json(point.recall_1_in_10)},
          {"seconds_per_query", point.seconds_per_query}};
}

nlohmann::json to_json(const IndexReport& report) {
  nlohmann::json points = nlohmann::json::array();
  for (const OperatingPoint& point : report.operating_points) points.push_back(to_json(point));
  return {{"identity", report.identity},
          {"type", report.type},
          {"reason", report.reason},
          {"num_indexed", report.num_indexed},
          {"num_lists", report.num_lists},
          {"has_graph", report.has_graph},
          {"code_width", report.code_width},
          {"has_rotation", report.has_rotation},
          {"training_points", report.training_points},
          {"num_probes", report.num_probes},
          {"rerank_factor", report.rerank_factor},
          {"recall_queries", report.recall_queries},
          {"recall_at_10", recall_to_json(report.recall_at_10)},
          {"recall_1_in_10", recall_to_json(report.recall_1_in_10)},
          {"seconds_per_query", report.seconds_per_query},
          {"exact_seconds_per_query", report.exact_seconds_per_query},
          {"size_bytes", report.size_bytes},
          {"operating_points", points}};
}

OperatingPoint point_from_json(const nlohmann::json& json, const IndexReport& report,
                               const std::string& where) {
  const bool is_old = !json.contains("rerank_factor");
  return {json_get<int64_t>(json, "num_probes", where),
          is_old ? report.rerank_factor : json_get<int64_t>(json, "rerank_factor", where),
          recall_from_json(json, "recall_at_10", where),
          recall_from_json(json, "recall_1_in_10", where),
          json_get<double>(json, "seconds_per_query", where)};
}

/// What version 2 brought.
void read_new_fields(const nlohmann::json& json, const std::string& where, IndexReport& report) {
  report.code_width = report.type == "ivf_pq" ? kOldCodeWidth : 0;
  if (!json.contains("has_rotation")) return;
  report.has_graph = json_get<bool>(json, "has_graph", where);
  report.code_width = json_get<int64_t>(json, "code_width", where);
  report.has_rotation = json_get<bool>(json, "has_rotation", where);
  report.training_points = json_get<int64_t>(json, "training_points", where);
  RETRO_CHECK(report.code_width >= 0 && (report.code_width > 0) == (report.type == "ivf_pq"),
              "{}: codes of {} features in an index of type {}; {}", where, report.code_width,
              report.type, kRebuild);
}

IndexReport report_from_json(const nlohmann::json& json, const std::string& where) {
  IndexReport report;
  report.identity = json_get<std::string>(json, "identity", where);
  report.type = json_get<std::string>(json, "type", where);
  report.reason = json_get<std::string>(json, "reason", where);
  report.num_indexed = json_get<int64_t>(json, "num_indexed", where);
  report.num_lists = json_get<int64_t>(json, "num_lists", where);
  report.num_probes = json_get<int64_t>(json, "num_probes", where);
  report.rerank_factor = json_get<int64_t>(json, "rerank_factor", where);
  report.recall_queries = json_get<int64_t>(json, "recall_queries", where);
  report.recall_at_10 = recall_from_json(json, "recall_at_10", where);
  report.recall_1_in_10 = recall_from_json(json, "recall_1_in_10", where);
  report.seconds_per_query = json_get<double>(json, "seconds_per_query", where);
  report.exact_seconds_per_query = json_get<double>(json, "exact_seconds_per_query", where);
  report.size_bytes = json_get<int64_t>(json, "size_bytes", where);
  read_new_fields(json, where, report);
  for (const auto& point : json_at(json, "operating_points", where)) {
    report.operating_points.push_back(point_from_json(point, report, where));
  }
  return report;
}

}  // namespace

void write_manifest(const fs::path& directory, const Manifest& manifest) {
  nlohmann::json shards = nlohmann::json::array();
  for (const ShardFile& shard : manifest.shards) {
    shards.push_back({{"name", shard.name}, {"hash", shard.hash}});
  }
  nlohmann::json json{{"format", kFormat},
                      {"format_version", kVersion},
                      {"database_version", manifest.database_version},
                      {"report", to_json(manifest.report)},
                      {"shards", shards}};
  if (manifest.covers) json["covers"] = *manifest.covers;
  if (!manifest.trained_hash.empty()) json["trained"] = manifest.trained_hash;
  write_checked_json(directory / kManifest, json);
}

Manifest read_manifest(const fs::path& directory) {
  const fs::path path = directory / kManifest;
  RETRO_CHECK(path_exists(path), "{} is no complete index ({} is missing); {}", directory.string(),
              kManifest, kRebuild);
  const std::string where = path.string();
  const nlohmann::json json = read_checked_json(path, kVersion);
  const auto format = json_get<std::string>(json, "format", where);
  const auto format_version = json_get<int64_t>(json, "format_version", where);
  RETRO_CHECK(format == kFormat && format_version >= kOldestVersion && format_version <= kVersion,
              "{}: `{}` of format version {}, expected `{}` of version {} to {}; {}", where, format,
              format_version, kFormat, kOldestVersion, kVersion, kRebuild);
  Manifest manifest{.database_version = json_get<std::string>(json, "database_version", where),
                    .report = report_from_json(json_at(json, "report", where), where),
                    .shards = {}};
  for (const auto& shard : json_at(json, "shards", where)) {
    manifest.shards.push_back(
        {json_get<std::string>(shard, "name", where), json_get<std::string>(shard, "hash", where)});
  }
  for (const ShardFile& shard : manifest.shards) require_plain_name(shard.name, where);
  manifest.trained_hash = json_get_or<std::string>(json, "trained", "", where);
  if (json.contains("covers")) {
    manifest.covers = json_get<std::vector<std::string>>(json, "covers", where);
  }
  return manifest;
}

KeyTransform read_transform(const fs::path& directory, const Manifest& manifest,
                            int64_t key_width) {
  KeyTransform transform(key_width, manifest.report.code_width);
  if (manifest.report.has_rotation) {
    transform.read_rotation(directory / kRotation, manifest.report.identity);
  }
  return transform;
}

fs::path next_directory(const fs::path& directory) {
  const fs::path path = directory.has_filename() ? directory : directory.parent_path();
  return path.string() + ".next";
}

int64_t num_covered_shards(const Manifest& manifest, const RetrievalDatabase& database) {
  if (manifest.database_version == database.version()) return database.num_shards();
  if (!manifest.covers) return -1;
  const auto count = static_cast<int64_t>(manifest.covers->size());
  if (count > database.num_shards()) return -1;
  for (int64_t shard = 0; shard < count; ++shard) {
    if ((*manifest.covers)[static_cast<size_t>(shard)] != database.shard_identity(shard)) return -1;
  }
  return count;
}

}  // namespace retro::index_format

namespace retro {

uint64_t index_size_bytes(const std::filesystem::path& directory) {
  uint64_t size_bytes = 0;
  for (const auto& place : {directory, index_format::next_directory(directory)}) {
    if (path_exists(place / index_format::kManifest)) size_bytes += tree_size_bytes(place);
  }
  return size_bytes;
}

}  // namespace retro
