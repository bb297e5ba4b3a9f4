// Deleted documents leave the disk, additions enter the index.
#pragma once

#include "retro/retrieval/database_writer.h"

#include "database_format.h"

namespace retro {

/// Shards of the database, from the first, that the index in `directory` covers; 0 without one.
int64_t num_indexed_shards(const std::filesystem::path& directory,
                           const RetrievalDatabase& database);

/// Lets an index of older programs, which names a database version but not its shards, say what it
/// covers: it would be lost with the first change otherwise.
void record_coverage(const std::filesystem::path& directory, const RetrievalDatabase& database);

/// Puts DIRECTORY.next in place of the index where it is the one that fits the database, removes it
/// otherwise. Readers find the right one at every moment.
void settle_index(const std::filesystem::path& directory, const RetrievalDatabase& database);

/// Removes databases and indexes that a killed process had taken out of their place, but not off
/// the disk: they may hold what was deleted. Under the writer's lock.
void remove_old_states(const DatabasePlace& place);

/// Writes shards without deleted documents, an index of them as INDEX.next, and then replaces the
/// manifest. Keeps to the budget of the settings, which the caller has also set on `database`. The
/// caller settles the index and removes the files no longer named. A kill costs the
/// work but leaves the old state; the index resumes by shard.
void write_compaction(const RetrievalDatabase& database, const database_format::Manifest& manifest,
                      const DatabasePlace& place, const CompactionSettings& settings);

}  // namespace retro
