#include "retro/data/training_dataset.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <ATen/ops/cat.h>

#include "retro/core/error.h"
#include "retro/data/retro_dataset.h"

namespace retro {

namespace {

/// The neighbours of one sequence: the table's, with the curriculum's replacements.
class DrawnNeighbours final : public NeighbourSource {
 public:
  DrawnNeighbours(const TrainingSources& sources, const SequenceDraw& draw, int64_t jitter,
                  int64_t sequence, RandomStream random)
      : sources_(sources), draw_(draw), jitter_(jitter), sequence_(sequence), random_(random) {}

  /// Ranks from `draw.k` on are missing: other sequences of the batch may have more.
  void copy_values(int64_t row, int64_t k, std::span<int32_t> values_KR) const override {
    std::fill(values_KR.begin(), values_KR.end(), static_cast<int32_t>(kMissing));
    const int64_t own_k = std::min(k, draw_.k);
    const auto r = static_cast<size_t>(2 * sources_.grid->chunk_length());
    const auto own_KR = values_KR.first(static_cast<size_t>(own_k) * r);
    if (own_k == 0 || draw_.kind == NeighbourKind::kNone) return;
    if (draw_.kind == NeighbourKind::kRandom) {
      sources_.random_neighbours->copy_values_anew(row, sequence_, own_k, own_KR);
      return;
    }
    sources_.neighbours->copy_values(row, own_k, own_KR);
    if (draw_.kind == NeighbourKind::kSelf) {
      copy_own_value(*sources_.grid, row, offset(row), own_KR.first(r));
    }
  }
  std::string name() const override { return "training"; }

 private:
  /// Uniform in [-jitter, jitter], one for each chunk.
  int64_t offset(int64_t row) const {
    RandomStream random(random_.state().key, "jitter", static_cast<uint64_t>(row));
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(2 * jitter_ + 1))) - jitter_;
  }

  const TrainingSources& sources_;
  SequenceDraw draw_;
  int64_t jitter_;
  int64_t sequence_;
  RandomStream random_;
};

/// The batch's tensors in the order of `Batch`; neighbours last.
template <class Function>
void for_each_tensor(Batch& batch, Function&& function) {
  for (at::Tensor* tensor : {&batch.tokens_BN, &batch.real_BN, &batch.targets_BN,
                             &batch.target_is_real_BN, &batch.target_bytes_BN, &batch.target_row_BN,
                             &batch.document_BN, &batch.chunk_row_BL, &batch.neighbours_BLKR}) {
    function(*tensor);
  }
}

/// Sequences one under the other; all have the same K.
Batch concatenate(std::vector<Batch> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  std::vector<std::vector<at::Tensor>> columns;
  Batch whole;
  for (Batch& part : parts) {
    size_t column = 0;
    for_each_tensor(part, [&](const at::Tensor& tensor) {
      if (columns.size() <= column) columns.emplace_back();
      columns[column++].push_back(tensor);
    });
    whole.num_targets += part.num_targets;
  }
  size_t column = 0;
  for_each_tensor(whole, [&](at::Tensor& tensor) {
    const auto& pieces = columns[column++];
    if (pieces.front().defined()) tensor = at::cat(pieces);
  });
  return whole;
}

}  // namespace

TrainingDataset::TrainingDataset(const TrainingSources& sources, TrainingDataConfig config)
    : sources_(sources),
      config_(std::move(config)),
      mixture_(*sources.grid, config_.sources, config_.seed),
      first_sequence_{0} {
  RETRO_CHECK(config_.batch_size > 0, "train.batch_size must be at least 1, found {}",
              config_.batch_size);
  const UselessNeighboursConfig& useless = config_.curriculum.useless_neighbours;
  const bool needs_random = useless.rate > 0 && useless.random_share > 0;
  RETRO_CHECK(
      sources_.neighbours == nullptr || !needs_random || sources_.random_neighbours != nullptr,
      "train.useless_neighbours.random_share is {}, but no random neighbours are given",
      useless.random_share);
}

std::vector<int64_t> TrainingDataset::document_order(int64_t epoch) const {
  if (config_.repeat_packing) epoch = 0;
  std::vector<int64_t> order = mixture_.documents(epoch);
  RandomStream random(config_.seed, "document_order", static_cast<uint64_t>(epoch));
  shuffle(order, random);
  return order;
}

std::shared_ptr<const TrainingDataset::Epoch> TrainingDataset::epoch(int64_t number) const {
  for (const auto& known : recent_) {
    if (known->number == number) return known;
  }
  PackedStream stream(*sources_.grid, document_order(number));
  std::vector<int64_t> sequences(
      static_cast<size_t>(stream.num_sequences(config_.chunks_per_sequence)));
  std::iota(sequences.begin(), sequences.end(), 0);
  RandomStream random(config_.seed, "sequence_order", static_cast<uint64_t>(number));
  shuffle(sequences, random);
  recent_.push_back(
      std::make_shared<const Epoch>(Epoch{number, std::move(stream), std::move(sequences)}));
  constexpr size_t kKept = 2;
  if (recent_.size() > kKept) recent_.erase(recent_.begin());
  return recent_.back();
}

int64_t TrainingDataset::first_sequence(int64_t number) const {
  while (static_cast<int64_t>(first_sequence_.size()) <= number) {
    const auto last = static_cast<int64_t>(first_sequence_.size()) - 1;
    const auto count = static_cast<int64_t>(epoch(last)->sequences.size());
    first_sequence_.push_back(first_sequence_.back() + count);
  }
  return first_sequence_[static_cast<size_t>(number)];
}

TrainingDataset::Place TrainingDataset::place(int64_t sequence) const {
  const std::lock_guard lock(mutex_);
  while (first_sequence_.back() <= sequence) {
    first_sequence(static_cast<int64_t>(first_sequence_.size()));
  }
  const auto after = std::upper_bound(first_sequence_.begin(), first_sequence_.end(), sequence);
  const auto number = static_cast<int64_t>(after - first_sequence_.begin()) - 1;
  return {epoch(number), sequence - first_sequence(number)};
}

int64_t TrainingDataset::num_sequences(int64_t epochs) const {
  const std::lock_guard lock(mutex_);
  return first_sequence(epochs);
}

namespace {

RandomStream curriculum_stream(uint64_t seed, int64_t sequence) {
  return {seed, "curriculum", static_cast<uint64_t>(sequence)};
}

}  // namespace

SequenceDraw TrainingDataset::draw(int64_t micro_step, int64_t sequence) const {
  if (sources_.neighbours == nullptr) return {NeighbourKind::kNone, 0};
  RandomStream random = curriculum_stream(config_.seed, sequence);
  return draw_sequence(config_.curriculum, micro_step < config_.leaky_micro_steps, random);
}

Batch TrainingDataset::batch(int64_t micro_step, int64_t end_sequence) const {
  const int64_t begin = micro_step * config_.batch_size;
  int64_t end = begin + config_.batch_size;
  if (end_sequence >= 0) end = std::min(end, end_sequence);
  RETRO_CHECK(begin < end, "micro-step {} lies after the last sequence {}", micro_step,
              end_sequence);
  int64_t k = 0;
  for (int64_t s = begin; s < end; ++s) k = std::max(k, draw(micro_step, s).k);
  std::vector<Batch> parts;
  for (int64_t s = begin; s < end; ++s) {
    const DrawnNeighbours neighbours(sources_, draw(micro_step, s),
                                     config_.curriculum.self_neighbour.jitter, s,
                                     curriculum_stream(config_.seed, s));
    const Place where = place(s);
    const int64_t slot =
        where.epoch->sequences[static_cast<size_t>(where.index)] * config_.chunks_per_sequence;
    const BatchRequest request{{&slot, 1}, config_.chunks_per_sequence, k, &neighbours};
    parts.push_back(make_batch(where.epoch->stream, sources_.end_of_document, request));
  }
  return concatenate(std::move(parts));
}

}  // namespace retro
