// What the stages of a database may hold in memory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace retro {

/// What a stage holds at its fullest, part by part.
class MemoryNeeds {
 public:
  /// Begins with what every stage holds: the program with its libraries and the encoder, and a
  /// table of this many documents.
  explicit MemoryNeeds(int64_t num_documents);
  void add(std::string what, int64_t bytes) { parts_.push_back({std::move(what), bytes}); }
  int64_t total_bytes() const;
  /// "400 MB program and encoder, 12 MB 20,000 documents".
  std::string describe() const;

 private:
  struct Part {
    std::string what;
    int64_t bytes = 0;
  };
  std::vector<Part> parts_;
};

/// Resident bytes a process may have while it builds a database, its index or its neighbour tables;
/// pages of mapped files count.
class MemoryBudget {
 public:
  /// No limit.
  MemoryBudget() = default;
  explicit MemoryBudget(int64_t bytes) : bytes_(bytes) {}
  /// "2 GB", "512 MiB", "1500000000" or "" (no limit). Throws Error for anything else.
  static MemoryBudget parse(const std::string& text);

  bool is_limited() const { return bytes_ > 0; }
  int64_t bytes() const { return bytes_; }
  /// What is left beside `needs`, at least 0; very much without a limit.
  int64_t left_beside(const MemoryNeeds& needs) const;
  /// Throws Error, with the least that would do, where the needs of `stage` do not fit.
  void require(const std::string& stage, const MemoryNeeds& needs) const;

 private:
  int64_t bytes_ = 0;
};

}  // namespace retro
