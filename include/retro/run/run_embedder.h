// The encoder of a run's retrieval database.
#pragma once

#include <memory>

#include "retro/embed/bert_embedder.h"
#include "retro/run/run_config.h"

namespace retro {

/// `config.embed` with `auto` settled by the database that is there: queries and additions must be
/// embedded as its keys were, on whatever CPU. Unchanged where there is no database.
EmbedConfig settled_embed(const RunConfig& config);

/// The embedder for keys and queries of the run's database. Warns where a new database asks for
/// bfloat16 on a CPU that has to round in software. Sets LibTorch's threads to `run_threads`.
std::unique_ptr<ChunkEmbedder> run_embedder(const RunConfig& config);

}  // namespace retro
