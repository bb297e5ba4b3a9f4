#include "document_adder.h"

#include <utility>

#include "retro/core/error.h"
#include "retro/text/chunker.h"

namespace retro {
namespace {

/// Enough to sort by length and keep an encoder busy.
constexpr int64_t kBatchChunks = 512;

DatabaseDocument document_of(const RawDocument& raw, const std::string& source,
                             std::string fields) {
  DatabaseDocument document;
  document.id = raw.id;
  document.group = raw.group.empty() ? source + "/" + raw.id : raw.group;
  document.source = source;
  document.title = raw.title;
  document.fields = std::move(fields);
  document.num_bytes = static_cast<int64_t>(raw.text.size());
  return document;
}

}  // namespace

DocumentAdder::DocumentAdder(const Tokenizer& tokenizer, ChunkEmbedder& embedder,
                             int64_t chunk_length, int64_t next_chunk, ShardWriter& shard)
    : tokenizer_(tokenizer),
      embedder_(embedder),
      chunk_length_(chunk_length),
      next_chunk_(next_chunk),
      shard_(shard) {}

void DocumentAdder::add(const RawDocument& raw, const std::string& source, std::string fields) {
  const EncodedText encoded = tokenizer_.encode(raw.text);
  RETRO_CHECK(tokenizer_.decode(encoded.ids) == raw.text,
              "document {}: the tokenizer does not give its text back", raw.id);
  Pending pending{document_of(raw, source, std::move(fields)),
                  {encoded.ids.begin(), encoded.ids.end()}};
  DatabaseDocument& document = pending.document;
  document.num_tokens = static_cast<int64_t>(encoded.ids.size());
  document.num_chunks = num_chunks(document.num_tokens, chunk_length_);
  document.first_chunk = next_chunk_;
  next_chunk_ += document.num_chunks;
  pending_chunks_ += document.num_chunks;
  pending_.push_back(std::move(pending));
  if (pending_chunks_ >= kBatchChunks) flush();
}

void DocumentAdder::append_texts(const Pending& pending, std::vector<std::string>& texts) const {
  const std::span<const uint32_t> tokens(pending.tokens);
  for (int64_t chunk = 0; chunk < pending.document.num_chunks; ++chunk) {
    const ChunkSpan span = chunk_span(pending.document.num_tokens, chunk_length_, chunk);
    texts.push_back(chunk_text(tokenizer_, tokens.subspan(static_cast<size_t>(span.first_token),
                                                          static_cast<size_t>(span.length))));
  }
}

void DocumentAdder::flush() {
  std::vector<std::string> texts;
  for (const Pending& pending : pending_) append_texts(pending, texts);
  const auto width = static_cast<size_t>(embedder_.key_width());
  std::vector<float> keys(texts.size() * width);
  std::vector<uint8_t> has_key(texts.size());
  embedder_.embed(texts, keys, has_key);
  size_t first = 0;
  for (const Pending& pending : pending_) {
    const auto count = static_cast<size_t>(pending.document.num_chunks);
    shard_.add(pending.document,
               {pending.tokens, std::span(keys).subspan(first * width, count * width),
                std::span(has_key).subspan(first, count)});
    first += count;
  }
  pending_.clear();
  pending_chunks_ = 0;
}

void DocumentAdder::finish() {
  if (!pending_.empty()) flush();
}

}  // namespace retro
