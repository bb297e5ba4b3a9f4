// Nearest neighbours on the keys of a real database: each of our indexes beside our exact search
// and beside FAISS's exact search (matrix products), same queries, same run. One JSON line each.
//   search_benchmark DATABASE WORK_DIRECTORY [QUERIES=1000] [THREADS=2]
// Queries are database keys (seeded); recall leaves the query's own document out on both sides.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <faiss/IndexFlat.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <omp.h>

#include "retro/core/error.h"
#include "retro/core/json.h"
#include "retro/core/log.h"
#include "retro/core/random.h"
#include "retro/retrieval/exact_search.h"
#include "retro/retrieval/neighbour_index.h"

namespace {

namespace fs = std::filesystem;
constexpr int64_t kNeighbours = 10;

struct Setting {
  fs::path database;
  fs::path work;
  int64_t num_queries = 1000;
  int num_threads = 2;
};

template <class Body>
double seconds_of(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<float> sample_queries(const retro::RetrievalDatabase& database, int64_t count) {
  retro::RandomStream random(1, "search benchmark");
  const auto width = static_cast<size_t>(database.key_width());
  std::vector<float> queries;
  for (const int64_t id : retro::sample_without_replacement(database.num_chunks(), count, random)) {
    if (!database.has_key(id)) continue;
    queries.resize(queries.size() + width);
    database.copy_keys(id, id + 1, std::span(queries).last(width));
  }
  return queries;
}

/// Seconds a query of FAISS's exact search over the same keys, widened to float32 in memory.
double time_faiss_flat(const retro::RetrievalDatabase& database, const std::vector<float>& queries,
                       int num_threads) {
  const auto width = static_cast<size_t>(database.key_width());
  std::vector<float> keys(static_cast<size_t>(database.num_chunks()) * width);
  database.copy_keys(0, database.num_chunks(), keys);
  faiss::IndexFlatL2 flat(database.key_width());
  flat.add(database.num_chunks(), keys.data());
  const size_t num_queries = queries.size() / width;
  std::vector<int64_t> ids(num_queries * kNeighbours);
  std::vector<float> distances(ids.size());
  omp_set_num_threads(num_threads);
  return seconds_of([&] {
           flat.search(static_cast<int64_t>(num_queries), queries.data(), kNeighbours,
                       distances.data(), ids.data());
         }) /
         static_cast<double>(num_queries);
}

double time_search(const retro::NeighbourIndex& index, const std::vector<float>& queries,
                   int num_threads) {
  const size_t num_queries = queries.size() / static_cast<size_t>(index.database().key_width());
  std::vector<int64_t> ids(num_queries * kNeighbours);
  std::vector<float> distances(ids.size());
  return seconds_of([&] {
           index.search(queries, kNeighbours, {.num_probes = 0, .num_threads = num_threads}, ids,
                        distances);
         }) /
         static_cast<double>(num_queries);
}

nlohmann::json measure(const retro::RetrievalDatabase& database, const Setting& setting,
                       const std::string& type, const std::vector<float>& queries) {
  retro::IndexConfig config;
  config.type = type;
  const fs::path directory = setting.work / type;
  fs::remove_all(directory);
  retro::IndexReport report;
  const double build_seconds = seconds_of(
      [&] { report = retro::build_index(database, config, 1, setting.num_threads, directory); });
  const retro::NeighbourIndex index(database, directory);
  std::vector<float> one(queries.begin(), queries.begin() + database.key_width());
  return {{"benchmark", "search"},
          {"type", type},
          {"chunks", database.num_chunks()},
          {"key_width", database.key_width()},
          {"threads", setting.num_threads},
          {"lists", report.num_lists},
          {"probes", report.num_probes},
          {"build_seconds", build_seconds},
          {"size_bytes", report.size_bytes},
          {"recall_at_10", report.recall_at_10},
          {"recall_1_in_10", report.recall_1_in_10},
          {"ms_per_query", 1e3 * time_search(index, queries, setting.num_threads)},
          {"ms_single_query", 1e3 * time_search(index, one, 1)}};
}

void run(const Setting& setting) {
  const retro::RetrievalDatabase database(setting.database);
  const auto queries = sample_queries(database, setting.num_queries);
  const double faiss_ms = 1e3 * time_faiss_flat(database, queries, setting.num_threads);
  double exact_ms = 0;
  for (const std::string type : {"exact", "ivf_flat", "ivf_pq"}) {
    nlohmann::json line = measure(database, setting, type, queries);
    if (type == "exact") exact_ms = line["ms_per_query"];
    line["exact_ms_per_query"] = exact_ms;
    line["faiss_flat_ms_per_query"] = faiss_ms;
    fmt::print("{}\n", retro::json_line(line));
  }
}

Setting parse(int argc, char** argv) {
  RETRO_CHECK(argc >= 3, "usage: search_benchmark DATABASE WORK_DIRECTORY [QUERIES] [THREADS]");
  Setting setting{.database = argv[1], .work = argv[2]};
  if (argc > 3) setting.num_queries = std::stol(argv[3]);
  if (argc > 4) setting.num_threads = std::stoi(argv[4]);
  return setting;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const retro::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
