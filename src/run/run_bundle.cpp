#include "retro/run/run_bundle.h"

#include <algorithm>

#include "retro/core/bundle.h"
#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/file_tree.h"
#include "retro/core/progress.h"
#include "retro/model/retrofit.h"
#include "retro/model/weights.h"
#include "retro/retrieval/database_writer.h"
#include "retro/run/database_life.h"
#include "retro/run/model_setup.h"
#include "retro/run/run_embedder.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

/// What BertEmbedder and its tokenizer read.
constexpr const char* kEncoderFiles[] = {"config.json", "model.safetensors", "vocab.txt",
                                         "tokenizer_config.json", "tokenizer.json"};

bool has_weights_of_an_encoder(const RunConfig& config) {
  return !config.embed.model.starts_with("hashed:");
}

RunConfig packed_config(const RunConfig& config, bool has_encoder) {
  RunConfig packed;
  packed.directory = ".";
  packed.seed = config.seed;
  packed.tokenizer.end_of_document = config.tokenizer.end_of_document;
  packed.embed = settled_embed(config);
  if (has_encoder) packed.embed.model = "{directory}/encoder";
  packed.database = config.database;
  packed.index = config.index;
  packed.neighbours = config.neighbours;
  packed.model = config.model;
  packed.train = config.train;
  // Nothing is trained from a bundle: a CPU without bfloat16 products samples in float32.
  if (packed.train.precision == "bfloat16") packed.train.precision = "auto";
  packed.train.sources.clear();
  packed.sample = config.sample;
  return packed;
}

/// Files below `directory`, named from the folder that holds it.
void add_tree(const fs::path& directory, std::vector<BundleSource>& sources) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    sources.push_back({file.lexically_relative(directory.parent_path()).generic_string(), file});
  }
}

void add_encoder(const RunConfig& config, std::vector<BundleSource>& sources) {
  const fs::path directory = config.embed.model;
  for (const char* name : kEncoderFiles) {
    if (path_exists(directory / name)) {
      sources.push_back({fmt::format("encoder/{}", name), directory / name});
    }
  }
}

void refuse_deleted_documents(const RetrievalDatabase& database) {
  const int64_t num_deleted = database.num_documents() - database.num_live_documents();
  RETRO_CHECK(num_deleted == 0,
              "{}: {} deleted documents are still on disk and would travel in the bundle; run "
              "`retro database compact` first",
              database.directory().string(), format_count(num_deleted));
}

/// The whole model.
void save_whole_weights(const RunConfig& config, const fs::path& file) {
  const RetroModel model = load_trained_model(config, "retro");
  save_weights(model->base_hash().empty() ? model : without_base(model), file);
}

BundleSummary summarise(const fs::path& path) {
  BundleSummary summary;
  summary.all = fs::file_size(path);
  const Bundle bundle(path);
  for (const BundleMember& member : bundle.members()) {
    if (member.name == "model.safetensors") summary.weights += member.size_bytes;
    if (member.name.starts_with("database/") || member.name.starts_with("index/")) {
      summary.database += member.size_bytes;
    }
    if (member.name.starts_with("encoder/")) summary.encoder += member.size_bytes;
  }
  return summary;
}

}  // namespace

fs::path packed_weights(const RunConfig& config) {
  return RunPaths(config).directory() / "model.safetensors";
}

BundleSummary bundle_run(const RunConfig& config, const fs::path& path,
                         const BundleOptions& options) {
  const RunPaths paths(config);
  RETRO_CHECK(!is_bundle(config.directory), "{}: is a bundle already; copy the file",
              config.directory);
  const DatabaseWriter writer(database_place(config));  // nobody changes it meanwhile
  refuse_deleted_documents(writer.database());
  const bool has_encoder = options.has_encoder && has_weights_of_an_encoder(config);
  const TemporaryDirectory work(path);
  const fs::path weights = work.path() / "model.safetensors";
  save_whole_weights(config, weights);
  std::vector<BundleSource> sources{
      {"config.yaml", {}, to_yaml(packed_config(config, has_encoder))},
      {"tokenizer.model", paths.tokenizer()},
      {"model.safetensors", weights}};
  add_tree(paths.database(), sources);
  add_tree(paths.index(), sources);
  if (has_encoder) add_encoder(config, sources);
  write_bundle(path, sources);
  return summarise(path);
}

}  // namespace retro
