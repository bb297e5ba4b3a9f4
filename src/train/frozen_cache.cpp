#include "retro/train/frozen_cache.h"

#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "retro/core/error.h"
#include "retro/core/hash.h"
#include "retro/train/training_step.h"

namespace retro {

namespace {

// The file: kMagic, the identity's hash, then records of key, hash of the values, values (float32).
constexpr std::string_view kMagic = "retro frozen stream 1\n";
constexpr int64_t kHashBytes = 32;
constexpr int64_t kHeaderBytes = static_cast<int64_t>(kMagic.size()) + kHashBytes;

std::string identity_of(const RetroModel& model, int64_t length) {
  Hasher hasher;
  hasher.add(model->base_hash())
      .add(precision_name(model->precision()))
      .add(model->base_format())
      .add(model->config().cca_layers.front())
      .add(int64_t{model->config().attend_across_documents})
      .add(length)
      .add(model->config().width);
  return hasher.hex();
}

std::span<const std::byte> bytes_of(const at::Tensor& row) {
  return {static_cast<const std::byte*>(row.const_data_ptr()), static_cast<size_t>(row.nbytes())};
}

std::string key_of(const Batch& batch, int64_t sequence) {
  Hasher hasher;
  hasher.add_bytes(bytes_of(batch.tokens_BN[sequence]))
      .add_bytes(bytes_of(batch.real_BN[sequence]))
      .add_bytes(bytes_of(batch.document_BN[sequence] - batch.document_BN[sequence].min()));
  return hasher.hex();
}

std::string hash_values(const float* values, int64_t bytes) {
  Hasher hasher;
  hasher.add_bytes({reinterpret_cast<const std::byte*>(values), static_cast<size_t>(bytes)});
  return hasher.hex();
}

/// Sequences `rows` of the batch, without neighbours.
ModelInput some_sequences(const Batch& batch, const std::vector<int64_t>& rows) {
  const at::Tensor index = at::tensor(rows, at::kLong);
  ModelInput input;
  input.tokens_BN = batch.tokens_BN.index_select(0, index);
  input.real_BN = batch.real_BN.index_select(0, index);
  input.document_BN = batch.document_BN.index_select(0, index);
  return input;
}

}  // namespace

FrozenCache::FrozenCache(std::filesystem::path path, const RetroModel& model, int64_t length)
    : path_(std::move(path)),
      length_(length),
      width_(model->config().width),
      identity_(identity_of(model, length)) {
  if (!open_existing()) begin_file();
  RETRO_CHECK(file_.is_open() && file_.good(), "{}: cannot write", path_.string());
}

int64_t FrozenCache::record_bytes() const { return 2 * kHashBytes + value_bytes(); }

bool FrozenCache::open_existing() {
  file_.open(path_, std::ios::in | std::ios::out | std::ios::binary);
  if (!file_.is_open()) return false;
  std::string header(static_cast<size_t>(kHeaderBytes), '\0');
  file_.read(header.data(), kHeaderBytes);
  if (!file_.good() || header != std::string(kMagic) + identity_) {
    file_.close();
    return false;
  }
  index_records();
  return true;
}

void FrozenCache::begin_file() {
  file_.clear();
  file_.open(path_, std::ios::in | std::ios::out | std::ios::binary | std::ios::trunc);
  file_ << kMagic << identity_ << std::flush;
  end_ = kHeaderBytes;
}

/// A partial record at the end is written over.
void FrozenCache::index_records() {
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path_));
  std::string key(static_cast<size_t>(kHashBytes), '\0');
  for (end_ = kHeaderBytes; end_ + record_bytes() <= size; end_ += record_bytes()) {
    file_.seekg(end_);
    file_.read(key.data(), kHashBytes);
    places_[key] = end_;
  }
}

bool FrozenCache::read(const std::string& key, float* values_ND) {
  const auto place = places_.find(key);
  if (place == places_.end()) return false;
  std::string hash(static_cast<size_t>(kHashBytes), '\0');
  file_.seekg(place->second + kHashBytes);
  file_.read(hash.data(), kHashBytes);
  file_.read(reinterpret_cast<char*>(values_ND), value_bytes());
  if (file_.good() && hash == hash_values(values_ND, value_bytes())) {
    ++num_read_;
    return true;
  }
  file_.clear();
  return false;
}

void FrozenCache::append(const std::string& key, const float* values_ND) {
  const auto known = places_.find(key);  // damaged
  const int64_t place = known == places_.end() ? end_ : known->second;
  file_.seekp(place);
  file_ << key << hash_values(values_ND, value_bytes());
  file_.write(reinterpret_cast<const char*>(values_ND), value_bytes());
  file_.flush();
  RETRO_CHECK(file_.good(),
              "{}: cannot write ({} sequences are stored, {} bytes each): is the disk full? "
              "fit.cache_frozen=false needs none of it",
              path_.string(), num_stored(), record_bytes());
  places_[key] = place;
  if (place == end_) end_ += record_bytes();
}

at::Tensor FrozenCache::stream(RetroModel& model, const Batch& batch) {
  const int64_t sequences = batch.tokens_BN.size(0);
  RETRO_CHECK(batch.tokens_BN.size(1) == length_,
              "frozen cache: made for sequences of {} tokens, got {}", length_,
              batch.tokens_BN.size(1));
  const at::Tensor stream_BND = at::empty({sequences, length_, width_}, at::kFloat);
  float* values = stream_BND.mutable_data_ptr<float>();
  const int64_t size = length_ * width_;
  std::vector<int64_t> missing;
  std::vector<std::string> keys;
  for (int64_t b = 0; b < sequences; ++b) {
    std::string key = key_of(batch, b);
    if (read(key, values + b * size)) continue;
    missing.push_back(b);
    keys.push_back(std::move(key));
  }
  if (missing.empty()) return stream_BND;
  const at::Tensor computed =
      model->frozen_stream(some_sequences(batch, missing)).to(at::kCPU, at::kFloat).contiguous();
  for (size_t i = 0; i < missing.size(); ++i) {
    const at::Tensor row = computed[static_cast<int64_t>(i)];
    append(keys[i], row.const_data_ptr<float>());
    stream_BND[missing[i]].copy_(row);
  }
  return stream_BND;
}

}  // namespace retro
