#include <utility>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/text/corpus_split.h"
#include "retro/text/minhash.h"

#include "corpus_files.h"
#include "corpus_within.h"
#include "document_batch.h"

namespace retro {
namespace {

constexpr uint32_t kHeldOut = kRoleValidation | kRoleTest;
constexpr std::string_view kWholeFolder = "whole.tmp";
constexpr std::string_view kShingleFile = "shingles.tmp";

/// Roles that a near-duplicate must give up.
uint32_t guarded_roles(const CorpusConfig& config) {
  return kRoleTrain | (config.deduplicate_database ? kRoleDatabase : 0U);
}

/// Two passes over the sources: held-out documents go into an index of what training text must not
/// resemble; then every document is compared with it and written.
class CorpusBuilder {
 public:
  CorpusBuilder(const CorpusConfig& config, const Tokenizer& tokenizer, uint64_t seed,
                int num_threads, const std::filesystem::path& directory)
      : config_(config),
        tokenizer_(tokenizer),
        guarded_roles_(guarded_roles(config)),
        seed_(seed),
        num_threads_(num_threads),
        shingle_path_(directory / kShingleFile),
        held_out_(shingle_path_),
        writer_(directory, tokenizer.identity()) {}

  std::vector<SourceSummary> build() {
    for (const SourceConfig& source : config_.sources) index_held_out(source);
    held_out_.finish();
    std::vector<SourceSummary> summaries;
    for (const SourceConfig& source : config_.sources) summaries.push_back(add_source(source));
    std::filesystem::remove(shingle_path_);
    RETRO_CHECK(writer_.num_documents() > 0,
                "the corpus is empty: no document of its sources has text");
    writer_.finish(summaries);
    return summaries;
  }

 private:
  using Work = DocumentPipeline::Work;

  /// Runs the source's documents that have any of `roles` through `work` and `sink`; returns how
  /// many had no text.
  int64_t process(const SourceConfig& source, uint32_t roles, const std::string& label, Work work,
                  Work sink);
  void index_held_out(const SourceConfig& source);
  SourceSummary add_source(const SourceConfig& source);
  void add_document(BatchDocument& document, SourceSummary& summary);

  const CorpusConfig& config_;
  const Tokenizer& tokenizer_;
  uint32_t guarded_roles_;
  uint64_t seed_;
  int num_threads_;
  std::filesystem::path shingle_path_;
  NearDuplicateIndex held_out_;
  std::vector<SimilarDocument> held_out_names_;  ///< by the number given to the index
  CorpusWriter writer_;
};

DocumentInfo describe(const SourceConfig& source, uint32_t roles, RawDocument& raw) {
  DocumentInfo info;
  info.source = source.name;
  info.roles = roles;
  info.group = raw.group.empty() ? fmt::format("{}/{}", source.name, raw.id) : std::move(raw.group);
  info.id = std::move(raw.id);
  info.title = std::move(raw.title);
  info.fields = std::move(raw.fields);
  return info;
}

int64_t CorpusBuilder::process(const SourceConfig& source, uint32_t roles, const std::string& label,
                               Work work, Work sink) {
  Progress progress(label, 0, "documents");
  int64_t num_done = 0;
  int64_t num_empty = 0;
  DocumentPipeline pipeline(num_threads_, std::move(work), [&](BatchDocument& document) {
    sink(document);
    progress.update(++num_done);
  });
  read_source(source, seed_, [&](RawDocument&& raw) {
    const uint32_t own_roles = document_roles(source, raw.title, raw.group);
    if ((own_roles & roles) == 0) return;
    num_empty += raw.text.empty();
    if (raw.text.empty()) return;
    BatchDocument document;
    document.info = describe(source, own_roles, raw);
    document.text = std::move(raw.text);
    pipeline.add(std::move(document));
  });
  pipeline.flush();
  return num_empty;
}

std::vector<uint64_t> shingles_of(const BatchDocument& document) {
  const std::vector<uint32_t> tokens(document.encoded.ids.begin(), document.encoded.ids.end());
  return shingle_hashes(tokens);
}

void CorpusBuilder::index_held_out(const SourceConfig& source) {
  if (source.kind == "database" || source.test_share + source.validation_share == 0) return;
  const auto encode = [this](BatchDocument& document) { encode_document(tokenizer_, document); };
  process(source, kHeldOut, fmt::format("{} (held out)", source.name), encode,
          [this](BatchDocument& document) {
            held_out_.add(static_cast<int64_t>(held_out_names_.size()), shingles_of(document));
            held_out_names_.push_back({document.info.source, document.info.id});
          });
}

SourceSummary CorpusBuilder::add_source(const SourceConfig& source) {
  const auto encode_and_compare = [this](BatchDocument& document) {
    encode_document(tokenizer_, document);
    if ((document.info.roles & guarded_roles_) != 0)
      document.matches = held_out_.find(shingles_of(document));
  };
  SourceSummary summary;
  summary.name = source.name;
  constexpr uint32_t kAnyRole = ~0U;
  const int64_t num_empty =
      process(source, kAnyRole, source.name, encode_and_compare,
              [&](BatchDocument& document) { add_document(document, summary); });
  if (num_empty > 0) {
    log_warning("corpus source '{}': left out because they have no text: {}", source.name,
                format_count(num_empty));
  }
  return summary;
}

void CorpusBuilder::add_document(BatchDocument& document, SourceSummary& summary) {
  DocumentInfo& info = document.info;
  if (!document.matches.empty()) {
    const uint32_t lost = info.roles & guarded_roles_;
    for (const auto& match : document.matches) {
      SimilarDocument similar = held_out_names_[static_cast<size_t>(match.document)];
      similar.copies = match.copies;
      writer_.add_duplicate(info, similar, match.similarity, lost);
    }
    info.roles &= ~lost;
    ++summary.dropped_duplicates;
    if (info.roles == 0) return;
  }
  ++summary.documents;
  summary.train += (info.roles & kRoleTrain) != 0;
  summary.validation += (info.roles & kRoleValidation) != 0;
  summary.test += (info.roles & kRoleTest) != 0;
  summary.database += (info.roles & kRoleDatabase) != 0;
  summary.tokens += static_cast<int64_t>(document.encoded.ids.size());
  summary.bytes += static_cast<int64_t>(document.text.size());
  writer_.add(std::move(info), document.encoded);
}

uint64_t size_of_source(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return std::filesystem::file_size(path);
  uint64_t size_bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) size_bytes += entry.file_size();
  }
  return size_bytes;
}

/// A low estimate of the corpus on disk: 6 bytes a token and 4 bytes of text a token (trained
/// tokenizers have 3 to 4). Sampled sources and missing ones (refused later, by name) do not count.
uint64_t estimate_corpus_bytes(const CorpusConfig& config) {
  uint64_t text_bytes = 0;
  for (const SourceConfig& source : config.sources) {
    const bool is_whole = source.max_documents == 0 && std::filesystem::exists(source.path);
    text_bytes += is_whole ? size_of_source(source.path) : 0;
  }
  return text_bytes / 4 * (sizeof(uint32_t) + sizeof(uint16_t));
}

}  // namespace

std::vector<SourceSummary> build_token_corpus(const CorpusConfig& config,
                                              const Tokenizer& tokenizer, uint64_t seed,
                                              int num_threads,
                                              const std::filesystem::path& directory) {
  check_corpus_config(config);
  const uint64_t copies = config.deduplicate_within ? 2 : 1;
  require_free_disk(directory, copies * estimate_corpus_bytes(config), "the corpus");
  std::vector<SourceSummary> summaries;
  write_directory(directory, [&](const std::filesystem::path& temporary) {
    const auto whole = config.deduplicate_within ? temporary / kWholeFolder : temporary;
    std::filesystem::create_directories(whole);
    summaries = CorpusBuilder(config, tokenizer, seed, num_threads, whole).build();
    if (!config.deduplicate_within) return;
    write_without_duplicates(whole, guarded_roles(config), num_threads, temporary, summaries);
    std::filesystem::remove_all(whole);
  });
  return summaries;
}

}  // namespace retro
