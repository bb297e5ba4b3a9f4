// build_index: see neighbour_index.h; the files are described in index_format.h.
#include <algorithm>

#include "retro/core/hash.h"
#include "retro/core/log.h"
#include "retro/core/memory.h"
#include "retro/core/progress.h"
#include "retro/retrieval/index_plan.h"
#include "retro/retrieval/neighbour_index.h"
#include "retro/retrieval/verification.h"

#include "faiss_support.h"
#include "index_format.h"
#include "index_recall.h"
#include "index_training.h"
#include "index_tuning.h"
#include "resumable_directory.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

class IndexBuilder {
 public:
  IndexBuilder(const RetrievalDatabase& database, const IndexConfig& config, uint64_t seed,
               int num_threads, const fs::path& directory)
      : database_(database),
        config_(config),
        seed_(seed),
        num_threads_(num_threads),
        directory_(directory),
        plan_(plan_index(config, keys_of(database), database.memory_budget())),
        transform_(database.key_width(), plan_.code_width) {}

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
    if (plan_.type != "exact") write_lists(identity);
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
    report.has_graph = plan_.has_graph;
    report.code_width = plan_.code_width;
    report.has_rotation = plan_.type == "ivf_pq";
    report.training_points = plan_.training_points;
    report.num_probes = std::min<int64_t>(1, plan_.num_lists);
    return report;
  }

  void write_lists(const std::string& identity) {
    const fs::path trained = directory_ / index_format::kTrained;
    if (!fs::exists(trained)) train(identity, trained);
    if (plan_.type == "ivf_pq") {
      transform_.read_rotation(directory_ / index_format::kRotation, identity);
    }
    Progress progress("index", database_.num_rows(), "chunks");
    manifest_.trained_hash = hash_file(trained);
    for (int64_t shard = 0; shard < database_.num_shards(); ++shard) {
      const std::string name = fmt::format("lists_{:06}.faiss", shard);
      const fs::path path = directory_ / name;
      if (!fs::exists(path)) {
        auto index = read_faiss_index(trained, transform_.list_width());
        fill_index(database_, plan_, shard, num_threads_, transform_, *index);
        write_faiss_index(*index, path);
      }
      return_freed_memory();
      progress.update(database_.shard_first_row(shard + 1));
      manifest_.shards.push_back({name, hash_file(path)});
      manifest_.report.size_bytes += static_cast<int64_t>(fs::file_size(path));
    }
    progress.finish();
  }

  void train(const std::string& identity, const fs::path& trained) {
    const auto num_recall = static_cast<int64_t>(recall_chunks_.size());
    const bool can_hold_out = database_.num_indexable() - num_recall >= plan_.training_points;
    const auto chunks = sample_chunks(database_, plan_.training_points, seed_, "index training",
                                      can_hold_out ? recall_chunks_ : std::vector<int64_t>{});
    log_info("index: training {} lists on {} keys", format_count(plan_.num_lists),
             format_count(static_cast<int64_t>(chunks.size())));
    const auto index = train_index(database_, plan_, chunks, {seed_, num_threads_}, transform_);
    // The rotation first: where the trained index is, both are.
    if (transform_.has_rotation()) {
      transform_.write_rotation(directory_ / index_format::kRotation, identity);
    }
    write_faiss_index(*index, trained);
    return_freed_memory();
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
    const Tuning tuning = tune_index(index, sample, config_);
    const OperatingPoint& chosen = tuning.points[tuning.chosen];
    report.num_probes = chosen.num_probes;
    report.rerank_factor = chosen.rerank_factor;
    report.recall_at_10 = chosen.recall_at_10;
    report.recall_1_in_10 = chosen.recall_1_in_10;
    report.seconds_per_query = chosen.seconds_per_query;
    report.operating_points = tuning.points;
  }

  const RetrievalDatabase& database_;
  const IndexConfig& config_;
  uint64_t seed_;
  int num_threads_;
  fs::path directory_;
  IndexPlan plan_;
  KeyTransform transform_;
  std::vector<int64_t> recall_chunks_;
  index_format::Manifest manifest_;
};

std::string hash_of_inputs(const RetrievalDatabase& database, const IndexConfig& config,
                           uint64_t seed) {
  Hasher hasher;
  hasher.add("index").add(index_format::kVersion).add(database.version()).add(config.type);
  hasher.add(config.num_lists).add(config.num_probes).add(fmt::format("{}", config.target_recall));
  hasher.add(config.rerank_factor).add(config.recall_queries).add(static_cast<int64_t>(seed));
  hasher.add(config.coarse).add(config.code_width).add(database.memory_budget().bytes());
  return hasher.hex();
}

}  // namespace

IndexReport build_index(const RetrievalDatabase& database, const IndexConfig& config, uint64_t seed,
                        int num_threads, const fs::path& directory) {
  const std::string identity = hash_of_inputs(database, config, seed);
  ResumableDirectory work(directory, identity, [&] {
    const NeighbourIndex index(database, directory);
    verify_index(directory);
  });
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
