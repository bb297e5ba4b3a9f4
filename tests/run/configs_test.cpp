// The configurations that the project ships.
#include <gtest/gtest.h>

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

TEST(Configs, EveryOneLoadsAndItsModelIsPossible) {
  EXPECT_GE(shipped_configs().size(), 6U);
  for (const fs::path& path : shipped_configs()) {
    SCOPED_TRACE(path.filename());
    RunConfig config = load_run_config(path, {});
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
