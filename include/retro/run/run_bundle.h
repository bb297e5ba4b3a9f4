// `retro bundle`: a trained run in one file.
#pragma once

#include <cstdint>
#include <filesystem>

#include "retro/run/run_config.h"

namespace retro {

/// Weights of a bundle, and of a run directory that was unpacked from one.
std::filesystem::path packed_weights(const RunConfig& config);

struct BundleOptions {
  bool has_encoder = true;  ///< else embed.model goes on naming a folder of this machine
};

/// Bytes of what was packed.
struct BundleSummary {
  uint64_t weights = 0;
  uint64_t database = 0;  ///< with its index
  uint64_t encoder = 0;   ///< 0: none was packed
  uint64_t all = 0;
};

/// Packs what `retro sample` and `retro database query` read of a run: weights, tokenizer, database
/// and index, the encoder of its keys, and a configuration without the rest. A fitted model is
/// packed with its base. Holds the lock of the database's writer, and refuses a database with
/// deleted documents still on disk, which would travel with it. See bundle.h for the errors.
BundleSummary bundle_run(const RunConfig& config, const std::filesystem::path& path,
                         const BundleOptions& options);

}  // namespace retro
