#include <string>
#include <unordered_map>

#include <sentencepiece_trainer.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/text/sentencepiece_tokenizer.h"

#include "sentence_sample.h"

namespace retro {
namespace {

/// Sums over sentences are split by thread, so another number of threads would round to another
/// model.
constexpr int kTrainerThreads = 4;
/// unknown, two controls, the newline and 256 bytes.
constexpr int64_t kReservedPieces = 260;
constexpr int64_t kFewestTrainingBytes = 10'000;

class SentenceList final : public sentencepiece::SentenceIterator {
 public:
  explicit SentenceList(std::vector<std::string> sentences) : sentences_(std::move(sentences)) {}
  bool done() const override { return position_ == sentences_.size(); }
  void Next() override { ++position_; }
  const std::string& value() const override { return sentences_[position_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> sentences_;
  size_t position_ = 0;
};

/// Lossless settings: every character is in a piece or spelt by
/// bytes.
std::unordered_map<std::string, std::string> trainer_arguments(const TokenizerConfig& config) {
  return {{"model_type", config.type},
          {"vocab_size", std::to_string(config.vocabulary)},
          {"normalization_rule_name", "identity"},
          {"add_dummy_prefix", "false"},
          {"remove_extra_whitespaces", "false"},
          {"byte_fallback", "true"},
          {"user_defined_symbols", "\n"},
          {"allow_whitespace_only_pieces", "true"},  // indentation
          {"split_digits", "true"},
          {"max_sentence_length", "1000000"},
          {"num_threads", std::to_string(kTrainerThreads)},
          {"minloglevel", "3"}};
}

/// The number after `mark` in a message of the trainer, or -1.
int64_t number_after(const std::string& message, std::string_view mark) {
  const size_t found = message.find(mark);
  if (found == message.npos) return -1;
  const size_t begin = message.find_first_of("0123456789", found + mark.size());
  return begin == message.npos ? -1 : std::stoll(message.substr(begin, 18));
}

[[noreturn]] void fail(const std::string& message, const TokenizerConfig& config) {
  const int64_t largest = number_after(message, "set it to a value <=");
  RETRO_CHECK(largest < 0,
              "tokenizer.vocabulary {} is too large for this text; the largest possible is {}",
              config.vocabulary, largest);
  const int64_t smallest = number_after(message, " vs");
  RETRO_CHECK(smallest < 0 || message.find("smaller than required_chars") == message.npos,
              "tokenizer.vocabulary {} is too small for this text; its characters and the 256 "
              "bytes need {}",
              config.vocabulary, smallest);
  throw Error(fmt::format("cannot train a tokenizer: {}", message));
}

void check(const TokenizerConfig& config) {
  RETRO_CHECK(config.type == "unigram" || config.type == "bpe",
              "tokenizer.type '{}': expected unigram or bpe", config.type);
  RETRO_CHECK(config.vocabulary > kReservedPieces && config.vocabulary < (int64_t{1} << 31),
              "tokenizer.vocabulary {}: expected more than {} (bytes and reserved pieces)",
              config.vocabulary, kReservedPieces);
  RETRO_CHECK(config.training_bytes >= kFewestTrainingBytes,
              "tokenizer.training_bytes {}: expected at least {}", config.training_bytes,
              kFewestTrainingBytes);
}

}  // namespace

void TokenizerConfig::visit_fields(FieldVisitor& visit) {
  visit("path", path, "an existing SentencePiece model instead of training one");
  visit.choice("type", type, {"unigram", "bpe"}, "kind of SentencePiece model to train");
  visit("vocabulary", vocabulary,
        "pieces of the trained model, 256 bytes and 4 reserved ones among them");
  visit("training_bytes", training_bytes, "size in bytes of the seeded sample of text to train on");
  visit("end_of_document", end_of_document,
        "piece that separates documents; empty: <|endoftext|> where present, else the end of "
        "sentence");
}

void train_sentencepiece(const TextSource& texts, const TokenizerConfig& config, uint64_t seed,
                         int /*num_threads*/, const std::filesystem::path& path) {
  check(config);
  SentenceSample sample(config.training_bytes, seed);
  texts([&sample](std::string_view text) { sample.add(text); });
  RETRO_CHECK(sample.size_bytes() > 0, "there is no text to train a tokenizer on");
  auto arguments = trainer_arguments(config);
  // The trainer's suffix array counts characters in 32 bits unless told otherwise.
  if (sample.size_bytes() > 1'000'000'000) arguments["train_extremely_large_corpus"] = "true";
  SentenceList sentences(sample.take());
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &sentences, &model);
  if (!status.ok()) fail(status.ToString(), config);
  write_file(path, model);
}

}  // namespace retro
