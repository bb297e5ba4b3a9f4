#include "table_format.h"

#include "retro/core/checked_json.h"
#include "retro/core/error.h"
#include "retro/core/json.h"

namespace retro::table_format {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "retro neighbour table";

nlohmann::json to_json(const NeighbourTableSummary& summary) {
  return {{"num_rows", summary.num_rows},
          {"queries_issued", summary.queries_issued},
          {"share_with_neighbour", summary.share_with_neighbour},
          {"share_short", summary.share_short},
          {"mean_distance", summary.mean_distance},
          {"share_same_source", summary.share_same_source}};
}

NeighbourTableSummary summary_from_json(const nlohmann::json& json, const std::string& where) {
  NeighbourTableSummary summary;
  summary.num_rows = json_get<int64_t>(json, "num_rows", where);
  summary.queries_issued = json_get<int64_t>(json, "queries_issued", where);
  summary.share_with_neighbour = json_get<double>(json, "share_with_neighbour", where);
  summary.share_short = json_get<double>(json, "share_short", where);
  summary.mean_distance = json_get<double>(json, "mean_distance", where);
  summary.share_same_source = json_get<double>(json, "share_same_source", where);
  return summary;
}

}  // namespace

void write_manifest(const fs::path& directory, const Manifest& manifest) {
  write_checked_json(directory / kManifest, {{"format", kFormat},
                                             {"format_version", kFileVersion},
                                             {"made_from", manifest.made_from},
                                             {"database_version", manifest.database_version},
                                             {"grid_hash", manifest.grid_hash},
                                             {"exclude", manifest.exclusion},
                                             {"index", manifest.index},
                                             {"num_neighbours", manifest.num_neighbours},
                                             {"next_chunk", manifest.next_chunk},
                                             {"index_identity", manifest.index_identity},
                                             {"summary", to_json(manifest.summary)}});
}

Manifest read_manifest(const fs::path& directory) {
  const fs::path path = directory / kManifest;
  RETRO_CHECK(fs::exists(path), "{} is no complete neighbour table ({} is missing); {}",
              directory.string(), kManifest, kRebuild);
  const std::string where = path.string();
  const nlohmann::json json = read_checked_json(path, kFileVersion);
  const auto format = json_get<std::string>(json, "format", where);
  const auto format_version = json_get<int64_t>(json, "format_version", where);
  RETRO_CHECK(format == kFormat && format_version >= 1 && format_version <= kFileVersion,
              "{}: `{}` of format version {}, expected `{}` of version 1 to {}; {}", where, format,
              format_version, kFormat, kFileVersion, kRebuild);
  return {json_get<std::string>(json, "made_from", where),
          json_get<std::string>(json, "database_version", where),
          json_get<std::string>(json, "grid_hash", where),
          json_get<std::string>(json, "exclude", where),
          json_get<std::string>(json, "index", where),
          json_get<int64_t>(json, "num_neighbours", where),
          summary_from_json(json_at(json, "summary", where), where),
          json_get_or<int64_t>(json, "next_chunk", 0, where),
          json_get_or<std::string>(json, "index_identity", "", where)};
}

ArrayFile::Expected expected_ids(const std::string& made_from, int64_t num_neighbours) {
  return {.kind = "nb-ids",
          .type = ArrayType::kInt64,
          .source_hash = made_from,
          .rebuild = kRebuild,
          .columns = static_cast<uint64_t>(num_neighbours)};
}

ArrayFile::Expected expected_distances(const std::string& made_from, int64_t num_neighbours) {
  return {.kind = "nb-distances",
          .type = ArrayType::kFloat32,
          .source_hash = made_from,
          .rebuild = kRebuild,
          .columns = static_cast<uint64_t>(num_neighbours)};
}

}  // namespace retro::table_format
