#include "retro/train/frozen_cost.h"

#include <chrono>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "retro/core/error.h"
#include "retro/core/progress.h"
#include "retro/core/seconds_since.h"
#include "retro/train/training_step.h"

namespace retro {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSampleBytes = 16 << 20;

/// Seconds a byte.
struct DiskSpeed {
  double write = 0;
  double read = 0;
};

class ScratchFile {
 public:
  explicit ScratchFile(std::filesystem::path path)
      : path_(std::move(path)),
        descriptor_(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    RETRO_CHECK(descriptor_ >= 0, "{}: cannot write", path_.string());
  }
  ~ScratchFile() {
    ::close(descriptor_);
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  int descriptor() const { return descriptor_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

DiskSpeed measure_disk(const std::filesystem::path& directory) {
  const ScratchFile file(directory / "disk_speed.tmp");
  std::vector<char> block(static_cast<size_t>(kSampleBytes), 1);
  const auto begin = Clock::now();
  const bool is_written = ::write(file.descriptor(), block.data(), block.size()) == kSampleBytes &&
                          ::fdatasync(file.descriptor()) == 0;
  RETRO_CHECK(is_written, "{}: cannot write {} bytes", file.path().string(), kSampleBytes);
  DiskSpeed speed;
  speed.write = seconds_since(begin) / static_cast<double>(kSampleBytes);
  ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  const auto middle = Clock::now();
  RETRO_CHECK(::pread(file.descriptor(), block.data(), block.size(), 0) == kSampleBytes,
              "{}: cannot be read back", file.path().string());
  speed.read = seconds_since(middle) / static_cast<double>(kSampleBytes);
  return speed;
}

/// Returns when the stream is there: a GPU works on after the call, and is waited for by reading.
at::Tensor computed_stream(RetroModel& model, const Batch& sample) {
  at::Tensor stream_BND = model->frozen_stream(model_input(sample));
  (void)stream_BND.flatten()[-1].item<float>();
  return stream_BND;
}

}  // namespace

double FrozenCost::seconds_without_cache() const {
  return static_cast<double>(drawn) * compute_seconds;
}

double FrozenCost::seconds_with_cache() const {
  const auto computed = static_cast<double>(std::min(drawn, distinct));
  return computed * (compute_seconds + write_seconds) +
         (static_cast<double>(drawn) - computed) * read_seconds;
}

std::string FrozenCost::describe() const {
  return fmt::format(
      "frozen layers below the first retro layer: {:.1f} ms a sequence to compute, {:.1f} to "
      "write, "
      "{:.1f} to read; {} sequences are drawn from {}: {} without a cache, {} and {:.1f} GB with "
      "fit.cache_frozen=true, so {}",
      1e3 * compute_seconds, 1e3 * write_seconds, 1e3 * read_seconds, format_count(drawn),
      format_count(distinct), format_duration(seconds_without_cache()),
      format_duration(seconds_with_cache()),
      1e-9 * static_cast<double>(std::min(drawn, distinct) * bytes),
      cache_is_cheaper() ? "the cache is cheaper" : "computing them again is cheaper");
}

FrozenCost measure_frozen_cost(RetroModel& model, const Batch& sample,
                               const std::filesystem::path& directory) {
  const auto sequences = static_cast<double>(sample.tokens_BN.size(0));
  FrozenCost cost;
  (void)computed_stream(model, sample);  // warms up
  const auto begin = Clock::now();
  const at::Tensor stream_BND = computed_stream(model, sample);
  cost.compute_seconds = seconds_since(begin) / sequences;
  // The cache stores float32, whatever type the device computes in.
  cost.bytes = stream_BND.numel() / sample.tokens_BN.size(0) * int64_t{sizeof(float)};
  const DiskSpeed disk = measure_disk(directory);
  cost.write_seconds = disk.write * static_cast<double>(cost.bytes);
  cost.read_seconds = disk.read * static_cast<double>(cost.bytes);
  return cost;
}

}  // namespace retro
