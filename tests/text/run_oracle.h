// The longest common run, from its definition.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retro::testing {

using Tokens = std::vector<int32_t>;

/// By definition: every pair of starts, extended while the tokens agree.
inline int64_t naive_longest_run(const Tokens& a, const Tokens& b) {
  int64_t longest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      size_t run = 0;
      while (i + run < a.size() && j + run < b.size() && a[i + run] == b[j + run] &&
             a[i + run] >= 0)
        ++run;
      longest = std::max(longest, static_cast<int64_t>(run));
    }
  }
  return longest;
}

}  // namespace retro::testing
