#include "index_training.h"

#include <algorithm>
#include <set>

#include <faiss/Clustering.h>
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVFFlat.h>
#include <faiss/IndexIVFPQFastScan.h>
#include <faiss/IndexScalarQuantizer.h>

#include "retro/core/error.h"
#include "retro/core/random.h"

#include "faiss_support.h"

namespace retro {
namespace {

constexpr int64_t kCodeBits = 4;
/// Links of a centroid in the graph, and centroids kept in view while it is made and while keys are
/// put into lists.
constexpr int kGraphLinks = 32;
constexpr int kGraphView = 100;

/// Rows of the database as chunks, those with a key that are not left out.
class UsableRows {
 public:
  UsableRows(const RetrievalDatabase& database, const std::vector<int64_t>& left_out)
      : database_(database), left_out_(left_out) {}

  int64_t count() const { return database_.num_indexable() - std::ssize(left_out_); }
  void add_chunk(int64_t row, std::vector<int64_t>& chunks) const {
    if (!database_.row_has_key(row)) return;
    const int64_t chunk = database_.chunk_of_row(row);
    if (!std::ranges::binary_search(left_out_, chunk)) chunks.push_back(chunk);
  }
  std::vector<int64_t> chunks_of(const std::vector<int64_t>& rows) const {
    std::vector<int64_t> chunks;
    for (const int64_t row : rows) add_chunk(row, chunks);
    return chunks;
  }
  std::vector<int64_t> all_chunks() const {
    std::vector<int64_t> chunks;
    for (int64_t row = 0; row < database_.num_rows(); ++row) add_chunk(row, chunks);
    return chunks;
  }

 private:
  const RetrievalDatabase& database_;
  const std::vector<int64_t>& left_out_;
};

/// Where few rows are usable: drawn in rounds until there are `count` of them, or, where that is
/// most of them, chosen among all, so that memory follows `count` and not the database.
std::vector<int64_t> draw_usable(const UsableRows& usable, int64_t num_rows, int64_t count,
                                 RandomStream& random) {
  if (2 * count >= usable.count()) return usable.all_chunks();
  std::set<int64_t> chosen;
  std::vector<int64_t> chunk;
  // At most half of the usable rows are wanted: so many draws are more than enough.
  for (int64_t draw = 0; std::ssize(chosen) < count && draw < 8 * num_rows; ++draw) {
    chunk.clear();
    usable.add_chunk(static_cast<int64_t>(random.below(static_cast<uint64_t>(num_rows))), chunk);
    chosen.insert(chunk.begin(), chunk.end());
  }
  return {chosen.begin(), chosen.end()};
}

void cut_at_random(int64_t count, RandomStream& random, std::vector<int64_t>& chunks) {
  if (static_cast<int64_t>(chunks.size()) <= count) return;
  shuffle(chunks, random);
  chunks.resize(static_cast<size_t>(count));
  std::ranges::sort(chunks);
}

void set_clustering(uint64_t seed, faiss::ClusteringParameters& parameters) {
  parameters.niter = 10;
  parameters.seed = static_cast<int>(seed & 0x7FFFFFFF);
  parameters.min_points_per_centroid = 1;  // small databases are no reason for a warning
}

/// K-means over the rows; what finds the lists afterwards.
std::unique_ptr<faiss::Index> train_quantizer(const std::vector<float>& rows, size_t width,
                                              const IndexPlan& plan,
                                              const TrainingSettings& settings) {
  faiss::ClusteringParameters parameters;
  set_clustering(settings.seed, parameters);
  faiss::Clustering clustering(static_cast<int>(width), static_cast<int>(plan.num_lists),
                               parameters);
  auto flat = std::make_unique<faiss::IndexFlatL2>(static_cast<int64_t>(width));
  clustering.train(static_cast<int64_t>(rows.size() / width), rows.data(), *flat);
  if (!plan.has_graph) return flat;
  auto graph = std::make_unique<faiss::IndexHNSWFlat>(static_cast<int>(width), kGraphLinks);
  graph->hnsw.efConstruction = kGraphView;
  graph->hnsw.efSearch = kGraphView;
  // Links depend on the order of additions.
  const OpenMpThreads one_thread(1);
  graph->add(plan.num_lists, clustering.centroids.data());
  return graph;
}

std::unique_ptr<faiss::IndexIVF> empty_index(const RetrievalDatabase& database,
                                             const IndexPlan& plan, faiss::Index& quantizer,
                                             uint64_t seed) {
  const auto width = static_cast<size_t>(quantizer.d);
  const auto num_lists = static_cast<size_t>(plan.num_lists);
  if (plan.type == "ivf_pq") {
    auto coded = std::make_unique<faiss::IndexIVFPQFastScan>(
        &quantizer, width, num_lists, width / static_cast<size_t>(plan.code_width), kCodeBits);
    set_clustering(seed, coded->pq.cp);
    return coded;
  }
  if (database.key_storage() == "float32") {
    return std::make_unique<faiss::IndexIVFFlat>(&quantizer, width, num_lists);
  }
  return std::make_unique<faiss::IndexIVFScalarQuantizer>(
      &quantizer, width, num_lists, faiss::ScalarQuantizer::QT_fp16, faiss::METRIC_L2, false);
}

}  // namespace

std::vector<int64_t> sample_chunks(const RetrievalDatabase& database, int64_t count, uint64_t seed,
                                   std::string_view purpose, const std::vector<int64_t>& left_out) {
  RandomStream random(seed, purpose);
  const UsableRows usable(database, left_out);
  const int64_t total = database.num_rows();
  const int64_t spare = static_cast<int64_t>(left_out.size()) + count / 16 + 64;
  auto chunks =
      usable.chunks_of(sample_without_replacement(total, std::min(total, count + spare), random));
  if (std::ssize(chunks) < count) chunks = draw_usable(usable, total, count, random);
  cut_at_random(count, random, chunks);
  return chunks;
}

std::vector<float> gather_keys(const RetrievalDatabase& database,
                               const std::vector<int64_t>& chunks) {
  const auto width = static_cast<size_t>(database.key_width());
  std::vector<float> keys(chunks.size() * width);
  for (size_t i = 0; i < chunks.size(); ++i) {
    database.copy_keys(chunks[i], chunks[i] + 1, std::span(keys).subspan(i * width, width));
  }
  return keys;
}

std::vector<float> gather_padded_keys(const RetrievalDatabase& database,
                                      const std::vector<int64_t>& chunks,
                                      const KeyTransform& transform) {
  const auto key_width = static_cast<size_t>(database.key_width());
  const auto list_width = static_cast<size_t>(transform.list_width());
  std::vector<float> rows(chunks.size() * list_width);
  for (size_t i = 0; i < chunks.size(); ++i) {
    database.copy_keys(chunks[i], chunks[i] + 1,
                       std::span(rows).subspan(i * list_width, key_width));
  }
  return rows;
}

std::unique_ptr<faiss::IndexIVF> train_index(const RetrievalDatabase& database,
                                             const IndexPlan& plan,
                                             const std::vector<int64_t>& training_chunks,
                                             const TrainingSettings& settings,
                                             KeyTransform& transform) {
  RETRO_CHECK(static_cast<int64_t>(training_chunks.size()) >= plan.num_lists,
              "index: {} training chunks for {} lists", training_chunks.size(), plan.num_lists);
  auto rows = gather_padded_keys(database, training_chunks, transform);
  const auto width = static_cast<size_t>(transform.list_width());
  if (plan.type == "ivf_pq") {
    transform.learn_rotation(rows, transform.list_width() / plan.code_width, settings.seed,
                             settings.num_threads);
    transform.rotate(rows, settings.num_threads);
  }
  std::unique_ptr<faiss::IndexIVF> index;
  const OpenMpThreads threads(settings.num_threads);
  call_faiss("training the index", [&] {
    auto quantizer = train_quantizer(rows, width, plan, settings);
    index = empty_index(database, plan, *quantizer, settings.seed);
    index->own_fields = true;
    quantizer.release();
    index->train(static_cast<int64_t>(training_chunks.size()), rows.data());
  });
  return index;
}

void fill_index(const RetrievalDatabase& database, const IndexPlan& plan, int64_t shard,
                int num_threads, const KeyTransform& transform, faiss::IndexIVF& index) {
  const int64_t end = database.shard_first_chunk(shard + 1);
  const OpenMpThreads threads(num_threads);
  std::vector<int64_t> ids;
  for (int64_t begin = database.shard_first_chunk(shard); begin < end; begin += plan.add_block) {
    ids.clear();
    for (int64_t id = begin; id < std::min(end, begin + plan.add_block); ++id) {
      if (database.has_key(id)) ids.push_back(id);
    }
    auto rows = gather_padded_keys(database, ids, transform);
    transform.rotate(rows, num_threads);
    call_faiss("filling the index", [&] {
      index.add_with_ids(static_cast<int64_t>(ids.size()), rows.data(), ids.data());
    });
  }
}

}  // namespace retro
