// Documents on their way into a corpus: read one by one, worked on in parallel, passed on in order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "retro/text/corpus_reader.h"
#include "retro/text/minhash.h"
#include "retro/text/token_corpus.h"

namespace retro {

/// A document and what the threads find out about it.
struct BatchDocument {
  DocumentInfo info;
  std::string text;
  EncodedText encoded;
  std::vector<NearDuplicateIndex::Match> matches;  ///< held-out documents it resembles
};

/// Encodes and checks that the text comes back byte by byte. Throws Error naming source and
/// document.
void encode_document(const Tokenizer& tokenizer, BatchDocument& document);

/// Collects documents until they are worth the threads, then calls `work` for each on up to
/// `num_threads` threads and `sink` for each in the order they came. So the result does not depend
/// on the number of threads.
class DocumentPipeline {
 public:
  using Work = std::function<void(BatchDocument&)>;
  DocumentPipeline(int num_threads, Work work, Work sink);
  void add(BatchDocument document);
  /// To be called after the last document.
  void flush();

 private:
  int num_threads_;
  Work work_;
  Work sink_;
  std::vector<BatchDocument> batch_;
  size_t batch_bytes_ = 0;
};

}  // namespace retro
