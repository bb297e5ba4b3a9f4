// The order in which a training run reads its text, and what neighbours it sees there (METHOD
// section 4).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "retro/data/batch.h"
#include "retro/data/curriculum.h"
#include "retro/data/neighbour_source.h"
#include "retro/data/packed_stream.h"
#include "retro/data/source_mixture.h"

namespace retro {

struct TrainingDataConfig {
  int64_t chunks_per_sequence = 4;        ///< l
  int64_t batch_size = 2;                 ///< sequences of a micro-batch
  int64_t leaky_micro_steps = 0;          ///< micro-steps of the leaky first phase
  std::map<std::string, double> sources;  ///< weight of each source; empty: every source, by tokens
  CurriculumConfig curriculum;
  uint64_t seed = 0;
  bool repeat_packing = false;  ///< every epoch has the first one's sequences, in another order
};

/// Where the text and the neighbours come from; everything outlives the data set. `neighbours`
/// null: retrieval off (a baseline). `random_neighbours` may be null unless the curriculum asks for
/// them.
struct TrainingSources {
  const ChunkGrid* grid = nullptr;
  int32_t end_of_document = 0;
  const NeighbourSource* neighbours = nullptr;
  const NeighbourSource* random_neighbours = nullptr;
};

/// Each epoch: documents of the sources by weight, shuffled by (seed, epoch), packed, sequences
/// shuffled. Batch number i is a pure function of (seed, i): a position is saved as one number.
/// Thread-safe. Memory: 16 bytes a document and 8 a sequence for each of at most two epochs.
class TrainingDataset {
 public:
  /// Throws Error naming the key: no text, an unknown source, no source of random neighbours.
  TrainingDataset(const TrainingSources& sources, TrainingDataConfig config);

  /// Micro-batch `micro_step`: batch_size sequences, those of one epoch followed by those of the
  /// next. With `end_sequence` >= 0 the data end there: the last batch may be smaller.
  Batch batch(int64_t micro_step, int64_t end_sequence = -1) const;
  /// Sequences of the first `epochs` epochs in all.
  int64_t num_sequences(int64_t epochs) const;
  /// What sequence number `sequence` of micro-step `micro_step` reads (for tests and reports).
  SequenceDraw draw(int64_t micro_step, int64_t sequence) const;

 private:
  struct Epoch {
    int64_t number = 0;
    PackedStream stream;
    std::vector<int64_t> sequences;  ///< shuffled
  };
  struct Place {
    std::shared_ptr<const Epoch> epoch;
    int64_t index = 0;
  };
  std::shared_ptr<const Epoch> epoch(int64_t number) const;
  std::vector<int64_t> document_order(int64_t epoch) const;
  int64_t first_sequence(int64_t epoch) const;
  Place place(int64_t sequence) const;

  TrainingSources sources_;
  TrainingDataConfig config_;
  SourceMixture mixture_;
  mutable std::mutex mutex_;
  mutable std::vector<int64_t> first_sequence_;  ///< of each epoch, as far as known
  mutable std::vector<std::shared_ptr<const Epoch>> recent_;
};

}  // namespace retro
