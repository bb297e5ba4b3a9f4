#include "retro/train/train_config.h"

#include "retro/core/error.h"
#include "retro/core/flat_fields.h"

namespace retro {

void TrainConfig::visit_fields(FieldVisitor& visit) {
  visit("steps", steps, "optimizer steps (0: train.epochs decides)");
  visit("epochs", epochs, "passes over the training text (0: train.steps decides)");
  visit("sequence_length", sequence_length, "tokens of a sequence, a multiple of the chunk length");
  visit("batch_size", batch_size, "sequences of a micro-batch");
  visit("accumulation", accumulation, "micro-batches of an optimizer step");
  visit("neighbours", neighbours, "neighbours per chunk, drawn for each sequence from this list");
  visit("self_neighbour", self_neighbour, "leaky first phase");
  visit("useless_neighbours", useless_neighbours, "random or missing neighbours");
  visit("sources", sources, "weight of each source of text (empty: all, by tokens)");
  visit("learning_rate", learning_rate, "highest learning rate");
  visit("warmup_steps", warmup_steps, "optimizer steps of linear rise from 1e-7");
  visit("final_learning_rate_ratio", final_learning_rate_ratio,
        "end of the cosine, relative to learning_rate");
  visit("beta1", beta1, "AdamW: decay of the gradient's mean");
  visit("beta2", beta2, "AdamW: decay of the squared gradient's mean");
  visit("weight_decay", weight_decay, "AdamW: of matrices; gains and attention biases have none");
  visit("clip", clip, "largest gradient norm of an optimizer step (0: none)");
  visit("validation_every", validation_every,
        "optimizer steps between validations (0: none); every checkpoint is validated too");
  visit("validation_sequences", validation_sequences,
        "sequences of a validation, evenly spread over the validation text");
  visit("checkpoint_every", checkpoint_every,
        "optimizer steps between checkpoints (0: only at the end)");
  visit("keep_last", keep_last, "newest checkpoints kept beside the best by validation");
  visit("log_every", log_every, "optimizer steps between lines of metrics.jsonl");
  visit("seed", seed, "of weights, order and curriculum");
  visit.choice("recompute", recompute, {"none", "block"},
               "none keeps every activation for backward; block keeps what enters each attention "
               "and feed-forward and forms the rest again: less memory, same result, slower");
  visit.choice("precision", precision, {"auto", "float32", "bfloat16"},
               "of matrix products (auto: bfloat16 where the processor has it)");
  visit("threads", threads, "threads of matrix products (0: as the process has them)");
  visit.choice("thread_share", thread_share, {"auto", "sequences", "products"},
               "what threads divide among them: sequences of a micro-batch, where it has one for "
               "each (faster, every thread holds all gradients), or each product; auto: sequences "
               "while those gradients stay below 1 GB, and never with dropout");
  visit("data_threads", data_threads, "threads that prepare batches (0: none, on demand)");
}

namespace {

void check_at_least(const char* key, int64_t value, int64_t least) {
  RETRO_CHECK(value >= least, "train.{} must be at least {}, found {}", key, least, value);
}

void check_range(const char* key, double value, double low, double high) {
  RETRO_CHECK(value >= low && value <= high, "train.{} must lie between {} and {}, found {}", key,
              low, high, value);
}

void check_duration(const TrainConfig& config) {
  check_at_least("steps", config.steps, 0);
  check_at_least("epochs", config.epochs, 0);
  RETRO_CHECK(config.steps > 0 || config.epochs > 0,
              "train.steps is 0: say how long to train with train.steps or train.epochs");
  RETRO_CHECK(config.steps == 0 || config.epochs == 0,
              "train.steps is {} and train.epochs is {}: only one of them can decide the end",
              config.steps, config.epochs);
}

void check_shape(const TrainConfig& config, int64_t chunk_length) {
  check_at_least("sequence_length", config.sequence_length, 1);
  RETRO_CHECK(config.sequence_length % chunk_length == 0,
              "train.sequence_length is {}, which is not a multiple of model.chunk_length {}; the "
              "next one is {}",
              config.sequence_length, chunk_length,
              (config.sequence_length / chunk_length + 1) * chunk_length);
  check_at_least("batch_size", config.batch_size, 1);
  check_at_least("accumulation", config.accumulation, 1);
}

void check_optimizer(const TrainConfig& config) {
  RETRO_CHECK(config.learning_rate > 0, "train.learning_rate must be above 0, found {}",
              config.learning_rate);
  check_at_least("warmup_steps", config.warmup_steps, 0);
  RETRO_CHECK(
      config.steps == 0 || config.warmup_steps < config.steps,
      "train.warmup_steps is {}, but train.steps is {}: the learning rate would never reach "
      "its peak; take fewer warm-up steps",
      config.warmup_steps, config.steps);
  check_range("final_learning_rate_ratio", config.final_learning_rate_ratio, 0.0, 1.0);
  check_range("beta1", config.beta1, 0.0, 0.999999);
  check_range("beta2", config.beta2, 0.0, 0.999999);
  check_range("weight_decay", config.weight_decay, 0.0, 1e6);
  check_range("clip", config.clip, 0.0, 1e30);
}

void check_curriculum(const TrainConfig& config, int64_t chunk_length) {
  RETRO_CHECK(!config.neighbours.empty(), "train.neighbours is empty: name at least one k");
  for (const int64_t k : config.neighbours) check_at_least("neighbours", k, 0);
  const SelfNeighbourConfig& self = config.self_neighbour;
  check_range("self_neighbour.until", self.until, 0.0, 1.0);
  check_range("self_neighbour.rate", self.rate, 0.0, 1.0);
  check_at_least("self_neighbour.jitter", self.jitter, 0);
  RETRO_CHECK(self.jitter <= chunk_length,
              "train.self_neighbour.jitter is {}: more than a chunk of {} tokens", self.jitter,
              chunk_length);
  RETRO_CHECK(
      (self.until > 0) == (self.rate > 0),
      "train.self_neighbour.until is {} and train.self_neighbour.rate is {}: the leaky phase "
      "needs both, or neither",
      self.until, self.rate);
  RETRO_CHECK(self.jitter == 0 || self.rate > 0,
              "train.self_neighbour.jitter is {}, but train.self_neighbour.rate is 0", self.jitter);
  check_range("useless_neighbours.rate", config.useless_neighbours.rate, 0.0, 1.0);
  check_range("useless_neighbours.random_share", config.useless_neighbours.random_share, 0.0, 1.0);
}

void check_bookkeeping(const TrainConfig& config) {
  check_at_least("validation_every", config.validation_every, 0);
  check_at_least("validation_sequences", config.validation_sequences, 1);
  check_at_least("checkpoint_every", config.checkpoint_every, 0);
  check_at_least("keep_last", config.keep_last, 1);
  check_at_least("log_every", config.log_every, 1);
  check_at_least("seed", config.seed, 0);
  check_at_least("threads", config.threads, 0);
  check_at_least("data_threads", config.data_threads, 0);
}

}  // namespace

void TrainConfig::check(int64_t chunk_length) const {
  check_duration(*this);
  check_shape(*this, chunk_length);
  check_optimizer(*this);
  check_curriculum(*this, chunk_length);
  check_bookkeeping(*this);
}

const std::set<std::string>& harmless_keys() {
  static const std::set<std::string> kHarmless = {"validation_every", "validation_sequences",
                                                  "checkpoint_every", "keep_last",
                                                  "log_every",        "precision",
                                                  "recompute",        "threads",
                                                  "thread_share",     "data_threads"};
  return kHarmless;
}

std::vector<std::string> changed_keys(const TrainConfig& before, const TrainConfig& now) {
  std::vector<std::string> keys;
  for (const std::string& key : differing_keys(flat_fields(before), flat_fields(now))) {
    if (!harmless_keys().contains(key)) keys.push_back(key);
  }
  return keys;
}

std::string decisive_text(const TrainConfig& config) {
  FlatFields decisive = flat_fields(config), defaults = flat_fields(TrainConfig{});
  for (const std::string& key : harmless_keys()) {
    decisive.erase(key);
    defaults.erase(key);
  }
  return text_of_changes(decisive, defaults);
}

}  // namespace retro
