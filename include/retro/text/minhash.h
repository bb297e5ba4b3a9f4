// Near-duplicate documents: MinHash proposes, the exact Jaccard similarity of 13-token-grams
// decides (METHOD section 6).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "retro/core/array_file.h"

namespace retro {

constexpr size_t kShingleTokens = 13;
constexpr double kDuplicateSimilarity = 0.8;

/// One 64-bit hash per run of 13 tokens, in text order, repeats included. A document of 1 to 12
/// tokens has one hash, of the whole, which equals only that of the same tokens; an empty document
/// has none.
std::vector<uint64_t> shingle_hashes(std::span<const uint32_t> tokens);

/// Sorts and drops repeats: the set two documents are compared by.
void make_set(std::vector<uint64_t>& hashes);
/// Size of that set.
uint64_t count_distinct(std::span<const uint64_t> hashes);

/// |a and b| / |a or b| of two sets made by `make_set`; 0 if either is empty.
double jaccard(std::span<const uint64_t> a, std::span<const uint64_t> b);

/// 128 minima; the share of equal ones estimates the Jaccard similarity.
using MinHashSignature = std::array<uint32_t, 128>;
/// Order and repeats of `hashes` do not matter.
MinHashSignature min_hash(std::span<const uint64_t> hashes);

/// The low byte of each minimum.
using MinHashSketch = std::array<uint8_t, 128>;
MinHashSketch sketch_of(const MinHashSignature& signature);
/// False for pairs that are not worth an exact comparison: fewer than 74 of 128 minima agree, which
/// happens to a pair of similarity 0.8 with probability 3e-9, to one of 0.5 in 95 cases of 100.
bool may_be_duplicates(const MinHashSketch& a, const MinHashSketch& b);

/// 32 bands of 4 minima propose a pair of similarity 0.8 with probability 1 - 5e-8.
constexpr size_t kMinHashBands = 32;
/// A hash of each band's minima: documents that share one are candidates.
using BandKeys = std::array<uint32_t, kMinHashBands>;
BandKeys band_keys(const MinHashSignature& signature);

/// Documents that others must not resemble. Equal ones (a licence repeated in every file) are kept
/// and compared once. Memory: about 350 bytes a different document; the sets themselves lie in a
/// file.
class NearDuplicateIndex {
 public:
  static constexpr size_t kMostMatches = 8;
  struct Match {
    int64_t document = -1;  ///< of equal ones the lowest number
    double similarity = 0;
    int64_t copies = 1;  ///< documents added with this very set, itself included
  };

  /// Writes its sets to `path`.
  explicit NearDuplicateIndex(const std::filesystem::path& path);
  /// `hashes` of `shingle_hashes`; an empty document is never similar to anything.
  void add(int64_t document, std::vector<uint64_t> hashes);
  /// Ends adding; `find` works from here on.
  void finish();
  /// The different documents added whose similarity is kDuplicateSimilarity or more, the most
  /// similar first, of equally similar ones the lowest number, at most kMostMatches. Does not
  /// depend on the order of adding. Thread-safe.
  std::vector<Match> find(std::vector<uint64_t> hashes) const;
  /// Different ones; of equal documents one counts.
  int64_t num_documents() const { return static_cast<int64_t>(documents_.size()); }

 private:
  struct BandEntry {
    uint32_t key = 0;    ///< hash of the band's minima
    uint32_t entry = 0;  ///< position in documents_
    auto operator<=>(const BandEntry&) const = default;
  };
  std::vector<uint32_t> candidates(const BandKeys& keys) const;
  std::span<const uint64_t> set_of(uint32_t entry) const;

  std::filesystem::path path_;
  std::optional<ArrayFileWriter> writer_;
  ArrayFile sets_;
  std::vector<int64_t> documents_;
  std::vector<int64_t> copies_;                           ///< of each of documents_
  std::map<std::array<uint64_t, 2>, uint32_t> entry_of_;  ///< by XXH3-128 of a set
  std::vector<uint64_t> first_hash_{0};                   ///< one more than documents_
  std::array<std::vector<BandEntry>, kMinHashBands> bands_;
};

}  // namespace retro
