#include "retro/text/corpus_split.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "retro/core/error.h"
#include "retro/core/hash.h"

namespace retro {
namespace {

constexpr int64_t kPositions = 10'000;

const std::string& family_of(const SourceConfig& source) {
  return source.family.empty() ? source.name : source.family;
}

int64_t share_positions(double share) {
  return std::llround(share * static_cast<double>(kPositions));
}

bool is_share(double share) { return share >= 0.0 && share <= 1.0; }

void check_source(const SourceConfig& source) {
  RETRO_CHECK(!source.name.empty(), "corpus.sources: a source has no name");
  RETRO_CHECK(source.name != "all",
              "corpus source 'all': another name is needed, tables call everything together so");
  RETRO_CHECK(!source.path.empty(), "corpus source '{}': path is missing", source.name);
  RETRO_CHECK(source.kind == "evaluated" || source.kind == "database",
              "corpus source '{}': kind '{}', expected evaluated or database", source.name,
              source.kind);
  RETRO_CHECK(is_share(source.test_share) && is_share(source.validation_share),
              "corpus source '{}': test_share {} and validation_share {} must lie in 0..1",
              source.name, source.test_share, source.validation_share);
  RETRO_CHECK(source.test_share + source.validation_share <= 1.0,
              "corpus source '{}': test_share {} and validation_share {} are more than 1 together",
              source.name, source.test_share, source.validation_share);
  RETRO_CHECK(source.max_documents >= 0, "corpus source '{}': max_documents {} is negative",
              source.name, source.max_documents);
}

uint64_t sample_hash(const SourceConfig& source, uint64_t seed, const RawDocument& document) {
  return sha1_prefix(fmt::format("sample {}/{}/{}", seed, family_of(source),
                                 split_key(document.title, document.group)));
}

/// The largest sample hash that is still taken, or nothing if no key's documents fit.
std::optional<uint64_t> sample_limit(const SourceConfig& source, uint64_t seed) {
  std::map<uint64_t, int64_t> documents_of_hash;
  read_documents(source.path, [&](RawDocument&& document) {
    ++documents_of_hash[sample_hash(source, seed, document)];
  });
  std::optional<uint64_t> limit;
  int64_t taken = 0;
  for (const auto& [hash, count] : documents_of_hash) {
    taken += count;
    if (taken > source.max_documents) break;
    limit = hash;
  }
  return limit;
}

/// Would the document be held out if it stood in one of the family's evaluated sources?
bool is_held_out(const CorpusConfig& config, const SourceConfig& source,
                 const RawDocument& document) {
  for (const SourceConfig& other : config.sources) {
    if (other.kind != "evaluated" || family_of(other) != family_of(source)) continue;
    if (!(document_roles(other, document.title, document.group) & kRoleTrain)) return true;
  }
  return false;
}

}  // namespace

void check_corpus_config(const CorpusConfig& config) {
  RETRO_CHECK(!config.sources.empty(),
              "corpus.sources is empty; name at least one source with its path");
  std::set<std::string> names;
  for (const SourceConfig& source : config.sources) {
    check_source(source);
    RETRO_CHECK(names.insert(source.name).second, "corpus.sources: two sources are named '{}'",
                source.name);
  }
}

std::string_view split_key(std::string_view title, std::string_view group) {
  return group.empty() ? title : group;
}

int64_t split_position(std::string_view family, std::string_view key) {
  const uint64_t hash = sha1_prefix(fmt::format("{}/{}", family, key));
  return static_cast<int64_t>(100 * (hash % 100) + (hash / 100) % 100);
}

uint32_t document_roles(const SourceConfig& source, std::string_view title,
                        std::string_view group) {
  if (source.kind == "database") return kRoleDatabase;
  const int64_t position = split_position(family_of(source), split_key(title, group));
  if (position < share_positions(source.test_share)) return kRoleTest;
  if (position < share_positions(source.test_share + source.validation_share))
    return kRoleValidation;
  return kRoleTrain | (source.in_database ? kRoleDatabase : 0U);
}

void read_source(const SourceConfig& source, uint64_t seed,
                 const std::function<void(RawDocument&&)>& sink) {
  if (source.max_documents == 0) return read_documents(source.path, sink);
  const std::optional<uint64_t> limit = sample_limit(source, seed);
  RETRO_CHECK(limit, "corpus source '{}': max_documents {} is less than the documents of one group",
              source.name, source.max_documents);
  read_documents(source.path, [&](RawDocument&& document) {
    if (sample_hash(source, seed, document) <= *limit) sink(std::move(document));
  });
}

void read_tokenizer_texts(const CorpusConfig& config, uint64_t seed,
                          const std::function<void(std::string_view)>& sink) {
  check_corpus_config(config);
  for (const SourceConfig& source : config.sources) {
    read_source(source, seed, [&](RawDocument&& document) {
      if (!is_held_out(config, source, document)) sink(document.text);
    });
  }
}

}  // namespace retro
