#include "retro/core/mapped_file.h"

#include <cerrno>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "input_file.h"

namespace retro {

namespace {

/// A file of a bundle begins within a page; whole pages are mapped.
size_t bytes_into_page(uint64_t address) {
  return static_cast<size_t>(address % static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
}

/// The mapped pages that hold `bytes`.
std::span<std::byte> pages_of(std::span<const std::byte> bytes) {
  auto* const first = const_cast<std::byte*>(bytes.data());
  const size_t skipped = bytes_into_page(reinterpret_cast<uintptr_t>(first));
  return {first - skipped, bytes.size() + skipped};
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  const InputFile input = open_input(path_);
  if (input.size_bytes == 0) return;
  const size_t skipped = bytes_into_page(input.offset);
  void* address = ::mmap(nullptr, input.size_bytes + skipped, PROT_READ, MAP_SHARED,
                         input.file.get(), static_cast<off_t>(input.offset - skipped));
  if (address == MAP_FAILED) posix::throw_error(path_, "cannot map into memory", errno);
  bytes_ = {static_cast<const std::byte*>(address) + skipped, input.size_bytes};
}

MappedFile::~MappedFile() { unmap(); }

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    path_ = std::move(other.path_);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

void MappedFile::advise(Access access) const {
  if (bytes_.empty()) return;
  const int advice = access == Access::kSequential ? MADV_SEQUENTIAL
                     : access == Access::kRandom   ? MADV_RANDOM
                                                   : MADV_NORMAL;
  const auto pages = pages_of(bytes_);
  ::madvise(pages.data(), pages.size(), advice);
}

void MappedFile::unmap() noexcept {
  if (bytes_.empty()) return;
  const auto pages = pages_of(bytes_);
  ::munmap(pages.data(), pages.size());
  bytes_ = {};
}

}  // namespace retro
