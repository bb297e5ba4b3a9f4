#include "retro/core/mapped_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>

#include "posix.h"

namespace retro {

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  const auto file = posix::open_file(path_, O_RDONLY, "cannot read");
  const size_t size_bytes = posix::regular_file_size(file, path_);
  if (size_bytes == 0) return;
  void* address = ::mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) posix::throw_error(path_, "cannot map into memory", errno);
  bytes_ = {static_cast<const std::byte*>(address), size_bytes};
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
  ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), advice);
}

void MappedFile::unmap() noexcept {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  bytes_ = {};
}

}  // namespace retro
