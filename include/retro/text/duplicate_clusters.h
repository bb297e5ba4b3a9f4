// Near-duplicates within a corpus: of documents that resemble one another one stays.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace retro {

/// A document that may have near-duplicates among the others.
struct ClusterDocument {
  std::span<const uint32_t> tokens;
  uint32_t roles = 0;  ///< bits of Role that it may lose
  std::string name;    ///< unique; decides between documents of equal content
};

/// `document` resembles `survivor` (positions in the input) and gives up `lost_roles` to it: 0
/// where another survivor had them all.
struct DuplicatePair {
  int64_t document = 0;
  int64_t survivor = 0;
  double similarity = 0;
  uint32_t lost_roles = 0;
  bool operator==(const DuplicatePair&) const = default;
};

/// Documents are taken by falling number of distinct 13-token-grams, then hash of their tokens,
/// then name; one that is similar (exact Jaccard of 0.8 or more, proposed by MinHash) to an earlier
/// document which kept a role loses that role. So every document that loses something resembles a
/// document that stays (chains do not merge), and the order of the input does not matter. Pairs by
/// (document, survivor). Memory: 380 bytes a document and 384 bytes for each survivor whose size is
/// within 0.8 of the present one's; runs on `num_threads`, with the same result for any number.
std::vector<DuplicatePair> find_duplicates(std::span<const ClusterDocument> documents,
                                           int num_threads);

}  // namespace retro
