// Questions as batches, and greedy answers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "retro/data/batch.h"
#include "retro/eval/question_answering.h"
#include "retro/model/retro_model.h"

namespace retro {

/// Batch of 2m positions: the targets are the answers' tokens and their end-of-document tokens, the
/// first predicted by the last position of chunk 0 (which reads the passages). Without passages
/// (K = 0, or `with_passages` false) retrieval is off.
Batch qa_batch(std::span<const QaLayout> layouts, int64_t chunk_length, bool with_passages);

/// Greedy continuation of each prompt to the end-of-document token, at most `max_tokens` (and m)
/// tokens. Layouts without an answer.
std::vector<std::vector<int32_t>> greedy_answers(RetroModel& model,
                                                 std::span<const QaLayout> prompts,
                                                 int32_t end_of_document, int64_t max_tokens,
                                                 bool with_passages);

}  // namespace retro
