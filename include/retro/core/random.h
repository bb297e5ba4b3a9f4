// Named random streams: a seed and a name give the same numbers on every machine and thread count.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace retro {

/// 128 bits as four words, word 0 the lowest.
using PhiloxBlock = std::array<uint32_t, 4>;
/// The bijection behind RandomStream: Philox 4x32-10 of Salmon et al., "Parallel random numbers: as
/// easy as 1, 2, 3".
PhiloxBlock philox4x32_10(PhiloxBlock counter, std::array<uint32_t, 2> key);

/// Counter-based generator. Copyable; the whole state is (key, counter) and can be saved. Draw
/// number `counter` is the low half of philox4x32_10({counter, 0}, key); the key is XXH3-64 of
/// seed, name and index.
class RandomStream {
 public:
  struct State {
    uint64_t key = 0;
    uint64_t counter = 0;
  };

  /// Streams of different names (or indices) are independent.
  RandomStream(uint64_t seed, std::string_view name, uint64_t index = 0);
  explicit RandomStream(State state) : state_(state) {}

  uint64_t next_u64();
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Uniform in [0, bound), without modulo bias; bound > 0.
  uint64_t below(uint64_t bound);
  /// Standard normal (Box-Muller, two numbers a draw, the second dropped: the state stays a
  /// counter). Equal between machines up to the last bit of their log and cos.
  double normal();

  State state() const { return state_; }

 private:
  State state_;
};

/// Fisher-Yates in place.
void shuffle(std::span<int64_t> values, RandomStream& random);
/// `count` distinct values of [0, total), sorted; all of them if count >= total.
std::vector<int64_t> sample_without_replacement(int64_t total, int64_t count, RandomStream& random);

}  // namespace retro
