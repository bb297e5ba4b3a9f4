// The configurations that the project ships.
#include <gtest/gtest.h>

#include "retro/core/file_system.h"
#include "retro/model/weights.h"
#include "retro/run/run_config.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> shipped_configs() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(RETRO_CONFIGS)) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  return paths;
}

/// Stands for the base that a fitting configuration names; of as many layers as SmolLM2.
fs::path stand_in_base() {
  const fs::path directory = fs::temp_directory_path() / "retro_configs_test";
  fs::create_directories(directory);
  ModelConfig base;
  base.vocabulary = 50;
  base.width = base.heads = base.head_width = 2;
  base.layers = 30;
  base.cca_layers.clear();
  save_weights(RetroModel(base, 1), directory / "model.safetensors");
  write_file(directory / "tokenizer.json", "{}");
  return directory;
}

TEST(Configs, EveryOneLoadsAndItsModelIsPossible) {
  EXPECT_GE(shipped_configs().size(), 6U);
  for (const fs::path& path : shipped_configs()) {
    SCOPED_TRACE(path.filename());
    std::vector<std::string> overrides;
    if (path.filename().string().starts_with("fit_"))
      overrides = {"fit.base=" + stand_in_base().string()};
    RunConfig config = load_run_config(path, overrides);
    if (config.model.vocabulary == 0) config.model.vocabulary = config.tokenizer.vocabulary;
    EXPECT_NO_THROW((void)config.model.resolved());
  }
}

/// METHOD section 4: the paper's shapes.
TEST(Configs, PretrainingSizesAreThePapers) {
  const auto load = [](const char* name) {
    return load_run_config(fs::path(RETRO_CONFIGS) / name, {});
  };
  const RunConfig smallest = load("pretrain_172m.yaml");
  EXPECT_EQ(smallest.model.width, 896);
  EXPECT_EQ(smallest.model.cca_layers, (std::vector<int64_t>{5, 8, 11}));
  EXPECT_EQ(smallest.train.batch_size * smallest.train.accumulation, 256);
  const RunConfig largest = load("pretrain_7.5b.yaml");
  EXPECT_EQ(largest.model.cca_layers, (std::vector<int64_t>{8, 11, 14, 17, 20, 23, 26, 29, 31}));
  EXPECT_EQ(largest.train.batch_size * largest.train.accumulation, 1024);
  EXPECT_EQ(largest.train.learning_rate, 1e-4);
  for (const RunConfig& config : {smallest, largest}) {
    // 419,430,400,000 tokens (table 10)
    EXPECT_EQ(config.train.steps * config.train.batch_size * config.train.accumulation * 2048,
              419'430'400'000);
  }
}

}  // namespace
}  // namespace retro
