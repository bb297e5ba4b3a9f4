#include "faiss_support.h"

#include <algorithm>
#include <cstring>

#include <faiss/impl/FaissException.h>
#include <faiss/impl/io.h>
#include <faiss/index_io.h>
#include <omp.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/mapped_file.h"

namespace retro {
namespace {

class AtomicFileWriter final : public faiss::IOWriter {
 public:
  explicit AtomicFileWriter(AtomicFile& file) : file_(file) {}
  size_t operator()(const void* data, size_t size, size_t count) override {
    file_.write(std::span(static_cast<const std::byte*>(data), size * count));
    return count;
  }

 private:
  AtomicFile& file_;
};

/// FAISS opens paths itself, but those that lead into a bundle only we can.
class MappedReader final : public faiss::IOReader {
 public:
  explicit MappedReader(const std::filesystem::path& path) : file_(path) {}
  size_t operator()(void* data, size_t size, size_t count) override {
    if (size == 0) return 0;
    const size_t whole = std::min(count, (file_.bytes().size() - done_) / size);
    if (whole > 0) std::memcpy(data, file_.bytes().data() + done_, whole * size);
    done_ += whole * size;
    return whole;
  }

 private:
  MappedFile file_;
  size_t done_ = 0;
};

}  // namespace

OpenMpThreads::OpenMpThreads(int num_threads) : previous_(omp_get_max_threads()) {
  omp_set_num_threads(std::max(1, num_threads));
}

OpenMpThreads::~OpenMpThreads() { omp_set_num_threads(previous_); }

void call_faiss(const char* what, const std::function<void()>& call) {
  try {
    call();
  } catch (const faiss::FaissException& exception) {
    throw Error(fmt::format("{}: {}", what, exception.what()));
  }
}

void write_faiss_index(const faiss::Index& index, const std::filesystem::path& path) {
  AtomicFile file(path);
  AtomicFileWriter writer(file);
  call_faiss("writing the index", [&] { faiss::write_index(&index, &writer); });
  file.commit();
}

std::unique_ptr<faiss::IndexIVF> read_faiss_index(const std::filesystem::path& path,
                                                  int64_t width) {
  std::unique_ptr<faiss::Index> index;
  MappedReader reader(path);
  call_faiss(path.c_str(), [&] { index.reset(faiss::read_index(&reader)); });
  auto* inverted = dynamic_cast<faiss::IndexIVF*>(index.get());
  RETRO_CHECK(inverted != nullptr && inverted->d == width,
              "{}: expected an inverted-file index of width {}; run `retro database build` again",
              path.string(), width);
  index.release();
  return std::unique_ptr<faiss::IndexIVF>(inverted);
}

}  // namespace retro
