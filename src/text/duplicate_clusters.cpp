#include "retro/text/duplicate_clusters.h"

#include <algorithm>
#include <numeric>

#include <xxhash.h>

#include "retro/core/parallel.h"
#include "retro/core/progress.h"
#include "retro/text/minhash.h"

#include "shingle_lookup.h"
#include "survivor_table.h"

namespace retro {

namespace {

/// Documents worked on side by side; what they find in one another is decided in order.
constexpr size_t kBlock = 1024;
/// Shingles to verify for which starting threads pays: some milliseconds.
constexpr uint64_t kWorthThreads = 1'000'000;

/// What decides the order, and what proposes candidates; computed once.
struct Profile {
  uint64_t size = 0;
  uint64_t content = 0;
  int64_t document = 0;
  BandKeys keys{};
  MinHashSketch sketch{};
};

Profile profile_of(std::span<const uint32_t> tokens, int64_t document) {
  const std::vector<uint64_t> hashes = shingle_hashes(tokens);
  const MinHashSignature signature = min_hash(hashes);
  return {count_distinct(hashes), XXH3_64bits(tokens.data(), tokens.size_bytes()), document,
          band_keys(signature), sketch_of(signature)};
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
      work_on(begin, end);
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

  /// Decides about the documents [begin, end) of the order.
  void work_on(size_t begin, size_t end) {
    std::vector<Pairs> pairs(end - begin);
    const auto compare = [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const auto place = static_cast<size_t>(i);
        pairs[place] = similar_among(survivors_, profiles_[begin + place], 1);
      }
    };
    // Blocks of one: few documents have candidates.
    parallel_for(static_cast<int64_t>(end - begin), num_threads_, compare, 1);
    SurvivorTable of_block;
    for (size_t i = begin; i < end; ++i) {
      const Profile& profile = profiles_[i];
      Pairs& found = pairs[i - begin];
      const Pairs within = similar_among(of_block, profile, num_threads_);
      found.insert(found.end(), within.begin(), within.end());
      if (settle(profile.document, found) != 0) of_block.add({i, profile.size}, profile.keys);
    }
    for (size_t i = begin; i < end; ++i) {
      const Profile& profile = profiles_[i];
      if (kept_roles_[static_cast<size_t>(profile.document)] != 0)
        survivors_.add({i, profile.size}, profile.keys);
    }
    survivors_.forget_larger(largest_similar(profiles_[end - 1].size));
  }

  /// Verified pairs of a document with those of `table`.
  Pairs similar_among(const SurvivorTable& table, const Profile& profile, int num_threads) const {
    std::vector<const Profile*> candidates;
    uint64_t num_shingles = 0;
    for (const auto& entry : table.candidates(profile.keys)) {
      const Profile& other = profiles_[entry.profile];
      if (entry.size > largest_similar(profile.size)) continue;
      if (!may_be_duplicates(profile.sketch, other.sketch)) continue;
      candidates.push_back(&other);
      num_shingles += other.size;
    }
    if (candidates.empty()) return {};
    const ShingleLookup lookup(document(profile.document).tokens);
    std::vector<double> similarities(candidates.size());
    const auto verify = [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const Profile& other = *candidates[static_cast<size_t>(i)];
        similarities[static_cast<size_t>(i)] =
            lookup.similarity(document(other.document).tokens, other.size, kDuplicateSimilarity);
      }
    };
    parallel_for(static_cast<int64_t>(candidates.size()),
                 num_shingles < kWorthThreads ? 1 : num_threads, verify, 1);
    Pairs pairs;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (similarities[i] >= kDuplicateSimilarity)
        pairs.push_back({profile.document, candidates[i]->document, similarities[i], 0});
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
