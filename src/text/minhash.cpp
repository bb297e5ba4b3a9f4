#include "retro/text/minhash.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>
#include <utility>

#include <xxhash.h>

#include "retro/core/random.h"

#include "shingles.h"

namespace retro {
namespace {

constexpr size_t kHashes = std::tuple_size_v<MinHashSignature>;
constexpr std::string_view kSetsKind = "shingle sets";

/// h(x) = a x + b modulo 2^32 with odd a: a permutation of the 32 bits that are left of a shingle's
/// hash, which are uniform already, so that each element of a set is the smallest equally often.
struct HashFamily {
  std::array<uint32_t, kHashes> a{};
  std::array<uint32_t, kHashes> b{};
};

HashFamily make_hash_family() {
  HashFamily family;
  RandomStream random(0, "MinHash");
  for (size_t i = 0; i < kHashes; ++i) {
    family.a[i] = static_cast<uint32_t>(random.next_u64() >> 32) | 1U;
    family.b[i] = static_cast<uint32_t>(random.next_u64() >> 32);
  }
  return family;
}

const HashFamily& hash_family() {
  static const HashFamily family = make_hash_family();
  return family;
}

/// As many minima as stay in vector registers beside their factors.
constexpr size_t kLanes = 32;

/// minima[i] = min over x of a[i] x + b[i], for kLanes functions.
void take_minima(std::span<const uint32_t> values, const uint32_t* a, const uint32_t* b,
                 uint32_t* minima) {
  std::array<uint32_t, kLanes> factors{};
  std::array<uint32_t, kLanes> offsets{};
  std::array<uint32_t, kLanes> smallest{};
  std::copy_n(a, kLanes, factors.begin());
  std::copy_n(b, kLanes, offsets.begin());
  smallest.fill(std::numeric_limits<uint32_t>::max());
  for (const uint32_t x : values) {
    for (size_t i = 0; i < kLanes; ++i)
      smallest[i] = std::min(smallest[i], factors[i] * x + offsets[i]);
  }
  std::copy(smallest.begin(), smallest.end(), minima);
}

std::array<uint64_t, 2> hash_of_set(std::span<const uint64_t> set) {
  const XXH128_hash_t hash = XXH3_128bits(set.data(), set.size_bytes());
  return {hash.low64, hash.high64};
}

/// Sets whose sizes differ too much cannot be similar, whatever they hold.
bool can_be_similar(size_t a, size_t b) {
  return static_cast<double>(std::min(a, b)) >=
         kDuplicateSimilarity * static_cast<double>(std::max(a, b));
}

}  // namespace

std::vector<uint64_t> shingle_hashes(std::span<const uint32_t> tokens) {
  std::vector<uint64_t> hashes(num_shingles(tokens.size()));
  for (size_t i = 0; i < hashes.size(); ++i) hashes[i] = shingle_hash(tokens, i);
  return hashes;
}

void make_set(std::vector<uint64_t>& hashes) {
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

uint64_t count_distinct(std::span<const uint64_t> hashes) {
  // Open addressing; 0 marks a free slot and is counted apart.
  const size_t mask = std::bit_ceil(2 * hashes.size() + 1) - 1;
  std::vector<uint64_t> slots(mask + 1, 0);
  uint64_t count = 0;
  bool has_zero = false;
  for (const uint64_t hash : hashes) {
    has_zero = has_zero || hash == 0;
    size_t slot = hash & mask;
    while (slots[slot] != 0 && slots[slot] != hash) slot = (slot + 1) & mask;
    count += slots[slot] == 0 && hash != 0;
    slots[slot] = hash;
  }
  return count + has_zero;
}

double jaccard(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  if (a.empty() || b.empty()) return 0;
  size_t common = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    common += a[i] == b[j];
    const bool advances_a = a[i] <= b[j];
    const bool advances_b = b[j] <= a[i];
    i += advances_a;
    j += advances_b;
  }
  return static_cast<double>(common) / static_cast<double>(a.size() + b.size() - common);
}

MinHashSignature min_hash(std::span<const uint64_t> hashes) {
  const HashFamily& family = hash_family();
  std::vector<uint32_t> values(hashes.size());
  for (size_t i = 0; i < hashes.size(); ++i)
    values[i] = static_cast<uint32_t>(hashes[i] ^ (hashes[i] >> 32));
  MinHashSignature minima;
  for (size_t i = 0; i < kHashes; i += kLanes)
    take_minima(values, &family.a[i], &family.b[i], &minima[i]);
  return minima;
}

MinHashSketch sketch_of(const MinHashSignature& signature) {
  MinHashSketch sketch{};
  for (size_t i = 0; i < kHashes; ++i) sketch[i] = static_cast<uint8_t>(signature[i]);
  return sketch;
}

bool may_be_duplicates(const MinHashSketch& a, const MinHashSketch& b) {
  int num_equal = 0;
  for (size_t i = 0; i < kHashes; ++i) num_equal += a[i] == b[i];
  return num_equal >= 74;
}

BandKeys band_keys(const MinHashSignature& signature) {
  constexpr size_t kRows = kHashes / kMinHashBands;
  BandKeys keys{};
  for (size_t band = 0; band < kMinHashBands; ++band) {
    keys[band] = static_cast<uint32_t>(
        XXH3_64bits(signature.data() + band * kRows, kRows * sizeof(uint32_t)));
  }
  return keys;
}

NearDuplicateIndex::NearDuplicateIndex(const std::filesystem::path& path) : path_(path) {
  ArrayHeader header;
  header.kind = kSetsKind;
  header.type = ArrayType::kUint64;
  writer_.emplace(path, std::move(header));
}

void NearDuplicateIndex::add(int64_t document, std::vector<uint64_t> hashes) {
  if (hashes.empty()) return;
  make_set(hashes);
  const auto entry = static_cast<uint32_t>(documents_.size());
  const auto [known, is_new] = entry_of_.try_emplace(hash_of_set(hashes), entry);
  if (!is_new) {
    documents_[known->second] = std::min(documents_[known->second], document);
    ++copies_[known->second];
    return;
  }
  const BandKeys keys = band_keys(min_hash(hashes));
  for (size_t band = 0; band < kMinHashBands; ++band) bands_[band].push_back({keys[band], entry});
  writer_->append(std::span<const uint64_t>(hashes));
  documents_.push_back(document);
  copies_.push_back(1);
  first_hash_.push_back(first_hash_.back() + hashes.size());
}

void NearDuplicateIndex::finish() {
  writer_->commit();
  writer_.reset();
  entry_of_.clear();
  sets_ = ArrayFile(path_, {.kind = kSetsKind, .type = ArrayType::kUint64});
  for (auto& band : bands_) std::sort(band.begin(), band.end());
}

std::span<const uint64_t> NearDuplicateIndex::set_of(uint32_t entry) const {
  return sets_.values<uint64_t>().subspan(first_hash_[entry],
                                          first_hash_[entry + 1] - first_hash_[entry]);
}

std::vector<uint32_t> NearDuplicateIndex::candidates(const BandKeys& keys) const {
  std::vector<uint32_t> entries;
  for (size_t band = 0; band < kMinHashBands; ++band) {
    const auto& sorted = bands_[band];
    for (auto it = std::lower_bound(sorted.begin(), sorted.end(), BandEntry{keys[band], 0});
         it != sorted.end() && it->key == keys[band]; ++it) {
      entries.push_back(it->entry);
    }
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  return entries;
}

std::vector<NearDuplicateIndex::Match> NearDuplicateIndex::find(
    std::vector<uint64_t> hashes) const {
  if (hashes.empty() || documents_.empty()) return {};
  const std::vector<uint32_t> entries = candidates(band_keys(min_hash(hashes)));
  if (!entries.empty()) make_set(hashes);
  std::vector<Match> matches;
  for (const uint32_t entry : entries) {
    const auto set = set_of(entry);
    if (!can_be_similar(set.size(), hashes.size())) continue;
    const Match match{documents_[entry], jaccard(set, hashes), copies_[entry]};
    if (match.similarity >= kDuplicateSimilarity) matches.push_back(match);
  }
  std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return std::pair(-a.similarity, a.document) < std::pair(-b.similarity, b.document);
  });
  if (matches.size() > kMostMatches) matches.resize(kMostMatches);
  return matches;
}

}  // namespace retro
