// What the simulator remembers about every unit of memory: who wrote and who read it, and when.
//
// Two accesses of one block are ordered when a __syncthreads lies between them, or a __syncwarp and
// both threads are of that warp. Accesses of different blocks of a launch are never ordered;
// launches follow one another. Unordered accesses by two threads of which one writes are a race
// (atomics among themselves are not).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace retro::simulator {

/// When and by whom. `block_run` numbers the executions of blocks from 1, over all launches; 0:
/// never.
struct Moment {
  uint32_t block_run = 0;
  uint16_t thread = 0;
  uint8_t is_atomic = 0;
  uint8_t is_pending = 0;  ///< the start of an asynchronous copy that was not waited for yet
  uint32_t block_barriers = 0;
  uint32_t warp_barriers = 0;
};

/// Set by the scheduler whenever a thread runs or passes a barrier.
inline Moment now;
inline uint32_t first_block_run_of_launch = 1;

enum class AccessKind { kRead, kWrite, kAtomic, kCopyStart, kCopyEnd };

/// A range of memory that is checked. `unit_bytes`: the smallest size of an access.
class Region {
 public:
  enum class Kind { kReadOnly, kGlobal, kShared };

  Region(std::string name, Kind kind, const void* data, size_t bytes, size_t unit_bytes,
         bool is_initialised);

  bool contains(const void* pointer) const {
    const auto* byte = static_cast<const std::byte*>(pointer);
    return byte >= begin_ && byte < end_;
  }
  const std::string& name() const { return name_; }
  const std::byte* begin() const { return begin_; }

  /// Throws SimulatorError for an access that is out of bounds, misaligned, uninitialised or a
  /// race.
  void check(const void* pointer, size_t bytes, AccessKind kind);

  /// Counts as written by the launch before.
  void mark_written(const void* pointer, size_t bytes);

 private:
  struct Unit {
    Moment write;
    Moment read;        ///< the latest
    Moment other_read;  ///< an earlier one, of another thread
  };

  void check_unit(Unit& unit, AccessKind kind, size_t index);
  void check_read(Unit& unit, size_t index);
  [[noreturn]] void fail(const std::string& what, const void* pointer, size_t bytes) const;
  [[noreturn]] void fail_race(const Moment& other, const char* first, AccessKind kind,
                              size_t index) const;
  bool races(const Moment& other) const;

  std::string name_;
  Kind kind_;
  const std::byte* begin_;
  const std::byte* end_;
  size_t unit_bytes_;
  bool is_initialised_;
  std::vector<Unit> units_;
};

}  // namespace retro::simulator
