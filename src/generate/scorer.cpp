#include "retro/generate/scorer.h"

#include <algorithm>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include "retro/core/error.h"

namespace retro {

namespace {

constexpr int64_t kTileRows = 128;  // logits of so many positions exist at once

/// The text as a stream: lead chunk, the tokens, fill up to whole sequences.
class TextStream {
 public:
  TextStream(const GeneratorOptions& options, int64_t chunk_length, std::span<const int32_t> tokens)
      : options_(options),
        m_(chunk_length),
        n_(options.window_length),
        num_tokens_(static_cast<int64_t>(tokens.size())) {
    ids_.assign(static_cast<size_t>(m_), options.tokenizer->end_of_document());
    ids_.insert(ids_.end(), tokens.begin(), tokens.end());
    ids_.resize(static_cast<size_t>(num_sequences() * n_), options.tokenizer->end_of_document());
  }

  int64_t num_sequences() const { return (m_ + num_tokens_ + n_ - 1) / n_; }

  /// Neighbours of every whole chunk of the document, in one call.
  std::vector<std::vector<FetchedNeighbour>> fetch() const {
    std::vector<std::vector<int32_t>> chunks;
    for (int64_t begin = m_; begin + m_ <= m_ + num_tokens_; begin += m_) {
      chunks.emplace_back(ids_.begin() + begin, ids_.begin() + begin + m_);
    }
    if (options_.fetcher == nullptr || options_.neighbours == 0 || chunks.empty()) return {};
    return options_.fetcher->fetch(chunks, options_.neighbours);
  }

  ModelInput input(int64_t sequence,
                   const std::vector<std::vector<FetchedNeighbour>>& neighbours) const {
    ModelInput input;
    const int64_t begin = sequence * n_;
    input.tokens_BN =
        at::tensor(at::ArrayRef<int32_t>(ids_.data() + begin, static_cast<size_t>(n_)), at::kInt)
            .to(at::kLong)
            .unsqueeze(0);
    const at::Tensor position = at::arange(begin, begin + n_, at::kLong);
    input.real_BN = position.ge(m_ - 1).logical_and(position.lt(m_ + num_tokens_)).unsqueeze(0);
    // The lead chunk is of no document.
    input.document_BN = position.ge(m_).to(at::kLong).sub(1).unsqueeze(0);
    if (!neighbours.empty()) input.neighbours_BLKR = values(begin / m_, neighbours);
    return input;
  }

  /// Targets of a sequence's positions: ids, and how many of the first positions have none.
  struct Targets {
    at::Tensor ids_T;
    int64_t first = 0;
  };
  Targets targets(int64_t sequence) const {
    const int64_t begin = std::max(sequence * n_, m_ - 1);
    const int64_t end = std::min((sequence + 1) * n_, m_ + num_tokens_ - 1);
    return {
        at::tensor(at::ArrayRef<int32_t>(ids_.data() + begin + 1,
                                         static_cast<size_t>(std::max<int64_t>(end - begin, 0))),
                   at::kInt)
            .to(at::kLong),
        begin - sequence * n_};
  }

 private:
  /// Values of the sequence's chunks, [1, L, K, R]; chunk 0 of the stream is the lead chunk.
  at::Tensor values(int64_t first_chunk,
                    const std::vector<std::vector<FetchedNeighbour>>& neighbours) const {
    at::Tensor values_BLKR =
        at::full({1, n_ / m_, options_.neighbours, 2 * m_}, kMissing, at::kLong);
    for (int64_t c = 0; c < n_ / m_; ++c) {
      const int64_t chunk = first_chunk + c - 1;
      if (chunk < 0 || chunk >= static_cast<int64_t>(neighbours.size())) continue;
      const auto& found = neighbours[static_cast<size_t>(chunk)];
      for (size_t rank = 0; rank < found.size(); ++rank) {
        values_BLKR[0][c][static_cast<int64_t>(rank)].copy_(
            at::tensor(at::ArrayRef<int32_t>(found[rank].value_R), at::kInt));
      }
    }
    return values_BLKR;
  }

  const GeneratorOptions& options_;
  int64_t m_;
  int64_t n_;
  int64_t num_tokens_;
  std::vector<int32_t> ids_;
};

struct TokenScores {
  std::vector<double> nats;
  std::vector<uint8_t> is_first_choice;
};

/// -log softmax(hidden W^T)[target] of the positions that have one, tile by tile.
void append_scores(RetroModel& model, const at::Tensor& hidden_ND,
                   const TextStream::Targets& targets, TokenScores& scores) {
  for (int64_t begin = 0; begin < targets.ids_T.numel(); begin += kTileRows) {
    const int64_t count = std::min(kTileRows, targets.ids_T.numel() - begin);
    const at::Tensor logits_TV =
        at::mm(hidden_ND.narrow(0, targets.first + begin, count).to(at::kFloat),
               model->output_weight().t());
    const at::Tensor ids_T1 =
        targets.ids_T.narrow(0, begin, count).unsqueeze(1).to(logits_TV.device());
    const at::Tensor losses = -at::log_softmax(logits_TV, 1)
                                   .gather(1, ids_T1)
                                   .squeeze(1)
                                   .to(at::kCPU, at::kDouble)
                                   .contiguous();
    scores.nats.insert(scores.nats.end(), losses.const_data_ptr<double>(),
                       losses.const_data_ptr<double>() + count);
    const at::Tensor first_T = logits_TV.amax(1).eq(logits_TV.gather(1, ids_T1).squeeze(1)).cpu();
    const bool* first = first_T.const_data_ptr<bool>();
    scores.is_first_choice.insert(scores.is_first_choice.end(), first, first + count);
  }
}

TokenScores score(RetroModel& model, const TextStream& stream,
                  const std::vector<std::vector<FetchedNeighbour>>& neighbours) {
  TokenScores scores;
  for (int64_t sequence = 0; sequence < stream.num_sequences(); ++sequence) {
    const auto targets = stream.targets(sequence);
    if (targets.ids_T.numel() == 0) continue;
    append_scores(model, model->hidden(stream.input(sequence, neighbours))[0], targets, scores);
  }
  return scores;
}

}  // namespace

ScoredText score_text(RetroModel& model, const GeneratorOptions& options,
                      std::span<const int32_t> tokens) {
  const int64_t m = model->config().chunk_length;
  RETRO_CHECK(options.tokenizer != nullptr, "scoring: a tokenizer is needed");
  RETRO_CHECK(options.window_length > 0 && options.window_length % m == 0,
              "sample.sequence_length is {}: it must be a multiple of the chunk length {}",
              options.window_length, m);
  const c10::InferenceMode inference;
  model->eval();
  const TextStream stream(options, m, tokens);
  const auto neighbours = stream.fetch();
  ScoredText scored;
  scored.tokens.assign(tokens.begin(), tokens.end());
  const TokenScores off = score(model, stream, {});
  scored.nats_off = off.nats;
  scored.is_first_choice_off = off.is_first_choice;
  if (options.fetcher != nullptr) {
    const TokenScores on = neighbours.empty() ? off : score(model, stream, neighbours);
    scored.nats_on = on.nats;
    scored.is_first_choice_on = on.is_first_choice;
  }
  for (int64_t begin = 0; begin < static_cast<int64_t>(tokens.size()); begin += m) {
    const int64_t chunk = begin / m;
    const auto length =
        std::min(static_cast<size_t>(m), tokens.size() - static_cast<size_t>(begin));
    const bool has_read = chunk > 0 && chunk <= static_cast<int64_t>(neighbours.size());
    scored.chunks.push_back(make_chunk_view(
        chunk, tokens.subspan(static_cast<size_t>(begin), length),
        has_read ? neighbours[static_cast<size_t>(chunk - 1)] : std::vector<FetchedNeighbour>{}));
  }
  return scored;
}

}  // namespace retro
