#include "retro/retrieval/retrieval_database.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "retro/core/error.h"

#include "key_storage.h"
#include "resident_limit.h"

namespace retro {
namespace {

/// Index of the last element <= value in an ascending list that begins with 0.
size_t last_not_above(const std::vector<int64_t>& ascending, int64_t value) {
  return static_cast<size_t>(std::ranges::upper_bound(ascending, value) - ascending.begin()) - 1;
}

}  // namespace

void DatabaseConfig::visit_fields(FieldVisitor& visit) {
  visit("chunk_length", chunk_length, "tokens of a chunk (m)");
  visit.choice("key_storage", key_storage, {"float32", "float16", "int8"},
               "precision of stored keys; int8: one scale a key");
  visit("memory_budget", memory_budget,
        "memory the database, index and neighbour stages keep within, as in 2 GB; empty: no limit");
  visit("block_chunks", block_chunks,
        "chunks embedded and written at once; a killed build resumes at a block");
  visit("shard_chunks", shard_chunks,
        "a shard is closed after the document that reaches this many chunks");
}

void RetrievalDatabase::set_memory_budget(const MemoryBudget& budget) {
  memory_budget_ = budget;
  resident_limit_ = budget.is_limited() ? std::make_shared<ResidentLimit>(budget) : nullptr;
}

void RetrievalDatabase::count_read(int64_t bytes) const {
  if (!resident_limit_) return;
  resident_limit_->count(bytes, [this] { release_memory(); });
}

void RetrievalDatabase::release_memory() const {
  for (const Shard& shard : shards_) {
    release_pages(shard.keys.payload());
    release_pages(shard.tokens.payload());
  }
}

void RetrievalDatabase::check_chunk(int64_t chunk_id) const {
  RETRO_CHECK(chunk_id >= 0 && chunk_id < num_chunks_, "{}: chunk {} of {} does not exist",
              directory_.string(), chunk_id, num_chunks_);
}

const RetrievalDatabase::Shard& RetrievalDatabase::shard_of_row(int64_t row) const {
  const auto next = std::ranges::upper_bound(shards_, row, {}, &Shard::first_row);
  return *std::prev(next);
}

int64_t RetrievalDatabase::shard_first_chunk(int64_t shard) const {
  return shard < num_shards() ? shards_[static_cast<size_t>(shard)].first_chunk : num_chunks_;
}

int64_t RetrievalDatabase::shard_first_row(int64_t shard) const {
  return shard < num_shards() ? shards_[static_cast<size_t>(shard)].first_row : num_rows_;
}

int64_t RetrievalDatabase::shard_first_document(int64_t shard) const {
  return shard < num_shards() ? shards_[static_cast<size_t>(shard)].first_document
                              : num_documents();
}

int64_t RetrievalDatabase::document_or_hole(int64_t chunk_id) const {
  check_chunk(chunk_id);
  if (documents_.empty() || chunk_id < document_first_chunk_.front()) return -1;
  // Documents without a token share their first chunk with the next one; the last of them has the
  // chunk.
  const size_t d = last_not_above(document_first_chunk_, chunk_id);
  const bool is_inside = chunk_id < documents_[d].first_chunk + documents_[d].num_chunks;
  return is_inside ? static_cast<int64_t>(d) : -1;
}

int64_t RetrievalDatabase::document_of(int64_t chunk_id) const {
  const int64_t d = document_or_hole(chunk_id);
  RETRO_CHECK(d >= 0, "{}: the document of chunk {} was deleted; run `retro database refresh`",
              directory_.string(), chunk_id);
  return d;
}

bool RetrievalDatabase::is_live(int64_t chunk_id) const {
  const int64_t d = document_or_hole(chunk_id);
  return d >= 0 && !document(d).is_deleted;
}

int64_t RetrievalDatabase::row_of(int64_t chunk_id) const {
  const int64_t d = document_or_hole(chunk_id);
  return d < 0 ? -1 : document(d).first_row + chunk_id - document(d).first_chunk;
}

std::span<const uint32_t> RetrievalDatabase::tokens_of(int64_t d, int64_t first,
                                                       int64_t length) const {
  const auto next = std::ranges::upper_bound(shards_, d, {}, &Shard::first_document);
  count_read(length * static_cast<int64_t>(sizeof(uint32_t)));
  return std::prev(next)->tokens.values<uint32_t>().subspan(
      static_cast<size_t>(document_first_token_[static_cast<size_t>(d)] + first),
      static_cast<size_t>(length));
}

std::span<const uint32_t> RetrievalDatabase::document_tokens(int64_t index) const {
  return tokens_of(index, 0, document(index).num_tokens);
}

std::span<const uint32_t> RetrievalDatabase::tokens(int64_t chunk_id) const {
  const int64_t d = document_of(chunk_id);
  const ChunkSpan span =
      chunk_span(document(d).num_tokens, chunk_length_, chunk_id - document(d).first_chunk);
  return tokens_of(d, span.first_token, span.length);
}

void RetrievalDatabase::copy_value(int64_t chunk_id, std::span<int32_t> value_R) const {
  RETRO_CHECK(static_cast<int64_t>(value_R.size()) == 2 * chunk_length_,
              "a retrieved value has {} tokens, the buffer {}", 2 * chunk_length_, value_R.size());
  std::ranges::fill(value_R, static_cast<int32_t>(kMissing));
  if (chunk_id == kMissing || !is_live(chunk_id)) return;
  const DatabaseDocument& document = documents_[static_cast<size_t>(document_of(chunk_id))];
  std::ranges::copy(tokens(chunk_id), value_R.begin());
  // The continuation stops at the document's end (METHOD section 2.2).
  if (chunk_id + 1 < document.first_chunk + document.num_chunks) {
    std::ranges::copy(tokens(chunk_id + 1), value_R.begin() + chunk_length_);
  }
}

int64_t RetrievalDatabase::find_document(std::string_view source, std::string_view id) const {
  const auto name = [&](int64_t d) {
    return std::pair<std::string_view, std::string_view>(document(d).source, document(d).id);
  };
  const std::pair wanted(source, id);
  const auto found = std::ranges::lower_bound(documents_by_name_, wanted, {}, name);
  return found != documents_by_name_.end() && name(*found) == wanted ? *found : -1;
}

bool RetrievalDatabase::has_key(int64_t chunk_id) const {
  const int64_t row = row_of(chunk_id);
  return row >= 0 && row_has_key(row);
}

bool RetrievalDatabase::row_has_key(int64_t row) const {
  const Shard& shard = shard_of_row(row);
  if (shard.has_key.values<uint8_t>()[static_cast<size_t>(row - shard.first_row)] == 0) {
    return false;
  }
  return num_live_chunks_ == num_rows_ ||
         !documents_[last_not_above(document_first_row_, row)].is_deleted;
}

int64_t RetrievalDatabase::chunk_of_row(int64_t row) const {
  if (num_rows_ == num_chunks_) return row;
  const DatabaseDocument& document = documents_[last_not_above(document_first_row_, row)];
  return document.first_chunk + row - document.first_row;
}

int64_t RetrievalDatabase::first_row_from(int64_t chunk_id) const {
  const auto next = std::ranges::lower_bound(document_first_chunk_, chunk_id);
  const auto d = static_cast<size_t>(next - document_first_chunk_.begin());
  if (d > 0) {
    const DatabaseDocument& before = documents_[d - 1];
    if (chunk_id < before.first_chunk + before.num_chunks) {
      return before.first_row + chunk_id - before.first_chunk;
    }
  }
  return d < documents_.size() ? documents_[d].first_row : num_rows_;
}

void RetrievalDatabase::copy_keys(int64_t begin, int64_t end, std::span<float> keys) const {
  RETRO_CHECK(begin >= 0 && begin <= end && end <= num_chunks_ &&
                  static_cast<int64_t>(keys.size()) == (end - begin) * key_width_,
              "{}: keys of chunks {} to {} of {} do not fit a buffer of {} values",
              directory_.string(), begin, end, num_chunks_, keys.size());
  if (num_rows_ == num_chunks_) return copy_row_keys(begin, end, keys);
  const auto width = static_cast<size_t>(key_width_);
  for (int64_t id = begin; id < end; ++id) {
    const auto key = keys.subspan(static_cast<size_t>(id - begin) * width, width);
    const int64_t row = row_of(id);
    if (row >= 0) copy_row_keys(row, row + 1, key);
    if (row < 0) std::ranges::fill(key, 0.0F);
  }
}

void RetrievalDatabase::copy_row_keys(int64_t begin, int64_t end, std::span<float> keys) const {
  assert(begin >= 0 && end <= num_rows_);
  while (begin < end) {
    const Shard& shard = shard_of_row(begin);
    const int64_t offset = begin - shard.first_row;
    const int64_t count = std::min(end - begin, static_cast<int64_t>(shard.keys.rows()) - offset);
    const auto num_values = static_cast<size_t>(count * key_width_);
    read_keys(shard.keys, offset, key_width_, keys.first(num_values));
    count_read(count * static_cast<int64_t>(shard.keys.payload().size() / shard.keys.rows()));
    keys = keys.subspan(num_values);
    begin += count;
  }
}

}  // namespace retro
