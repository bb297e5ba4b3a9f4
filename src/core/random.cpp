#include "retro/core/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>
#include <unordered_set>
#include <utility>

#include <xxhash.h>

#include "retro/core/error.h"

namespace retro {
namespace {

/// High and low half of a 32 x 32 bit product.
std::pair<uint32_t, uint32_t> multiply(uint32_t a, uint32_t b) {
  const uint64_t product = uint64_t{a} * b;
  return {static_cast<uint32_t>(product >> 32), static_cast<uint32_t>(product)};
}

void append_number(std::string& bytes, uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

/// The length stands before the name, so that no two (seed, name, index) give the same bytes.
uint64_t key_of(uint64_t seed, std::string_view name, uint64_t index) {
  std::string bytes;
  append_number(bytes, seed);
  append_number(bytes, name.size());
  bytes.append(name);
  append_number(bytes, index);
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

PhiloxBlock philox4x32_10(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const auto [high0, low0] = multiply(0xd2511f53, counter[0]);
    const auto [high1, low1] = multiply(0xcd9e8d57, counter[2]);
    counter = {high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return counter;
}

RandomStream::RandomStream(uint64_t seed, std::string_view name, uint64_t index)
    : state_{key_of(seed, name, index), 0} {}

uint64_t RandomStream::next_u64() {
  const uint64_t counter = state_.counter++;
  const PhiloxBlock block =
      philox4x32_10({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0},
                    {static_cast<uint32_t>(state_.key), static_cast<uint32_t>(state_.key >> 32)});
  return uint64_t{block[1]} << 32 | block[0];
}

double RandomStream::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

uint64_t RandomStream::below(uint64_t bound) {
  RETRO_CHECK(bound > 0, "random number below 0 asked for");
  // 2^64 mod bound: draws under it would make the small remainders more frequent.
  const uint64_t rejected = (0 - bound) % bound;
  uint64_t draw = 0;
  do {
    draw = next_u64();
  } while (draw < rejected);
  return draw % bound;
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

void shuffle(std::span<int64_t> values, RandomStream& random) {
  for (size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[random.below(left)]);
  }
}

std::vector<int64_t> sample_without_replacement(int64_t total, int64_t count,
                                                RandomStream& random) {
  RETRO_CHECK(total >= 0 && count >= 0, "sample of {} out of {} asked for", count, total);
  if (count >= total) {
    std::vector<int64_t> all(static_cast<size_t>(total));
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }
  // Floyd's algorithm: time and memory follow `count`, not `total`.
  std::unordered_set<int64_t> chosen(static_cast<size_t>(count));
  for (int64_t last = total - count; last < total; ++last) {
    const auto draw = static_cast<int64_t>(random.below(static_cast<uint64_t>(last) + 1));
    if (!chosen.insert(draw).second) chosen.insert(last);
  }
  std::vector<int64_t> sorted(chosen.begin(), chosen.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace retro
