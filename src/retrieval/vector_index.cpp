#include "retro/retrieval/vector_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <faiss/IndexFlat.h>
#include <faiss/IndexIVFPQ.h>

#include "retro/core/error.h"
#include "retro/core/parallel.h"
#include "retro/core/random.h"
#include "retro/retrieval/exact_search.h"

#include "faiss_support.h"

namespace retro {

namespace {

constexpr int64_t kFewRows = 4096;
constexpr int64_t kAddBlock = 1 << 16;
constexpr int64_t kTrainingRows = 1 << 16;

std::vector<float> sample_rows(const ArrayFile& rows, uint64_t seed) {
  RandomStream random(seed, "vector index");
  const auto total = static_cast<int64_t>(rows.rows());
  std::vector<float> sample;
  for (const int64_t row :
       sample_without_replacement(total, std::min(total, kTrainingRows), random)) {
    const auto values = rows.row<float>(static_cast<uint64_t>(row));
    sample.insert(sample.end(), values.begin(), values.end());
  }
  return sample;
}

}  // namespace

struct VectorIndex::Impl {
  std::unique_ptr<faiss::IndexIVFPQ> index;
  int64_t num_probes = 1;
};

VectorIndex::~VectorIndex() = default;
VectorIndex::VectorIndex(VectorIndex&&) noexcept = default;

VectorIndex::VectorIndex(const ArrayFile& rows, const VectorIndexConfig& config, uint64_t seed,
                         int num_threads)
    : rows_(&rows), name_("exact") {
  const auto total = static_cast<int64_t>(rows.rows());
  const auto width = static_cast<int64_t>(rows.columns());
  RETRO_CHECK(config.code_width > 0 && width % config.code_width == 0,
              "vector index: rows of {} features cannot be cut into codes of {}", width,
              config.code_width);
  if (total < kFewRows) return;
  const int64_t num_lists =
      config.num_lists > 0
          ? config.num_lists
          : std::min<int64_t>(total / 39, std::llround(4 * std::sqrt(static_cast<double>(total))));
  impl_ = std::make_unique<Impl>();
  impl_->num_probes = std::min(config.num_probes, num_lists);
  auto quantizer = std::make_unique<faiss::IndexFlatL2>(width);
  const auto num_codes = static_cast<size_t>(width / config.code_width);
  impl_->index = std::make_unique<faiss::IndexIVFPQ>(quantizer.get(), static_cast<size_t>(width),
                                                     static_cast<size_t>(num_lists), num_codes, 8);
  impl_->index->own_fields = true;
  quantizer.release();
  for (faiss::ClusteringParameters* clustering :
       {static_cast<faiss::ClusteringParameters*>(&impl_->index->cp), &impl_->index->pq.cp}) {
    clustering->niter = 10;
    clustering->seed = static_cast<int>(seed & 0x7FFFFFFF);
    clustering->min_points_per_centroid = 1;
  }
  name_ = fmt::format("ivf_pq, {} lists, {} probed, {} codes of 8 bits", num_lists,
                      impl_->num_probes, num_codes);
  const OpenMpThreads threads(num_threads);
  const std::vector<float> sample = sample_rows(rows, seed);
  call_faiss("training the datastore's index", [&] {
    impl_->index->train(static_cast<int64_t>(sample.size()) / width, sample.data());
    for (int64_t begin = 0; begin < total; begin += kAddBlock) {
      const int64_t count = std::min(kAddBlock, total - begin);
      impl_->index->add(count, rows.values<float>().data() + begin * width);
    }
  });
}

void VectorIndex::search(std::span<const float> queries_XQ, int64_t k, std::span<int64_t> ids_XK,
                         std::span<float> distances_XK, int num_threads) const {
  const auto width = static_cast<int64_t>(rows_->columns());
  if (impl_ == nullptr) {
    exact_search(rows_->values<float>(), queries_XQ, width, k, {}, num_threads, ids_XK,
                 distances_XK);
    return;
  }
  const OpenMpThreads threads(num_threads);
  faiss::SearchParametersIVF parameters;
  parameters.nprobe = static_cast<size_t>(impl_->num_probes);
  call_faiss("searching the datastore", [&] {
    impl_->index->search(static_cast<int64_t>(queries_XQ.size()) / width, queries_XQ.data(), k,
                         distances_XK.data(), ids_XK.data(), &parameters);
  });
  for (size_t i = 0; i < ids_XK.size(); ++i) {
    if (ids_XK[i] < 0) distances_XK[i] = std::numeric_limits<float>::infinity();
  }
}

void rerank(const ArrayFile& rows, std::span<const float> queries_XQ,
            std::span<const int64_t> candidates_XC, int64_t k, std::span<int64_t> ids_XK,
            std::span<float> distances_XK, int num_threads) {
  const size_t width = rows.columns();
  const size_t num_queries = queries_XQ.size() / width;
  const size_t num_candidates = num_queries == 0 ? 0 : candidates_XC.size() / num_queries;
  const auto count = static_cast<size_t>(k);
  const auto body = [&](int64_t begin, int64_t end) {
    std::vector<std::pair<float, int64_t>> found;
    for (auto x = static_cast<size_t>(begin); x < static_cast<size_t>(end); ++x) {
      found.clear();
      for (const int64_t id : candidates_XC.subspan(x * num_candidates, num_candidates)) {
        if (id < 0) continue;
        const auto row = rows.row<float>(static_cast<uint64_t>(id));
        float distance = 0;
        for (size_t q = 0; q < width; ++q) {
          const float difference = queries_XQ[x * width + q] - row[q];
          distance += difference * difference;
        }
        found.emplace_back(distance, id);
      }
      std::sort(found.begin(), found.end());
      for (size_t rank = 0; rank < count; ++rank) {
        const bool is_there = rank < found.size();
        ids_XK[x * count + rank] = is_there ? found[rank].second : -1;
        distances_XK[x * count + rank] =
            is_there ? found[rank].first : std::numeric_limits<float>::infinity();
      }
    }
  };
  parallel_for(static_cast<int64_t>(num_queries), num_threads, body);
}

}  // namespace retro
