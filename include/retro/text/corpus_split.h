// Which documents a corpus takes, and which role each of them has.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "retro/text/corpus_reader.h"
#include "retro/text/token_corpus.h"

namespace retro {

/// Throws Error naming the source and key: no source, a repeated or empty name, an absent path, a
/// share outside 0..1, shares that leave nothing to train on.
void check_corpus_config(const CorpusConfig& config);

/// What a document is split by: its group, or its title where it has none.
std::string_view split_key(std::string_view title, std::string_view group);

/// Place of a split key in [0, 10000): 100 * (x mod 100) + (x / 100) mod 100 with x = sha1(family
/// "/" key). So whole percents compare x mod 100, and a share of 0.125 takes half of those with x
/// mod 100 = 12.
int64_t split_position(std::string_view family, std::string_view key);

/// Reads a source and passes on the documents it contributes: all, or the max_documents whose split
/// keys have the smallest hashes (a key's documents stay together). `seed` chooses the sample.
void read_source(const SourceConfig& source, uint64_t seed,
                 const std::function<void(RawDocument&&)>& sink);

}  // namespace retro
