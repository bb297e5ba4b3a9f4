// An empty index with centroids and codebooks, learnt from a seeded sample of keys.
#pragma once

#include <memory>
#include <vector>

#include <faiss/IndexIVF.h>

#include "retro/retrieval/index_plan.h"
#include "retro/retrieval/retrieval_database.h"

#include "key_transform.h"

namespace retro {

struct TrainingSettings {
  uint64_t seed = 0;
  int num_threads = 1;
};

/// Ids of chunks with a key.
std::vector<int64_t> sample_chunks(const RetrievalDatabase& database, int64_t count, uint64_t seed,
                                   std::string_view purpose,
                                   const std::vector<int64_t>& left_out = {});
/// Keys of these chunks, row-major.
std::vector<float> gather_keys(const RetrievalDatabase& database,
                               const std::vector<int64_t>& chunks);

/// Keys of these chunks as the lists hold them but for the rotation, row-major.
std::vector<float> gather_padded_keys(const RetrievalDatabase& database,
                                      const std::vector<int64_t>& chunks,
                                      const KeyTransform& transform);

/// Learns the rotation, where the plan has one, then centroids and codes. Uncompressed lists keep
/// the database's precision, int8 keys widened to float16. Equal files for any number of threads.
std::unique_ptr<faiss::IndexIVF> train_index(const RetrievalDatabase& database,
                                             const IndexPlan& plan,
                                             const std::vector<int64_t>& training_chunks,
                                             const TrainingSettings& settings,
                                             KeyTransform& transform);

/// Adds the chunks of one shard, `plan.add_block` at a time.
void fill_index(const RetrievalDatabase& database, const IndexPlan& plan, int64_t shard,
                int num_threads, const KeyTransform& transform, faiss::IndexIVF& index);

}  // namespace retro
