#include "document_batch.h"

#include <utility>

#include "retro/core/error.h"
#include "retro/core/parallel.h"

namespace retro {
namespace {

/// Enough to keep threads busy, little beside any machine's memory.
constexpr size_t kBatchBytes = size_t{8} << 20;

}  // namespace

void encode_document(const Tokenizer& tokenizer, BatchDocument& document) {
  document.encoded = tokenizer.encode(document.text);
  RETRO_CHECK(tokenizer.decode(document.encoded.ids) == document.text,
              "source '{}', document \"{}\": the tokenizer does not give its text back; bits per "
              "byte would be wrong",
              document.info.source, document.info.id);
}

DocumentPipeline::DocumentPipeline(int num_threads, Work work, Work sink)
    : num_threads_(num_threads), work_(std::move(work)), sink_(std::move(sink)) {}

void DocumentPipeline::add(BatchDocument document) {
  batch_bytes_ += document.text.size();
  batch_.push_back(std::move(document));
  if (batch_bytes_ >= kBatchBytes) flush();
}

void DocumentPipeline::flush() {
  const auto work_on = [this](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) work_(batch_[static_cast<size_t>(i)]);
  };
  // Blocks of one: documents differ in length by orders of magnitude.
  parallel_for(static_cast<int64_t>(batch_.size()), num_threads_, work_on, 1);
  for (BatchDocument& document : batch_) sink_(document);
  batch_.clear();
  batch_bytes_ = 0;
}

}  // namespace retro
