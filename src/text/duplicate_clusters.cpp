#include "retro/text/duplicate_clusters.h"

#include <algorithm>
#include <numeric>

#include <xxhash.h>

#include "retro/core/parallel.h"
#include "retro/core/progress.h"
#include "retro/text/minhash.h"

#include "survivor_table.h"

namespace retro {

namespace {

/// Documents worked on side by side; what they find in one another is decided in order.
constexpr size_t kBlock = 1024;

std::vector<uint64_t> shingle_set(std::span<const uint32_t> tokens) {
  std::vector<uint64_t> set = shingle_hashes(tokens);
  make_set(set);
  return set;
}

/// What decides the order, computed once.
struct Rank {
  uint64_t size = 0;
  uint64_t content = 0;
  int64_t document = 0;
};

/// A document of the present block.
struct Member {
  std::vector<uint64_t> set;
  BandKeys keys{};
  std::vector<DuplicatePair> pairs;  ///< with survivors of earlier blocks
};

class Clustering {
 public:
  Clustering(std::span<const ClusterDocument> documents, int num_threads)
      : documents_(documents), num_threads_(num_threads), kept_roles_(documents.size(), 0) {}

  std::vector<DuplicatePair> run() {
    rank_documents();
    Progress progress("near-duplicates", static_cast<int64_t>(ranks_.size()), "documents");
    for (size_t begin = 0; begin < ranks_.size(); begin += kBlock) {
      const size_t end = std::min(begin + kBlock, ranks_.size());
      work_on(std::span(ranks_).subspan(begin, end - begin));
      progress.update(static_cast<int64_t>(end));
    }
    std::sort(pairs_.begin(), pairs_.end(), [](const DuplicatePair& a, const DuplicatePair& b) {
      return std::pair(a.document, a.survivor) < std::pair(b.document, b.survivor);
    });
    return std::move(pairs_);
  }

 private:
  const ClusterDocument& document(int64_t index) const {
    return documents_[static_cast<size_t>(index)];
  }

  void rank_documents() {
    ranks_.resize(documents_.size());
    parallel_for(
        static_cast<int64_t>(documents_.size()), num_threads_, [&](int64_t begin, int64_t end) {
          for (int64_t d = begin; d < end; ++d) {
            const auto tokens = document(d).tokens;
            ranks_[static_cast<size_t>(d)] = {shingle_set(tokens).size(),
                                              XXH3_64bits(tokens.data(), tokens.size_bytes()), d};
          }
        });
    // A document without tokens, or without a role to lose, takes no part.
    std::erase_if(ranks_, [this](const Rank& rank) {
      return rank.size == 0 || document(rank.document).roles == 0;
    });
    std::sort(ranks_.begin(), ranks_.end(), [this](const Rank& a, const Rank& b) {
      if (a.size != b.size) return a.size > b.size;
      if (a.content != b.content) return a.content < b.content;
      return document(a.document).name < document(b.document).name;
    });
  }

  void work_on(std::span<const Rank> block) {
    std::vector<Member> members(block.size());
    parallel_for(
        static_cast<int64_t>(block.size()), num_threads_,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const auto place = static_cast<size_t>(i);
            compare_with_survivors(block[place], members[place]);
          }
        },
        1);
    SurvivorTable of_block;  // documents are places in the block
    for (size_t i = 0; i < block.size(); ++i) {
      for (const auto& entry : of_block.candidates(members[i].keys)) {
        const auto other = static_cast<size_t>(entry.document);
        add_pair(block[i].document, block[other].document, members[i].set, members[other].set,
                 members[i].pairs);
      }
      if (settle(block[i].document, members[i].pairs) != 0)
        of_block.add({static_cast<int64_t>(i), block[i].size}, members[i].keys);
    }
    for (size_t i = 0; i < block.size(); ++i) {
      if (kept_roles_[static_cast<size_t>(block[i].document)] != 0)
        survivors_.add({block[i].document, block[i].size}, members[i].keys);
    }
    survivors_.forget_larger(largest_similar(block.back().size));
  }

  void compare_with_survivors(const Rank& rank, Member& member) const {
    member.set = shingle_set(document(rank.document).tokens);
    member.keys = band_keys(min_hash(member.set));
    for (const auto& entry : survivors_.candidates(member.keys)) {
      if (entry.size > largest_similar(rank.size)) continue;
      add_pair(rank.document, entry.document, member.set,
               shingle_set(document(entry.document).tokens), member.pairs);
    }
  }

  static void add_pair(int64_t document, int64_t survivor, std::span<const uint64_t> set,
                       std::span<const uint64_t> survivor_set, std::vector<DuplicatePair>& pairs) {
    const double similarity = jaccard(set, survivor_set);
    if (similarity >= kDuplicateSimilarity) pairs.push_back({document, survivor, similarity, 0});
  }

  /// A set of more shingles than this cannot be similar to one of `size`.
  static uint64_t largest_similar(uint64_t size) {
    return static_cast<uint64_t>(static_cast<double>(size) / kDuplicateSimilarity + 1.0);
  }

  /// Decides what the document loses, to the most similar first; returns the roles it keeps.
  uint32_t settle(int64_t index, std::vector<DuplicatePair>& pairs) {
    std::stable_sort(
        pairs.begin(), pairs.end(),
        [](const DuplicatePair& a, const DuplicatePair& b) { return a.similarity > b.similarity; });
    uint32_t kept = document(index).roles;
    for (DuplicatePair& pair : pairs) {
      pair.lost_roles = kept & kept_roles_[static_cast<size_t>(pair.survivor)];
      kept &= ~pair.lost_roles;
    }
    kept_roles_[static_cast<size_t>(index)] = kept;
    pairs_.insert(pairs_.end(), pairs.begin(), pairs.end());
    return kept;
  }

  std::span<const ClusterDocument> documents_;
  int num_threads_;
  std::vector<uint32_t> kept_roles_;
  std::vector<Rank> ranks_;
  SurvivorTable survivors_;
  std::vector<DuplicatePair> pairs_;
};

}  // namespace

std::vector<DuplicatePair> find_duplicates(std::span<const ClusterDocument> documents,
                                           int num_threads) {
  return Clustering(documents, num_threads).run();
}

}  // namespace retro
