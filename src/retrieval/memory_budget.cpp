#include "retro/retrieval/memory_budget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "retro/core/error.h"
#include "retro/core/progress.h"

namespace retro {
namespace {

/// The program, LibTorch and MiniLM in float32 stay below this (docs/database.md).
constexpr int64_t kProgramBytes = 400'000'000;
/// A row of the document table with its names, and the line it was read from.
constexpr int64_t kDocumentBytes = 640;

double unit_bytes(const std::string& unit) {
  constexpr std::array<std::pair<const char*, double>, 9> kUnits{{{"", 1},
                                                                  {"B", 1},
                                                                  {"kB", 1e3},
                                                                  {"MB", 1e6},
                                                                  {"GB", 1e9},
                                                                  {"TB", 1e12},
                                                                  {"MiB", 1024.0 * 1024},
                                                                  {"GiB", 1024.0 * 1024 * 1024},
                                                                  {"KiB", 1024.0}}};
  const auto* found = std::ranges::find(kUnits, unit, &std::pair<const char*, double>::first);
  return found == kUnits.end() ? 0 : found->second;
}

/// Rounded up, so that a budget of the size that is printed does.
std::string size_text(int64_t bytes) {
  constexpr int64_t kMegabyte = 1'000'000;
  return fmt::format("{} MB", (bytes + kMegabyte - 1) / kMegabyte);
}

}  // namespace

MemoryNeeds::MemoryNeeds(int64_t num_documents) {
  add("program and encoder", kProgramBytes);
  add(fmt::format("{} documents", format_count(num_documents)), num_documents * kDocumentBytes);
}

int64_t MemoryNeeds::total_bytes() const {
  int64_t total = 0;
  for (const Part& part : parts_) total += part.bytes;
  return total;
}

std::string MemoryNeeds::describe() const {
  std::string text;
  for (const Part& part : parts_) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", size_text(part.bytes), part.what);
  }
  return text;
}

MemoryBudget MemoryBudget::parse(const std::string& text) {
  if (text.empty()) return {};
  double value = 0;
  size_t end = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const size_t unit = std::min(text.find_first_not_of(' ', end), text.size());
  const double bytes = value * unit_bytes(text.substr(unit));
  RETRO_CHECK(end > 0 && std::isfinite(bytes) && bytes >= 1 && bytes < 1e18,
              "database.memory_budget is `{}`, expected a size like 2 GB or 512 MiB, or nothing "
              "for no limit",
              text);
  return MemoryBudget(static_cast<int64_t>(bytes));
}

int64_t MemoryBudget::left_beside(const MemoryNeeds& needs) const {
  if (!is_limited()) return std::numeric_limits<int64_t>::max() / 2;
  return std::max<int64_t>(0, bytes_ - needs.total_bytes());
}

void MemoryBudget::require(const std::string& stage, const MemoryNeeds& needs) const {
  RETRO_CHECK(!is_limited() || needs.total_bytes() <= bytes_,
              "database.memory_budget is {}; {} needs at least {} ({})", size_text(bytes_), stage,
              size_text(needs.total_bytes()), needs.describe());
}

}  // namespace retro
