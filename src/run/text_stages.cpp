// Text to tokens, tokens to a retrieval database and its index.
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/retrieval/writer_lock.h"
#include "retro/run/run_embedder.h"
#include "retro/run/stages.h"
#include "retro/text/corpus_reader.h"

namespace retro {

namespace {

/// Says now what a later stage would refuse after minutes of work.
void warn_of_missing_roles(const RunConfig& config, const std::vector<SourceSummary>& summaries) {
  if (!has_training_text(config)) return;  // a database alone is meant
  SourceSummary all;
  for (const SourceSummary& source : summaries) {
    all.train += source.train;
    all.validation += source.validation;
    all.test += source.test;
  }
  if (all.train == 0) {
    log_warning("no document is for training: a source needs kind: evaluated to be trained on");
  }
  if (all.validation == 0 && config.train.validation_every > 0) {
    log_warning(
        "no document is for validation, which training will want: raise validation_share of a "
        "source, or set train.validation_every=0");
  }
  const bool wants_test = config.eval.split == "test";
  if ((wants_test ? all.test : all.validation) == 0) {
    log_warning("no document is in the {} split, so there is nothing to evaluate: raise {}_share",
                config.eval.split, config.eval.split);
  }
}

}  // namespace

int execute_tokenizer_stage(const RunConfig& config) {
  const RunPaths paths(config);
  if (!config.tokenizer.path.empty()) {
    copy_tokenizer(config.tokenizer.path, paths.tokenizer());
    (void)load_tokenizer(paths.tokenizer(), config.tokenizer.end_of_document);
    return 0;
  }
  const auto seed = static_cast<uint64_t>(config.seed);
  const TextSource texts = [&](const std::function<void(std::string_view)>& sink) {
    read_tokenizer_texts(config.corpus, seed, sink);
  };
  train_sentencepiece(texts, config.tokenizer, seed, run_threads(config), paths.tokenizer());
  return 0;
}

int execute_corpus_stage(const RunConfig& config) {
  const RunPaths paths(config);
  const auto tokenizer = load_tokenizer(paths.tokenizer(), config.tokenizer.end_of_document);
  const auto summaries =
      build_token_corpus(config.corpus, *tokenizer, static_cast<uint64_t>(config.seed),
                         run_threads(config), paths.corpus());
  for (const SourceConfig& source : config.corpus.sources) log_other_files(source.path);
  log_info("{:<14} {:>9} {:>8} {:>6} {:>6} {:>9} {:>12} {:>10} {:>11}", "source", "documents",
           "train", "valid", "test", "database", "tokens", "text", "duplicates");
  for (const SourceSummary& source : summaries) {
    log_info(
        "{:<14} {:>9} {:>8} {:>6} {:>6} {:>9} {:>12} {:>10} {:>11}", source.name,
        format_count(source.documents), format_count(source.train), format_count(source.validation),
        format_count(source.test), format_count(source.database), format_count(source.tokens),
        format_bytes(static_cast<uint64_t>(source.bytes)), format_count(source.dropped_duplicates));
  }
  warn_of_missing_roles(config, summaries);
  return 0;
}

int execute_database_stage(const RunConfig& config) {
  const RunPaths paths(config);
  const auto tokenizer = load_tokenizer(paths.tokenizer(), config.tokenizer.end_of_document);
  const TokenCorpus corpus(paths.corpus());
  const auto embedder = run_embedder(config);
  const ChunkGrid grid(corpus, corpus.documents_with(kRoleDatabase), config.database.chunk_length);
  build_database(grid, *tokenizer, *embedder, config.database, paths.database());
  return 0;
}

void build_run_database_part(const RunConfig& config, const BuildPart& part) {
  const RunPaths paths(config);
  const auto tokenizer = load_tokenizer(paths.tokenizer(), config.tokenizer.end_of_document);
  const TokenCorpus corpus(paths.corpus());
  const auto embedder = run_embedder(config);
  const ChunkGrid grid(corpus, corpus.documents_with(kRoleDatabase), config.database.chunk_length);
  build_database_part(grid, *tokenizer, *embedder, config.database, part, paths.database());
}

int execute_index_stage(const RunConfig& config) {
  const RunPaths paths(config);
  // No shard goes while its lists are made.
  const FileLock lock = lock_database(paths.database());
  RetrievalDatabase database(paths.database());
  database.set_memory_budget(MemoryBudget::parse(config.database.memory_budget));
  build_index(database, config.index, static_cast<uint64_t>(config.seed), run_threads(config),
              paths.index());
  return 0;
}

}  // namespace retro
