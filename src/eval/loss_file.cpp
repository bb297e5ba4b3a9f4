#include "retro/eval/loss_file.h"

#include <cmath>
#include <limits>

#include "retro/core/hash.h"
#include "retro/core/json.h"

namespace retro {

namespace fs = std::filesystem;

namespace {

constexpr uint32_t kVersion = 1;
constexpr float kNotScored = std::numeric_limits<float>::quiet_NaN();
constexpr std::string_view kRebuild = "remove it and run `retro eval` again";

nlohmann::json description_json(const LossDescription& description) {
  nlohmann::json fields = {{"kind", description.column.kind},
                           {"k", description.column.k},
                           {"shift", description.column.shift},
                           {"model", description.model},
                           {"grid_hash", description.grid_hash},
                           {"neighbours", description.neighbours},
                           {"chunk_length", description.chunk_length},
                           {"sequence_length", description.sequence_length},
                           {"window_overlap", description.window_overlap},
                           {"max_chunks_per_document", description.max_chunks_per_document},
                           {"seed", description.seed}};
  if (!description.column.variant.empty()) fields["variant"] = description.column.variant;
  return fields;
}

LossDescription description_from(const nlohmann::json& fields, const std::string& where) {
  LossDescription description;
  description.column.kind = json_get<std::string>(fields, "kind", where);
  description.column.k = json_get<int64_t>(fields, "k", where);
  description.column.shift = json_get<int64_t>(fields, "shift", where);
  description.column.variant = json_get_or<std::string>(fields, "variant", "", where);
  description.model = json_get<std::string>(fields, "model", where);
  description.grid_hash = json_get<std::string>(fields, "grid_hash", where);
  description.neighbours = json_get<std::string>(fields, "neighbours", where);
  description.chunk_length = json_get<int64_t>(fields, "chunk_length", where);
  description.sequence_length = json_get<int64_t>(fields, "sequence_length", where);
  description.window_overlap = json_get<double>(fields, "window_overlap", where);
  description.max_chunks_per_document = json_get<int64_t>(fields, "max_chunks_per_document", where);
  description.seed = json_get<int64_t>(fields, "seed", where);
  return description;
}

/// Ties the arrays to the manifest they were written with.
std::string description_hash(const LossDescription& description) {
  return hash_text(json_line(description_json(description)));
}

}  // namespace

std::string ColumnKey::name() const {
  return fmt::format("{}.k{}.s{}{}{}", kind, k, shift, variant.empty() ? "" : ".", variant);
}

ColumnKey parse_column(const std::string& name) {
  const size_t k_begin = name.find(".k");
  const size_t shift_begin = name.find(".s", k_begin == std::string::npos ? k_begin : k_begin + 2);
  ColumnKey key;
  if (k_begin != std::string::npos && shift_begin != std::string::npos) {
    key.kind = name.substr(0, k_begin);
    key.k = std::strtoll(name.c_str() + k_begin + 2, nullptr, 10);
    key.shift = std::strtoll(name.c_str() + shift_begin + 2, nullptr, 10);
    const size_t variant_begin = name.find('.', shift_begin + 2);
    if (variant_begin != std::string::npos) key.variant = name.substr(variant_begin + 1);
  }
  RETRO_CHECK(key.name() == name, "`{}` is no column of an evaluation (\"on.k2.s0\")", name);
  return key;
}

LossFile::LossFile(const fs::path& path) {
  const fs::path manifest = path / "manifest.json";
  RETRO_CHECK(fs::exists(manifest), "{}: not a file of losses: {}", path.string(), kRebuild);
  const nlohmann::json fields = read_json_file(manifest);
  const auto version = json_get<int64_t>(fields, "version", manifest.string());
  RETRO_CHECK(version == kVersion, "{}: version {}, expected {}: {}", path.string(), version,
              kVersion, kRebuild);
  description_ = description_from(fields, manifest.string());
  const std::string hash = description_hash(description_);
  nats_ = ArrayFile(path / "token_nats.bin",
                    {"token_nats", ArrayType::kFloat32, kVersion, hash, kRebuild});
  bytes_ = ArrayFile(path / "row_bytes.bin",
                     {"row_bytes", ArrayType::kUint32, kVersion, hash, kRebuild});
  RETRO_CHECK(nats_.columns() == static_cast<uint64_t>(description_.chunk_length) &&
                  nats_.rows() == bytes_.rows(),
              "{}: {} x {} losses do not fit {} rows of {} tokens: {}", path.string(), nats_.rows(),
              nats_.columns(), bytes_.rows(), description_.chunk_length, kRebuild);
}

double LossFile::nats(int64_t row) const {
  double sum = 0;
  for (const float value : token_nats(row)) {
    if (!std::isnan(value)) sum += static_cast<double>(value);
  }
  return sum;
}

bool is_loss_file_current(const fs::path& path, const LossDescription& description) {
  if (!fs::exists(path)) return false;
  try {
    return LossFile(path).description() == description;
  } catch (const Error&) {
    return false;
  }
}

LossFileWriter::LossFileWriter(const fs::path& directory, LossDescription description,
                               int64_t num_rows)
    : description_(std::move(description)),
      num_rows_(num_rows),
      row_nats_(static_cast<size_t>(description_.chunk_length), kNotScored),
      directory_(directory),
      nats_(directory / "token_nats.bin",
            {.kind = "token_nats",
             .version = kVersion,
             .type = ArrayType::kFloat32,
             .columns = static_cast<uint64_t>(description_.chunk_length),
             .source_hash = description_hash(description_)}),
      bytes_(directory / "row_bytes.bin", {.kind = "row_bytes",
                                           .version = kVersion,
                                           .type = ArrayType::kUint32,
                                           .source_hash = description_hash(description_)}) {}

void LossFileWriter::add(int64_t row, float nats, int64_t bytes) {
  RETRO_CHECK(row >= row_ && row < num_rows_, "{}: losses of row {} come after row {} of {}",
              directory_.string(), row, row_, num_rows_);
  flush_until(row);
  RETRO_CHECK(num_in_row_ < description_.chunk_length, "{}: row {} has more than {} targets",
              directory_.string(), row, description_.chunk_length);
  row_nats_[static_cast<size_t>(num_in_row_++)] = nats;
  row_bytes_ += bytes;
}

/// Writes every row before `row`.
void LossFileWriter::flush_until(int64_t row) {
  for (; row_ < row; ++row_) {
    const auto bytes = static_cast<uint32_t>(row_bytes_);
    nats_.append(std::span<const float>(row_nats_));
    bytes_.append(std::span<const uint32_t>(&bytes, 1));
    if (num_in_row_ > 0) std::fill(row_nats_.begin(), row_nats_.end(), kNotScored);
    num_in_row_ = 0;
    row_bytes_ = 0;
  }
}

void LossFileWriter::commit() {
  flush_until(num_rows_);
  nats_.commit();
  bytes_.commit();
  nlohmann::json manifest = description_json(description_);
  manifest["version"] = kVersion;
  manifest["rows"] = num_rows_;
  write_json_file(directory_ / "manifest.json", manifest);
}

void write_loss_file(const fs::path& path, const LossDescription& description, int64_t num_rows,
                     const std::function<void(LossFileWriter&)>& fill) {
  write_directory(path, [&](const fs::path& temporary) {
    LossFileWriter writer(temporary, description, num_rows);
    fill(writer);
    writer.commit();
  });
}

}  // namespace retro
