// What every call into FAISS needs: its threads, its errors, its files.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include <faiss/IndexIVF.h>

namespace retro {

/// OpenMP's thread count of the calling thread (FAISS takes it from there), restored at the end of
/// the scope.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(int num_threads);
  ~OpenMpThreads();
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int previous_;
};

/// Runs `call`; what FAISS throws becomes Error "WHAT: ...".
void call_faiss(const char* what, const std::function<void()>& call);

/// Atomically.
void write_faiss_index(const faiss::Index& index, const std::filesystem::path& path);
/// Throws Error naming the file if it is no inverted-file index of `width` features.
std::unique_ptr<faiss::IndexIVF> read_faiss_index(const std::filesystem::path& path, int64_t width);

}  // namespace retro
