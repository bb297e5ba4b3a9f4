#include "key_transform.h"

#include <algorithm>

#include <faiss/VectorTransform.h>
#include <faiss/impl/ProductQuantizer.h>

#include "retro/core/array_file.h"
#include "retro/core/parallel.h"
#include "retro/core/random.h"

#include "faiss_support.h"
#include "index_format.h"

namespace retro {
namespace {

/// Rows the rotation is learnt from; more change recall by less than a thousandth.
constexpr int64_t kRotationRows = 16'384;
constexpr const char* kKind = "index-rotation";
constexpr int kIterations = 20;
constexpr int kCodeBits = 4;
/// Rows that share a pass over the rotation.
constexpr int64_t kTile = 4;
constexpr int64_t kRowBlock = 256;

std::vector<float> sample_rows(std::span<const float> rows, size_t width, uint64_t seed) {
  const auto total = static_cast<int64_t>(rows.size() / width);
  RandomStream random(seed, "index rotation");
  std::vector<float> sample;
  for (const int64_t row :
       sample_without_replacement(total, std::min(total, kRotationRows), random)) {
    const auto values = rows.subspan(static_cast<size_t>(row) * width, width);
    sample.insert(sample.end(), values.begin(), values.end());
  }
  return sample;
}

/// kRows rows in place; every sum runs over the features in order.
template <int64_t kRows>
void rotate_tile(const float* rotation, int64_t width, float* rows, float* sums) {
  std::fill_n(sums, kRows * width, 0.0F);
  for (int64_t i = 0; i < width; ++i) {
    const float* direction = rotation + i * width;
    for (int64_t row = 0; row < kRows; ++row) {
      const float value = rows[row * width + i];
      float* sum = sums + row * width;
      for (int64_t j = 0; j < width; ++j) sum[j] += value * direction[j];
    }
  }
  std::copy_n(sums, kRows * width, rows);
}

}  // namespace

KeyTransform::KeyTransform(int64_t key_width, int64_t code_width)
    : key_width_(key_width),
      list_width_(code_width == 0 ? key_width
                                  : (key_width + code_width - 1) / code_width * code_width) {}

void KeyTransform::learn_rotation(std::span<const float> padded_rows, int64_t num_codes,
                                  uint64_t seed, int num_threads) {
  const auto width = static_cast<size_t>(list_width_);
  std::vector<float> sample = sample_rows(padded_rows, width, seed);
  // FAISS 1.7.3 keeps a square matrix where it has room for the rows: fewer rows than features are
  // repeated.
  for (size_t i = 0; sample.size() < width * width; ++i) sample.push_back(float{sample[i]});
  faiss::ProductQuantizer quantizer(width, static_cast<size_t>(num_codes), kCodeBits);
  quantizer.cp.seed = static_cast<int>(seed & 0x7FFFFFFF);
  quantizer.cp.min_points_per_centroid = 1;
  faiss::OPQMatrix matrix(static_cast<int>(width), static_cast<int>(num_codes));
  matrix.pq = &quantizer;
  matrix.niter = kIterations;
  const OpenMpThreads threads(num_threads);
  call_faiss("learning the rotation of the index",
             [&] { matrix.train(static_cast<int64_t>(sample.size() / width), sample.data()); });
  rotation_.resize(width * width);
  for (size_t out = 0; out < width; ++out) {
    for (size_t in = 0; in < width; ++in) rotation_[in * width + out] = matrix.A[out * width + in];
  }
}

std::vector<float> KeyTransform::pad(std::span<const float> keys) const {
  if (list_width_ == key_width_) return {keys.begin(), keys.end()};
  const auto num_rows = static_cast<int64_t>(keys.size()) / key_width_;
  std::vector<float> padded(static_cast<size_t>(num_rows * list_width_));
  for (int64_t row = 0; row < num_rows; ++row) {
    std::copy_n(keys.begin() + row * key_width_, key_width_, padded.begin() + row * list_width_);
  }
  return padded;
}

void KeyTransform::rotate(std::span<float> padded_rows, int num_threads) const {
  if (!has_rotation()) return;
  const auto rotate_block = [&](int64_t begin, int64_t end) {
    std::vector<float> sums(static_cast<size_t>(kTile * list_width_));
    int64_t row = begin;
    for (; row + kTile <= end; row += kTile) {
      rotate_tile<kTile>(rotation_.data(), list_width_, padded_rows.data() + row * list_width_,
                         sums.data());
    }
    for (; row < end; ++row) {
      rotate_tile<1>(rotation_.data(), list_width_, padded_rows.data() + row * list_width_,
                     sums.data());
    }
  };
  parallel_for(static_cast<int64_t>(padded_rows.size()) / list_width_, std::max(1, num_threads),
               rotate_block, kRowBlock);
}

std::vector<float> KeyTransform::apply(std::span<const float> keys, int num_threads) const {
  std::vector<float> rows = pad(keys);
  rotate(rows, num_threads);
  return rows;
}

void KeyTransform::write_rotation(const std::filesystem::path& path,
                                  const std::string& made_from) const {
  ArrayFileWriter file(path, {.kind = kKind,
                              .type = ArrayType::kFloat32,
                              .columns = static_cast<uint64_t>(list_width_),
                              .source_hash = made_from});
  file.append(std::span<const float>(rotation_));
  file.commit();
}

void KeyTransform::read_rotation(const std::filesystem::path& path, const std::string& made_from) {
  const ArrayFile file(path, {.kind = kKind,
                              .type = ArrayType::kFloat32,
                              .source_hash = made_from,
                              .rebuild = index_format::kRebuild,
                              .columns = static_cast<uint64_t>(list_width_)});
  file.verify();
  RETRO_CHECK(file.rows() == file.columns(), "{}: {} rows of {} features, expected a square; {}",
              path.string(), file.rows(), file.columns(), index_format::kRebuild);
  const auto values = file.values<float>();
  rotation_.assign(values.begin(), values.end());
}

}  // namespace retro
