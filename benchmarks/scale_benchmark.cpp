// Indexes of real keys against held-out queries. Driven by scale_benchmark.py, which judges the
// answers with FAISS's own exact search and measures autofaiss in the same run. One JSON line each.
//   scale_benchmark hold_out DATABASE WORK     a copy without 2 % of the documents; their chunks
//                                              are the queries; keys and queries also as float32
//   scale_benchmark index WORK TYPE THREADS [BUDGET]
//   scale_benchmark search WORK TYPE THREADS TURNS
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "retro/core/error.h"
#include "retro/core/json.h"
#include "retro/core/log.h"
#include "retro/core/random.h"
#include "retro/retrieval/database_writer.h"
#include "retro/retrieval/neighbour_filter.h"

namespace {

namespace fs = std::filesystem;
constexpr int64_t kNeighbours = 10;
constexpr int64_t kMostQueries = 2000;
constexpr double kHeldOut = 0.02;
constexpr uint64_t kSeed = 1;

template <class Body>
double seconds_of(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class T>
void write_values(const fs::path& path, const std::vector<T>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
  RETRO_CHECK(file.good(), "{}: cannot be written", path.string());
}

std::vector<float> read_floats(const fs::path& path) {
  std::vector<float> values(fs::file_size(path) / sizeof(float));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  RETRO_CHECK(file.good(), "{}: cannot be read", path.string());
  return values;
}

/// Ids of what can be found; the row of a chunk in keys.f32 is its place here.
std::vector<int64_t> findable_chunks(const retro::RetrievalDatabase& database) {
  std::vector<int64_t> chunks;
  for (int64_t row = 0; row < database.num_rows(); ++row) {
    if (database.row_has_key(row)) chunks.push_back(database.chunk_of_row(row));
  }
  return chunks;
}

std::vector<float> keys_of_chunks(const retro::RetrievalDatabase& database,
                                  const std::vector<int64_t>& chunks) {
  const auto width = static_cast<size_t>(database.key_width());
  std::vector<float> keys(chunks.size() * width);
  for (size_t i = 0; i < chunks.size(); ++i) {
    database.copy_keys(chunks[i], chunks[i] + 1, std::span(keys).subspan(i * width, width));
  }
  return keys;
}

/// Chunks of these documents, at most kMostQueries of them.
std::vector<int64_t> query_chunks(const retro::RetrievalDatabase& database,
                                  const std::vector<int64_t>& documents) {
  std::vector<int64_t> chunks;
  for (const int64_t d : documents) {
    const retro::DatabaseDocument& document = database.document(d);
    for (int64_t chunk = 0; chunk < document.num_chunks; ++chunk) {
      const int64_t id = document.first_chunk + chunk;
      if (database.has_key(id)) chunks.push_back(id);
    }
  }
  retro::RandomStream random(kSeed, "scale benchmark");
  retro::shuffle(chunks, random);
  chunks.resize(std::min(chunks.size(), static_cast<size_t>(kMostQueries)));
  return chunks;
}

void hold_out(const fs::path& source, const fs::path& work) {
  fs::remove_all(work);
  fs::create_directories(work);
  fs::copy(source, work / "database", fs::copy_options::recursive);
  const retro::RetrievalDatabase whole(source);
  const std::vector<uint8_t> is_held_out = retro::documents_of_fraction(whole, kHeldOut);
  std::vector<int64_t> documents;
  for (int64_t d = 0; d < whole.num_documents(); ++d) {
    if (is_held_out[static_cast<size_t>(d)] != 0) documents.push_back(d);
  }
  const auto queries = query_chunks(whole, documents);
  retro::IndexConfig exact;
  exact.type = "exact";
  exact.recall_queries = 0;
  retro::DatabaseWriter writer({work / "database", work / "exact"});
  writer.remove(documents);
  writer.compact({.index = exact, .seed = kSeed});
  const auto chunks = findable_chunks(writer.database());
  write_values(work / "queries.f32", keys_of_chunks(whole, queries));
  write_values(work / "keys.f32", keys_of_chunks(writer.database(), chunks));
  fmt::print("{}\n", retro::json_line({{"benchmark", "scale"},
                                       {"part", "hold_out"},
                                       {"chunks", chunks.size()},
                                       {"queries", queries.size()},
                                       {"documents_held_out", documents.size()},
                                       {"key_width", whole.key_width()},
                                       {"keys", whole.key_storage()},
                                       {"embedder", whole.embedder_identity()}}));
}

nlohmann::json points_of(const retro::IndexReport& report) {
  nlohmann::json points = nlohmann::json::array();
  for (const retro::OperatingPoint& point : report.operating_points) {
    points.push_back({{"probes", point.num_probes},
                      {"candidates", retro::kSmallestRerankedK * point.rerank_factor},
                      {"recall_at_10", point.recall_at_10},
                      {"ms", point.seconds_per_query * 1e3}});
  }
  return points;
}

void build(const fs::path& work, const std::string& type, int num_threads,
           const std::string& budget) {
  retro::RetrievalDatabase database(work / "database");
  database.set_memory_budget(retro::MemoryBudget::parse(budget));
  retro::IndexConfig config;
  config.type = type;
  fs::remove_all(work / type);
  retro::IndexReport report;
  const double seconds = seconds_of(
      [&] { report = retro::build_index(database, config, kSeed, num_threads, work / type); });
  fmt::print("{}\n", retro::json_line({{"benchmark", "scale"},
                                       {"part", "index"},
                                       {"type", report.type},
                                       {"chunks", report.num_indexed},
                                       {"lists", report.num_lists},
                                       {"probes", report.num_probes},
                                       {"rerank_factor", report.rerank_factor},
                                       {"recall_when_built", report.recall_at_10},
                                       {"seconds", seconds},
                                       {"bytes", report.size_bytes},
                                       {"points", points_of(report)}}));
}

/// Row numbers of keys.f32 go to TYPE.rows, -1 where nothing was found.
void search_index(const fs::path& work, const std::string& type, int num_threads, int turns) {
  const retro::RetrievalDatabase database(work / "database");
  const retro::NeighbourIndex index(database, work / type);
  const std::vector<float> queries = read_floats(work / "queries.f32");
  const size_t num_queries = queries.size() / static_cast<size_t>(database.key_width());
  std::vector<int64_t> ids(num_queries * kNeighbours);
  std::vector<float> distances(ids.size());
  double best = 0;
  for (int turn = 0; turn <= turns; ++turn) {
    const double seconds = seconds_of(
        [&] { index.search(queries, kNeighbours, {.num_threads = num_threads}, ids, distances); });
    // The first turn brings the keys into memory.
    if (turn == 1 || (turn > 1 && seconds < best)) best = seconds;
  }
  const auto chunks = findable_chunks(database);
  for (int64_t& id : ids) {
    const auto found = std::ranges::lower_bound(chunks, id);
    if (id != retro::kMissing) id = found - chunks.begin();
  }
  write_values(work / (type + ".rows"), ids);
  fmt::print("{}\n", retro::json_line({{"benchmark", "scale"},
                                       {"part", "search"},
                                       {"type", type},
                                       {"threads", num_threads},
                                       {"queries_per_second", double(num_queries) / best}}));
}

int run(const std::vector<std::string>& arguments) {
  const size_t count = arguments.size();
  if (count == 3 && arguments[0] == "hold_out") {
    hold_out(arguments[1], arguments[2]);
  } else if ((count == 4 || count == 5) && arguments[0] == "index") {
    build(arguments[1], arguments[2], std::stoi(arguments[3]), count == 5 ? arguments[4] : "");
  } else if (count == 5 && arguments[0] == "search") {
    search_index(arguments[1], arguments[2], std::stoi(arguments[3]), std::stoi(arguments[4]));
  } else {
    fmt::print(stderr, "usage: see benchmarks/scale_benchmark.py\n");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    retro::set_log_quiet(true);
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const retro::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return EXIT_FAILURE;
  }
}
