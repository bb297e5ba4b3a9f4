// The search of an inverted index: candidates of every shard, re-ranked from the stored keys.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "retro/retrieval/retrieval_database.h"

#include "inverted_index.h"
#include "key_transform.h"
#include "nearest_list.h"

namespace retro {

/// What one search asks of every shard.
struct ListSearch {
  int64_t k = 0;
  int64_t num_probes = 0;
  int64_t num_candidates = 0;  ///< of a query and shard, to be re-ranked
  bool has_deleted = false;    ///< some of the candidates may be
};

/// The lists of all shards, in memory. Several threads may search.
class ShardLists {
 public:
  /// `transform`: what keys went through on their way into the lists.
  explicit ShardLists(KeyTransform transform) : transform_(std::move(transform)) {}

  /// Throws Error where the file is damaged or no such index.
  void load_shard(const std::filesystem::path& path, const std::string& expected_hash);
  bool is_empty() const { return shards_.empty(); }
  /// The k nearest live chunks of each query, in one thread; distances are exact.
  std::vector<NearestList> search(const RetrievalDatabase& database,
                                  std::span<const float> queries_XQ, const ListSearch& what) const;

 private:
  KeyTransform transform_;
  std::unique_ptr<ListFinder> finder_;
  std::vector<std::unique_ptr<InvertedShard>> shards_;
};

}  // namespace retro
