// May a run go on from a checkpoint?
#pragma once

#include <string>

#include "retro/train/checkpoint.h"

namespace retro {

/// Throws Error naming the first key (or the data) in which the checkpoint differs from what is
/// asked now. Keys that change no result may differ.
void check_resumable(const CheckpointInfo& checkpoint, const CheckpointConfig& now,
                     const std::string& data_identity);

}  // namespace retro
