#include "retro/run/run_embedder.h"

#include <ATen/Parallel.h>

#include "retro/core/log.h"
#include "retro/ops/precision.h"

namespace retro {
namespace {

std::string identity_of_stored_keys(const RunConfig& config) {
  return stored_embedder_identity(RunPaths(config).database());
}

void warn_of_rounding_in_software(const RunConfig& config) {
  const bool is_asked_for = config.embed.precision == "bfloat16" &&
                            !config.embed.model.starts_with("hashed:") &&
                            identity_of_stored_keys(config).empty();
  if (!is_asked_for || has_bfloat16_products()) return;
  log_warning(
      "embed.precision is bfloat16, which this CPU rounds to in software: float32 is faster here, "
      "and more exact");
}

}  // namespace

EmbedConfig settled_embed(const RunConfig& config) {
  EmbedConfig settled = config.embed;
  const std::string stored = precision_of_keys(identity_of_stored_keys(config));
  if (settled.precision == "auto" && !stored.empty()) settled.precision = stored;
  return settled;
}

std::unique_ptr<ChunkEmbedder> run_embedder(const RunConfig& config) {
  warn_of_rounding_in_software(config);
  at::set_num_threads(run_threads(config));  // the encoder's products are LibTorch's
  return make_embedder(settled_embed(config));
}

}  // namespace retro
