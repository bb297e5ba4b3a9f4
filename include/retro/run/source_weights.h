// Weights of the sources of a baseline that is trained on the database's text too.
#pragma once

#include <map>
#include <string>

#include "retro/text/chunker.h"

namespace retro {

/// A family's weight is shared by tokens among its sources, so that text of the database takes the
/// place of its family's training text; families without a weight come beside them by their tokens.
/// Empty `weights` (every source by its tokens) stay empty. `grid` holds the text that is read.
std::map<std::string, double> weights_with_database(const CorpusConfig& corpus,
                                                    const ChunkGrid& grid,
                                                    const std::map<std::string, double>& weights);

}  // namespace retro
