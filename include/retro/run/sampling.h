// Sampling from a run: the trained model with its own database.
#pragma once

#include <memory>
#include <string>

#include "retro/generate/generator.h"
#include "retro/run/run_config.h"

namespace retro {

/// Owns model, tokenizer, database, index and encoder of a run.
class RunSampler {
 public:
  explicit RunSampler(const RunConfig& config);
  ~RunSampler();
  /// Continues config.sample.prompt.
  Generation sample(const SampleConfig& sample, const GenerationEvents& events = {});
  const Tokenizer& tokenizer() const;
  RetroModel& model();
  /// What scoring and generation need, by `sample`: retrieval or not, k.
  GeneratorOptions options(const SampleConfig& sample) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Prints a chunk's neighbours; tokens of common runs of at least `shortest_run` are coloured on a
/// terminal.
std::string format_chunk(const ChunkView& chunk, const Tokenizer& tokenizer, bool is_coloured);

/// The generation with its chunks and neighbours, for sample.json and `--json`.
std::string generation_json(const SampleConfig& sample, const Generation& generation,
                            const Tokenizer& tokenizer);

}  // namespace retro
