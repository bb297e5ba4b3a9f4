#include "retro/run/resource_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "retro/core/error.h"
#include "retro/core/progress.h"
#include "retro/embed/bert_embedder.h"
#include "retro/model/flops.h"
#include "retro/retrieval/index_plan.h"

namespace retro {

namespace {

constexpr double kFloat = 4.0;
constexpr double kId = 8.0;
constexpr double kForwardAndBackward = 3.0;
constexpr int64_t kPaperKeyWidth = 768;  // BERT base, where the config's encoder is not there

/// Tensors of stream width that one layer keeps for backward, in floats a token: around its norms,
/// projections and feed-forward. Attention keeps its operands and a row's log-sum-exp.
double kept_floats(double width, double inner, double feed_forward, bool has_cross_attention,
                   bool recomputes) {
  // What enters each part.
  if (recomputes) return (has_cross_attention ? 3 : 2) * width;
  const double attention = 2 * width + 4 * inner;
  const double cross_attention = has_cross_attention ? 2 * width + 2 * inner : 0;
  return attention + cross_attention + 2 * width + feed_forward;
}

int64_t most_neighbours(const TrainConfig& train) {
  const auto& counts = train.neighbours;
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

double activation_bytes(const ModelConfig& model, const TrainConfig& train) {
  const bool recomputes = train.recompute == "block";
  const double tokens = static_cast<double>(train.batch_size * train.sequence_length);
  const auto d = static_cast<double>(model.width);
  const auto inner = static_cast<double>(model.heads * model.head_width);
  const auto decoder_layer = [&](bool is_retro) {
    return kept_floats(d, inner, static_cast<double>(model.feed_forward), is_retro, recomputes);
  };
  const auto retro_layers = static_cast<double>(model.cca_layers.size());
  double floats =
      tokens * ((static_cast<double>(model.layers) - retro_layers) * decoder_layer(false) +
                retro_layers * decoder_layer(true));
  if (retro_layers > 0) {
    // r = 2m for each m tokens
    const double retrieved = 2.0 * tokens * static_cast<double>(most_neighbours(train));
    const auto& encoder = model.encoder;
    const auto e = static_cast<double>(encoder.width);
    floats += retrieved * static_cast<double>(encoder.layers) *
              kept_floats(e, static_cast<double>(encoder.heads * encoder.head_width),
                          static_cast<double>(encoder.feed_forward), true, recomputes);
    // Keys and values of each cross-attention.
    if (!recomputes) floats += retrieved * retro_layers * 2 * inner;
  }
  return kFloat * floats;
}

void set_key_width(const EmbedConfig& embed, ResourcePlan& plan) {
  try {
    plan.key_width = make_embedder(embed)->key_width();
  } catch (const Error&) {
    plan.key_width = kPaperKeyWidth;
    plan.is_key_width_known = false;
  }
}

/// In memory, of a weight that is not trained.
double frozen_weight_bytes(const FitConfig& fit) {
  if (fit.base_precision == "bfloat16") return 2;
  return fit.base_precision == "q8_0" ? 34.0 / 32 : kFloat;
}

/// A frozen base has neither gradients nor moments and is in no checkpoint.
void plan_weights(const RunConfig& config, ResourcePlan& plan) {
  const bool is_frozen = config.fit.is_enabled() && config.fit.is_frozen();
  plan.num_trained = plan.parameters.total() - (is_frozen ? plan.parameters.decoder : 0);
  const auto trained = static_cast<double>(plan.num_trained);
  const auto frozen = static_cast<double>(plan.parameters.total() - plan.num_trained);
  plan.weight_bytes = 4 * kFloat * trained + frozen_weight_bytes(config.fit) * frozen;
  plan.checkpoint_bytes = 3 * kFloat * trained;
}

void plan_database(const RunConfig& config, double tokens, ResourcePlan& plan) {
  plan.database_tokens = tokens;
  plan.database_chunks = std::ceil(tokens / static_cast<double>(config.database.chunk_length));
  set_key_width(config.embed, plan);
  plan.value_bytes = kFloat * tokens;
  plan.key_bytes =
      static_cast<double>(stored_key_bytes(config.database.key_storage, plan.key_width)) *
      plan.database_chunks;
  IndexedKeys keys;
  keys.num_indexed = std::max<int64_t>(1, static_cast<int64_t>(plan.database_chunks));
  keys.largest_shard = std::min(keys.num_indexed, config.database.shard_chunks);
  keys.num_shards =
      (keys.num_indexed + config.database.shard_chunks - 1) / config.database.shard_chunks;
  keys.key_width = plan.key_width;
  keys.key_storage = config.database.key_storage;
  const IndexPlan index = plan_index(config.index, keys, {});
  plan.index_type = index.type;
  plan.index_bytes = static_cast<double>(list_entry_bytes(index, keys)) * plan.database_chunks;
  plan.table_bytes =
      (kId + kFloat) * static_cast<double>(config.neighbours.count) * plan.database_chunks;
}

std::string amount(double value) {
  constexpr std::array<const char*, 5> kUnits = {"", " thousand", " million", " billion",
                                                 " trillion"};
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}{}", value, kUnits[unit]);
}

std::string size_text(double bytes) { return format_bytes(static_cast<uint64_t>(bytes)); }

}  // namespace

ResourcePlan plan_resources(const RunConfig& config, double database_tokens) {
  ModelConfig model = config.model;
  if (model.vocabulary == 0) model.vocabulary = config.tokenizer.vocabulary;
  model = model.resolved();
  const TrainConfig& train = config.train;
  ResourcePlan plan;
  plan.parameters = count_parameters(model);
  const auto sequences = static_cast<double>(train.steps * train.accumulation * train.batch_size);
  plan.train_tokens = sequences * static_cast<double>(train.sequence_length);
  plan.train_flops = kForwardAndBackward * sequences *
                     forward_flops(model, 1, train.sequence_length, most_neighbours(train));
  plan_weights(config, plan);
  plan.activation_bytes = activation_bytes(model, train);
  plan_database(config, database_tokens, plan);
  return plan;
}

namespace {

std::vector<std::string> describe_training(const ResourcePlan& plan, const RunConfig& config) {
  const auto count = [](int64_t weights) { return amount(static_cast<double>(weights)); };
  const bool trains_all = plan.num_trained == plan.parameters.total();
  return {
      fmt::format("model        {} weights: decoder {}, cross-attention {}, encoder {}",
                  count(plan.parameters.total()), count(plan.parameters.decoder),
                  count(plan.parameters.cross_attention), count(plan.parameters.encoder)),
      fmt::format("training     {} of them, {} positions, {}{:.3g} FLOP (forward and backward)",
                  trains_all ? "all" : count(plan.num_trained), amount(plan.train_tokens),
                  trains_all ? "" : "at most ", plan.train_flops),
      fmt::format(
          "  memory     {} weights, gradients and optimizer state, about {} activations of a "
          "micro-batch (train.recompute: {})",
          size_text(plan.weight_bytes), size_text(plan.activation_bytes), config.train.recompute),
      fmt::format("  disk       {} a checkpoint, {} kept (train.keep_last and the best)",
                  size_text(plan.checkpoint_bytes), config.train.keep_last + 1),
  };
}

std::vector<std::string> describe_storage(const ResourcePlan& plan, const RunConfig& config) {
  return {
      fmt::format("database     about {} tokens in {} chunks", amount(plan.database_tokens),
                  amount(plan.database_chunks)),
      fmt::format("  disk       {} values, {} keys ({} features in {}{}), {} neighbours of as many "
                  "training chunks",
                  size_text(plan.value_bytes), size_text(plan.key_bytes), plan.key_width,
                  config.database.key_storage,
                  plan.is_key_width_known ? "" : ", assumed: no encoder at embed.model",
                  size_text(plan.table_bytes)),
      plan.index_type == "exact"
          ? std::string("  index      exact: searched in the keys, nothing besides")
          : fmt::format("  index      {}: {} in memory", plan.index_type,
                        size_text(plan.index_bytes)),
  };
}

}  // namespace

std::vector<std::string> describe(const ResourcePlan& plan, const RunConfig& config) {
  std::vector<std::string> lines;
  if (has_training_text(config)) lines = describe_training(plan, config);
  for (std::string& line : describe_storage(plan, config)) lines.push_back(std::move(line));
  return lines;
}

nlohmann::json to_json(const ResourcePlan& plan) {
  return {{"parameters",
           {{"total", plan.parameters.total()},
            {"decoder", plan.parameters.decoder},
            {"cross_attention", plan.parameters.cross_attention},
            {"encoder", plan.parameters.encoder}}},
          {"trained", plan.num_trained},
          {"train_tokens", plan.train_tokens},
          {"train_flops", plan.train_flops},
          {"weight_bytes", plan.weight_bytes},
          {"activation_bytes", plan.activation_bytes},
          {"checkpoint_bytes", plan.checkpoint_bytes},
          {"database_tokens", plan.database_tokens},
          {"database_chunks", plan.database_chunks},
          {"key_width", plan.key_width},
          {"value_bytes", plan.value_bytes},
          {"key_bytes", plan.key_bytes},
          {"index_type", plan.index_type},
          {"index_bytes", plan.index_bytes},
          {"table_bytes", plan.table_bytes}};
}

double parse_token_count(const std::string& text) {
  size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = text.substr(end);
  const double factor = unit.empty()  ? 1
                        : unit == "k" ? 1e3
                        : unit == "M" ? 1e6
                        : unit == "B" ? 1e9
                        : unit == "T" ? 1e12
                                      : 0;
  RETRO_CHECK(end > 0 && factor > 0 && std::isfinite(value) && value >= 0,
              "`{}` is not a number of tokens: expected one like 300M, 36B or 1.75T", text);
  return value * factor;
}

}  // namespace retro
