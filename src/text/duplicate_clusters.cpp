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

/// What decides the order, and what proposes candidates; computed once.
struct Profile {
  uint64_t size = 0;
  uint64_t content = 0;
  int64_t document = 0;
  BandKeys keys{};
};

Profile profile_of(std::span<const uint32_t> tokens, int64_t document) {
  const std::vector<uint64_t> hashes = shingle_hashes(tokens);
  return {count_distinct(hashes), XXH3_64bits(tokens.data(), tokens.size_bytes()), document,
          band_keys(min_hash(hashes))};
}

class Clustering {
 public:
  Clustering(std::span<const ClusterDocument> documents, int num_threads)
      : documents_(documents), num_threads_(num_threads), kept_roles_(documents.size(), 0) {}

  std::vector<DuplicatePair> run() {
    Progress progress("near-duplicates", static_cast<int64_t>(documents_.size()), "documents");
    make_profiles();
    for (size_t begin = 0; begin < profiles_.size(); begin += kBlock) {
      const size_t end = std::min(begin + kBlock, profiles_.size());
      work_on(std::span(profiles_).subspan(begin, end - begin));
      progress.update(static_cast<int64_t>(end));
    }
    std::sort(pairs_.begin(), pairs_.end(), [](const DuplicatePair& a, const DuplicatePair& b) {
      return std::pair(a.document, a.survivor) < std::pair(b.document, b.survivor);
    });
    return std::move(pairs_);
  }

 private:
  using Pairs = std::vector<DuplicatePair>;

  const ClusterDocument& document(int64_t index) const {
    return documents_[static_cast<size_t>(index)];
  }

  /// In the order in which documents are taken.
  void make_profiles() {
    profiles_.resize(documents_.size());
    const auto make = [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d)
        profiles_[static_cast<size_t>(d)] = profile_of(document(d).tokens, d);
    };
    parallel_for(static_cast<int64_t>(documents_.size()), num_threads_, make, 16);
    // A document without tokens, or without a role to lose, takes no part.
    std::erase_if(profiles_, [this](const Profile& profile) {
      return profile.size == 0 || document(profile.document).roles == 0;
    });
    std::sort(profiles_.begin(), profiles_.end(), [this](const Profile& a, const Profile& b) {
      if (a.size != b.size) return a.size > b.size;
      if (a.content != b.content) return a.content < b.content;
      return document(a.document).name < document(b.document).name;
    });
  }

  void work_on(std::span<const Profile> block) {
    std::vector<Pairs> pairs(block.size());
    const auto compare = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto place = static_cast<size_t>(i);
        pairs[place] = similar_among(survivors_, block[place]);
      }
    };
    // Blocks of one: few documents have candidates.
    parallel_for(static_cast<int64_t>(block.size()), num_threads_, compare, 1);
    SurvivorTable of_block;
    for (size_t i = 0; i < block.size(); ++i) {
      const Pairs within = similar_among(of_block, block[i]);
      pairs[i].insert(pairs[i].end(), within.begin(), within.end());
      if (settle(block[i].document, pairs[i]) != 0)
        of_block.add({block[i].document, block[i].size}, block[i].keys);
    }
    for (const Profile& profile : block) {
      if (kept_roles_[static_cast<size_t>(profile.document)] != 0)
        survivors_.add({profile.document, profile.size}, profile.keys);
    }
    survivors_.forget_larger(largest_similar(block.back().size));
  }

  /// Verified pairs of a document with those of `table`.
  Pairs similar_among(const SurvivorTable& table, const Profile& profile) const {
    Pairs pairs;
    std::vector<uint64_t> set;
    for (const auto& entry : table.candidates(profile.keys)) {
      if (entry.size > largest_similar(profile.size)) continue;
      if (set.empty()) set = shingle_set(document(profile.document).tokens);
      const double similarity = jaccard(set, shingle_set(document(entry.document).tokens));
      if (similarity >= kDuplicateSimilarity)
        pairs.push_back({profile.document, entry.document, similarity, 0});
    }
    return pairs;
  }

  /// A set of more shingles than this cannot be similar to one of `size`.
  static uint64_t largest_similar(uint64_t size) {
    return static_cast<uint64_t>(static_cast<double>(size) / kDuplicateSimilarity + 1.0);
  }

  /// Decides what the document loses, to the most similar first; returns the roles it keeps.
  uint32_t settle(int64_t index, Pairs& pairs) {
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
  std::vector<Profile> profiles_;
  SurvivorTable survivors_;
  Pairs pairs_;
};

}  // namespace

std::vector<DuplicatePair> find_duplicates(std::span<const ClusterDocument> documents,
                                           int num_threads) {
  return Clustering(documents, num_threads).run();
}

}  // namespace retro
