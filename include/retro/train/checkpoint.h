// Checkpoints: directories step_NNNNNN, complete or absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "retro/model/retro_model.h"
#include "retro/train/optimizer.h"
#include "retro/train/train_config.h"
#include "retro/train/train_state.h"

namespace retro {

/// What config.yaml of a checkpoint holds.
struct CheckpointConfig {
  ModelConfig model;
  TrainConfig train;
  void visit_fields(FieldVisitor& visit);
};

/// One checkpoint on disk: model.safetensors, optimizer.safetensors, trainer.json, config.yaml.
struct CheckpointInfo {
  std::filesystem::path path;
  TrainState state;
};

/// "step_000200".
std::string checkpoint_name(int64_t step);
/// Writes the directory atomically below `directory` and returns its path. Refused when the disk
/// has no room.
std::filesystem::path save_checkpoint(const std::filesystem::path& directory,
                                      const RetroModel& model, const AdamW& optimizer,
                                      const TrainState& state, const CheckpointConfig& config);
/// Restores weights and optimizer state.
TrainState load_checkpoint(const std::filesystem::path& path, RetroModel& model, AdamW& optimizer);
CheckpointConfig read_checkpoint_config(const std::filesystem::path& path);

/// All complete checkpoints below `directory`, by step; empty when there is none.
std::vector<CheckpointInfo> list_checkpoints(const std::filesystem::path& directory);
/// The newest, or nothing.
std::optional<CheckpointInfo> newest_checkpoint(const std::filesystem::path& directory);
/// The one with the lowest validation, the newest where none was validated, or nothing.
std::optional<CheckpointInfo> best_checkpoint(const std::filesystem::path& directory);
/// Removes all but the newest `keep_last` and the best, and what killed processes left half written
/// or half removed.
void prune_checkpoints(const std::filesystem::path& directory, int64_t keep_last);

}  // namespace retro
