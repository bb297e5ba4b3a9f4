#include "simulator/shadow.h"

#include <algorithm>
#include <utility>

#include "simulator/error.h"

namespace retro::simulator {

namespace {

constexpr uint16_t kWarpSize = 32;

bool same_warp(const Moment& a, const Moment& b) {
  return a.thread / kWarpSize == b.thread / kWarpSize;
}

/// Of an access: the largest power of two that divides it, at most 16.
size_t alignment_of(size_t bytes) { return std::min(bytes & (~bytes + 1), size_t{16}); }

const char* name_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "read";
    case AccessKind::kAtomic:
      return "atomic";
    default:
      return "write";
  }
}

}  // namespace

Region::Region(std::string name, Kind kind, const void* data, size_t bytes, size_t unit_bytes,
               bool is_initialised)
    : name_(std::move(name)),
      kind_(kind),
      begin_(static_cast<const std::byte*>(data)),
      end_(begin_ + bytes),
      unit_bytes_(unit_bytes),
      is_initialised_(is_initialised) {
  if (kind != Kind::kReadOnly) units_.resize((bytes + unit_bytes - 1) / unit_bytes);
}

void Region::check(const void* pointer, size_t bytes, AccessKind kind) {
  const auto* byte = static_cast<const std::byte*>(pointer);
  if (byte < begin_ || byte + bytes > end_) fail("out-of-bounds", pointer, bytes);
  if (reinterpret_cast<uintptr_t>(pointer) % alignment_of(bytes) != 0)
    fail("misaligned", pointer, bytes);
  if (kind_ == Kind::kReadOnly) {
    if (kind != AccessKind::kRead) fail("write to read-only", pointer, bytes);
    return;
  }
  const auto first = static_cast<size_t>(byte - begin_) / unit_bytes_;
  const auto last = (static_cast<size_t>(byte - begin_) + bytes - 1) / unit_bytes_;
  for (size_t index = first; index <= last; ++index) check_unit(units_[index], kind, index);
}

void Region::mark_written(const void* pointer, size_t bytes) {
  const auto first = static_cast<size_t>(static_cast<const std::byte*>(pointer) - begin_);
  if (first + bytes > static_cast<size_t>(end_ - begin_)) fail("out-of-bounds", pointer, bytes);
  for (size_t index = first / unit_bytes_; index * unit_bytes_ < first + bytes; ++index) {
    units_.at(index).write = {.block_run = first_block_run_of_launch};
  }
}

bool Region::races(const Moment& other) const {
  if (other.block_run != now.block_run) {
    return kind_ == Kind::kGlobal && other.block_run >= first_block_run_of_launch;
  }
  if (other.thread == now.thread || other.block_barriers != now.block_barriers) return false;
  return !same_warp(other, now) || other.warp_barriers == now.warp_barriers;
}

void Region::check_unit(Unit& unit, AccessKind kind, size_t index) {
  const bool is_atomic = kind == AccessKind::kAtomic;
  if (races(unit.write) && !(is_atomic && unit.write.is_atomic)) {
    fail_race(unit.write, "write", kind, index);
  }
  if (kind != AccessKind::kRead) {
    for (const Moment* read : {&unit.read, &unit.other_read}) {
      if (races(*read) && !(is_atomic && read->is_atomic)) fail_race(*read, "read", kind, index);
    }
  }
  const bool is_copying = unit.write.is_pending != 0 && unit.write.block_run == now.block_run;
  if (is_copying && kind != AccessKind::kCopyEnd) {
    fail("early (an asynchronous copy to there was not waited for)", begin_ + index * unit_bytes_,
         unit_bytes_);
  }
  if (kind == AccessKind::kRead || is_atomic) check_read(unit, index);
  if (kind == AccessKind::kRead) return;
  unit.write = now;
  unit.write.is_atomic = is_atomic;
  unit.write.is_pending = kind == AccessKind::kCopyStart;
  if (is_atomic) unit.read.is_atomic = 1;
}

void Region::check_read(Unit& unit, size_t index) {
  const bool is_written =
      kind_ == Kind::kShared ? unit.write.block_run == now.block_run : unit.write.block_run != 0;
  if (!is_written && !is_initialised_) {
    fail("uninitialised", begin_ + index * unit_bytes_, unit_bytes_);
  }
  // Of many readers two are kept, if possible of two warps: whoever writes next is then not alone.
  const bool other_is_current = unit.other_read.block_run == now.block_run &&
                                unit.other_read.block_barriers == now.block_barriers;
  const bool keep_other =
      other_is_current && same_warp(unit.read, now) && !same_warp(unit.other_read, now);
  if (unit.read.thread != now.thread && !keep_other) unit.other_read = unit.read;
  unit.read = now;
}

void Region::fail(const std::string& what, const void* pointer, size_t bytes) const {
  const auto offset = static_cast<const std::byte*>(pointer) - begin_;
  throw SimulatorError(what + " access of " + std::to_string(bytes) + " bytes at byte " +
                       std::to_string(offset) + " of " + name_ + " (" +
                       std::to_string(end_ - begin_) + " bytes) by thread " +
                       std::to_string(now.thread));
}

void Region::fail_race(const Moment& other, const char* first, AccessKind kind,
                       size_t index) const {
  throw SimulatorError("race at byte " + std::to_string(index * unit_bytes_) + " of " + name_ +
                       ": " + first + " by thread " + std::to_string(other.thread) +
                       (other.block_run == now.block_run ? "" : " of another block") +
                       " and unordered " + name_of(kind) + " by thread " +
                       std::to_string(now.thread));
}

}  // namespace retro::simulator
