#include "retro/run/database_life.h"

#include <algorithm>
#include <set>

#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/retrieval/live_database.h"
#include "retro/run/run_embedder.h"
#include "retro/text/corpus_reader.h"

#include "set_aside.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Tokenizer> tokenizer_of(const RunConfig& config) {
  return load_tokenizer(RunPaths(config).tokenizer(), config.tokenizer.end_of_document);
}

/// "SOURCE/ID" of every document of the run's corpus.
std::set<std::string> names_in_corpus(const RunConfig& config) {
  std::set<std::string> names;
  const fs::path directory = RunPaths(config).corpus();
  if (!fs::exists(directory)) return names;
  const TokenCorpus corpus(directory);
  for (int64_t d = 0; d < corpus.num_documents(); ++d) {
    names.insert(corpus.document(d).source + "/" + corpus.document(d).id);
  }
  return names;
}

void require_selection(const DocumentSelection& selection) {
  RETRO_CHECK(!selection.is_empty(),
              "nothing says what to delete: give --id, --source, --where or "
              "--containing");
}

}  // namespace

RunConfig load_database_run(const fs::path& path) {
  const fs::path directory = path.has_filename() ? path : path.parent_path();
  const bool is_database = path_exists(directory / "manifest.json");
  return load_run_config(is_database ? fs::absolute(directory).parent_path() : path, {});
}

DatabasePlace database_place(const RunConfig& config) {
  const RunPaths paths(config);
  return {paths.database(), paths.index()};
}

DatabaseChange add_to_database(const RunConfig& config, const std::vector<fs::path>& files,
                               const std::string& source, bool replaces_present) {
  const auto tokenizer = tokenizer_of(config);
  const auto embedder = run_embedder(config);
  DatabaseWriter writer(database_place(config));
  Progress progress("add", 0, "documents");
  int64_t num_read = 0;
  using Sink = std::function<void(RawDocument &&)>;
  const auto read_all = [&](const Sink& sink) {
    const Sink count_and_hand_on = [&](RawDocument&& document) {
      sink(std::move(document));
      progress.update(++num_read);
    };
    for (const fs::path& file : files) {
      read_documents(file, count_and_hand_on, source.empty() ? IdScope::kSource : IdScope::kAll);
      log_other_files(file);
    }
  };
  const DatabaseChange change =
      writer.add({read_all, source, replaces_present}, *tokenizer, *embedder);
  progress.finish();
  return change;
}

std::vector<SelectedDocument> find_in_database(const RunConfig& config,
                                               const DocumentSelection& selection) {
  require_selection(selection);
  const RetrievalDatabase database(RunPaths(config).database());
  const std::set<std::string> in_corpus = names_in_corpus(config);
  std::vector<SelectedDocument> found;
  for (const int64_t d : select_documents(database, selection, tokenizer_of(config).get())) {
    const DatabaseDocument& document = database.document(d);
    found.push_back({document.source, document.id, document.title, document.num_chunks,
                     in_corpus.contains(document.source + "/" + document.id)});
  }
  return found;
}

DatabaseChange delete_from_database(const RunConfig& config, const DocumentSelection& selection) {
  require_selection(selection);
  const auto tokenizer = tokenizer_of(config);
  DatabaseWriter writer(database_place(config));
  const auto documents = select_documents(writer.database(), selection, tokenizer.get());
  require_any(writer.database(), documents);
  return writer.remove(documents);
}

std::vector<fs::path> files_not_erased(const RunConfig& config, bool is_in_corpus) {
  const RunPaths paths(config);
  std::vector<fs::path> files{paths.evaluation(), paths.sample(), paths.report(),
                              paths.comparison()};
  if (is_in_corpus) {
    files.insert(files.end(), {paths.corpus(), paths.tokenizer(), paths.directory() / "neighbours",
                               paths.directory() / "training", paths.directory() / "knn"});
    for (const SourceConfig& source : config.corpus.sources) files.emplace_back(source.path);
  }
  for (size_t i = 0, count = files.size(); i < count; ++i) {
    files.push_back(set_aside_path(files[i]));  // of a stage that was cut off
  }
  std::erase_if(files, [](const fs::path& file) { return !fs::exists(file); });
  return files;
}

void compact_database(const RunConfig& config) {
  DatabaseWriter(database_place(config))
      .compact({.index = config.index,
                .seed = static_cast<uint64_t>(config.seed),
                .num_threads = run_threads(config),
                .shard_chunks = config.database.shard_chunks,
                .memory_budget = MemoryBudget::parse(config.database.memory_budget)});
}

int64_t export_database(const RunConfig& config, const DocumentSelection& selection,
                        const std::function<void(const std::string& line)>& sink) {
  const RetrievalDatabase database(RunPaths(config).database());
  const auto tokenizer = tokenizer_of(config);
  const auto documents = select_documents(database, selection, tokenizer.get());
  if (!selection.is_empty()) require_any(database, documents);
  for (const int64_t d : documents) sink(document_as_jsonl(database, d, *tokenizer));
  return static_cast<int64_t>(documents.size());
}

}  // namespace retro
