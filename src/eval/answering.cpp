#include "retro/eval/answering.h"

#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include "retro/core/error.h"
#include "retro/ops/linear.h"

namespace retro {

namespace {

/// Both chunks read the same passages.
at::Tensor passages_BLKR(std::span<const QaLayout> layouts, int64_t retrieved_length) {
  const auto B = static_cast<int64_t>(layouts.size());
  const int64_t K = static_cast<int64_t>(layouts[0].passages_KR.size()) / retrieved_length;
  at::Tensor values = at::full({B, 2, K, retrieved_length}, -1, at::kLong);
  auto* out = values.mutable_data_ptr<int64_t>();
  for (const QaLayout& layout : layouts) {
    for (int chunk = 0; chunk < 2; ++chunk)
      out = std::copy(layout.passages_KR.begin(), layout.passages_KR.end(), out);
  }
  return values;
}

}  // namespace

Batch qa_batch(std::span<const QaLayout> layouts, int64_t chunk_length, bool with_passages) {
  RETRO_CHECK(!layouts.empty(), "question answering: an empty batch");
  const auto B = static_cast<int64_t>(layouts.size());
  const int64_t N = 2 * chunk_length;
  Batch batch;
  batch.tokens_BN = at::zeros({B, N}, at::kLong);
  batch.real_BN = at::zeros({B, N}, at::kBool);
  batch.targets_BN = at::zeros({B, N}, at::kLong);
  batch.target_is_real_BN = at::zeros({B, N}, at::kBool);
  batch.document_BN = at::zeros({B, N}, at::kLong);
  for (int64_t b = 0; b < B; ++b) {
    const QaLayout& layout = layouts[static_cast<size_t>(b)];
    std::copy(layout.tokens_N.begin(), layout.tokens_N.end(),
              batch.tokens_BN.mutable_data_ptr<int64_t>() + b * N);
    std::copy(layout.is_real_N.begin(), layout.is_real_N.end(),
              batch.real_BN.mutable_data_ptr<bool>() + b * N);
    const int64_t first = b * N + chunk_length - 1;
    std::copy_n(layout.tokens_N.begin() + chunk_length, layout.num_answer_tokens,
                batch.targets_BN.mutable_data_ptr<int64_t>() + first);
    std::fill_n(batch.target_is_real_BN.mutable_data_ptr<bool>() + first, layout.num_answer_tokens,
                true);
    batch.num_targets += layout.num_answer_tokens;
  }
  if (with_passages && !layouts[0].passages_KR.empty())
    batch.neighbours_BLKR = passages_BLKR(layouts, N);
  return batch;
}

std::vector<std::vector<int32_t>> greedy_answers(RetroModel& model,
                                                 std::span<const QaLayout> prompts,
                                                 int32_t end_of_document, int64_t max_tokens,
                                                 bool with_passages) {
  const c10::InferenceMode inference;
  model->eval();
  const int64_t m = model->config().chunk_length;
  const Batch batch = qa_batch(prompts, m, with_passages);
  std::vector<std::vector<int32_t>> answers(prompts.size());
  std::vector<uint8_t> has_ended(prompts.size(), 0);
  const int64_t length = std::min(max_tokens, m);
  for (int64_t t = 0; t < length; ++t) {
    const at::Tensor hidden_BND = model->hidden(
        {batch.tokens_BN, batch.real_BN, batch.neighbours_BLKR, batch.document_BN, {}});
    // Logits as the generator forms them: rounded to bfloat16, the likeliest would often be tied.
    const at::Tensor weight_VD = model->output_weight();
    const at::Tensor hidden_BD = hidden_BND.select(1, m - 1 + t).to(weight_VD.scalar_type());
    const at::Tensor choice_B =
        linear(hidden_BD, weight_VD, Precision::kFloat32).argmax(1).cpu().contiguous();
    const int64_t* choice = choice_B.const_data_ptr<int64_t>();
    for (size_t b = 0; b < prompts.size(); ++b) {
      has_ended[b] = has_ended[b] != 0 || choice[b] == end_of_document;
      if (has_ended[b] != 0) continue;
      answers[b].push_back(static_cast<int32_t>(choice[b]));
      if (t + 1 == length) continue;
      const int64_t place = static_cast<int64_t>(b) * 2 * m + m + t;
      batch.tokens_BN.mutable_data_ptr<int64_t>()[place] = choice[b];
      batch.real_BN.mutable_data_ptr<bool>()[place] = true;
    }
    if (std::find(has_ended.begin(), has_ended.end(), 0) == has_ended.end()) break;
  }
  return answers;
}

}  // namespace retro
