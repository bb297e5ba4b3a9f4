#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "retro/core/config_yaml.h"

namespace retro {
namespace {

/// Damerau-Levenshtein distance (optimal string alignment): insert, delete, replace, swap
/// neighbours.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0)});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// Typing errors grow with length; beyond this another name was meant.
size_t largest_distance(std::string_view name) { return std::clamp<size_t>(name.size() / 3, 1, 4); }

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string nearest;
  size_t smallest = largest_distance(name) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    // A name of one or two letters is near to nothing but itself with other letters around it.
    if (distance < smallest && distance < std::max(name.size(), candidate.size())) {
      smallest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace retro
