// An empty index with centroids and codebooks, learnt from a seeded sample of keys.
#pragma once

#include <memory>
#include <vector>

#include <faiss/IndexIVF.h>

#include "retro/retrieval/retrieval_database.h"

#include "index_plan.h"

namespace retro {

/// Ids of chunks with a key.
std::vector<int64_t> sample_chunks(const RetrievalDatabase& database, int64_t count, uint64_t seed,
                                   std::string_view purpose,
                                   const std::vector<int64_t>& left_out = {});
/// Keys of these chunks, row-major.
std::vector<float> gather_keys(const RetrievalDatabase& database,
                               const std::vector<int64_t>& chunks);

/// Uncompressed lists keep the database's precision. Equal files for any number of threads.
std::unique_ptr<faiss::IndexIVF> train_index(const RetrievalDatabase& database,
                                             const IndexPlan& plan,
                                             const std::vector<int64_t>& training_chunks,
                                             uint64_t seed, int num_threads);

/// Adds the chunks of one shard.
void fill_index(const RetrievalDatabase& database, int64_t shard, int num_threads,
                faiss::IndexIVF& index);

}  // namespace retro
