#include "index_training.h"

#include <algorithm>

#include <faiss/IndexFlat.h>
#include <faiss/IndexIVFFlat.h>
#include <faiss/IndexIVFPQFastScan.h>
#include <faiss/IndexScalarQuantizer.h>

#include "retro/core/error.h"
#include "retro/core/progress.h"
#include "retro/core/random.h"

#include "faiss_support.h"
#include "inverted_index.h"

namespace retro {
namespace {

/// Features of one four-bit code: 96 codes, 48 bytes for 384 features.
constexpr int64_t kCodeWidth = 4;
constexpr int64_t kCodeBits = 4;
/// Keys added at once: 64 MB of MiniLM's.
constexpr int64_t kAddBlock = 1 << 15;

void keep_usable(const RetrievalDatabase& database, const std::vector<int64_t>& left_out,
                 std::vector<int64_t>& chunks) {
  std::erase_if(chunks, [&](int64_t id) {
    return !database.has_key(id) || std::ranges::binary_search(left_out, id);
  });
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

std::unique_ptr<faiss::IndexIVF> empty_index(const RetrievalDatabase& database,
                                             const IndexPlan& plan, uint64_t seed) {
  const auto width = static_cast<size_t>(padded_width(plan.type, database.key_width()));
  const auto num_lists = static_cast<size_t>(plan.num_lists);
  auto quantizer = std::make_unique<faiss::IndexFlatL2>(static_cast<int64_t>(width));
  std::unique_ptr<faiss::IndexIVF> index;
  if (plan.type == "ivf_pq") {
    auto coded = std::make_unique<faiss::IndexIVFPQFastScan>(
        quantizer.get(), width, num_lists, width / static_cast<size_t>(kCodeWidth), kCodeBits);
    set_clustering(seed, coded->pq.cp);
    index = std::move(coded);
  } else if (database.key_storage() == "float16") {
    index = std::make_unique<faiss::IndexIVFScalarQuantizer>(quantizer.get(), width, num_lists,
                                                             faiss::ScalarQuantizer::QT_fp16,
                                                             faiss::METRIC_L2, false);
  } else {
    index = std::make_unique<faiss::IndexIVFFlat>(quantizer.get(), width, num_lists);
  }
  index->own_fields = true;
  quantizer.release();
  set_clustering(seed, index->cp);
  return index;
}

}  // namespace

std::vector<int64_t> sample_chunks(const RetrievalDatabase& database, int64_t count, uint64_t seed,
                                   std::string_view purpose, const std::vector<int64_t>& left_out) {
  RandomStream random(seed, purpose);
  const int64_t total = database.num_chunks();
  const int64_t spare = static_cast<int64_t>(left_out.size()) + count / 16 + 64;
  auto chunks = sample_without_replacement(total, std::min(total, count + spare), random);
  keep_usable(database, left_out, chunks);
  if (static_cast<int64_t>(chunks.size()) < count) {
    // Many chunks without a key: choose among all that have one.
    chunks = sample_without_replacement(total, total, random);
    keep_usable(database, left_out, chunks);
  }
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

std::unique_ptr<faiss::IndexIVF> train_index(const RetrievalDatabase& database,
                                             const IndexPlan& plan,
                                             const std::vector<int64_t>& training_chunks,
                                             uint64_t seed, int num_threads) {
  RETRO_CHECK(static_cast<int64_t>(training_chunks.size()) >= plan.num_lists,
              "index: {} training chunks for {} lists", training_chunks.size(), plan.num_lists);
  auto index = empty_index(database, plan, seed);
  const auto keys =
      pad_rows(gather_keys(database, training_chunks), database.key_width(), index->d);
  const OpenMpThreads threads(num_threads);
  call_faiss("training the index",
             [&] { index->train(static_cast<int64_t>(training_chunks.size()), keys.data()); });
  return index;
}

void fill_index(const RetrievalDatabase& database, int64_t shard, int num_threads,
                faiss::IndexIVF& index) {
  const int64_t end = database.shard_first_chunk(shard + 1);
  const OpenMpThreads threads(num_threads);
  std::vector<int64_t> ids;
  for (int64_t begin = database.shard_first_chunk(shard); begin < end; begin += kAddBlock) {
    ids.clear();
    for (int64_t id = begin; id < std::min(end, begin + kAddBlock); ++id) {
      if (database.has_key(id)) ids.push_back(id);
    }
    const auto keys = pad_rows(gather_keys(database, ids), database.key_width(), index.d);
    call_faiss("filling the index", [&] {
      index.add_with_ids(static_cast<int64_t>(ids.size()), keys.data(), ids.data());
    });
  }
}

}  // namespace retro
