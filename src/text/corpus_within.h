// A corpus without the near-duplicates among its own documents.
#pragma once

#include <filesystem>
#include <vector>

#include "retro/text/token_corpus.h"

namespace retro {

/// Reads the corpus in `whole` and writes it to `directory` (which exists) without the roles in
/// `guarded_roles` that documents have in common with a near-duplicate that stays; documents
/// without a role are left out. `summaries` are brought up to date.
void write_without_duplicates(const std::filesystem::path& whole, uint32_t guarded_roles,
                              int num_threads, const std::filesystem::path& directory,
                              std::vector<SourceSummary>& summaries);

}  // namespace retro
