// kNN-LM of a run: what it scores is what the evaluation scores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/core/random.h"
#include "retro/eval/eval_result.h"
#include "retro/run/stages.h"
#include "retro/run/whole_run.h"

#include "run/small_run.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

class KnnStageTest : public ::testing::Test {
 protected:
  KnnStageTest() {
    write_file(small_.path("trained.jsonl"), text());
    config_.corpus.sources[0].test_share = 0.3;
    config_.corpus.sources[0].validation_share = 0.3;
    config_.baseline.enabled = false;
    config_.eval.neighbours = {1};
    config_.eval.shifts = {};
    config_.eval.controls = {};
    config_.eval.min_chunks = 1;
    config_.eval.window_overlap = 0.5;
    config_.knn.enabled = true;
    config_.knn.neighbours = 4;
    config_.knn.max_tokens = 500;
    EXPECT_EQ(
        execute_stages(config_, {"tokenizer", "corpus", "database", "index", "neighbours.training",
                                 "neighbours.evaluation", "train.retro"}),
        0);
  }

  /// Documents of which none resembles another, so that training keeps its share.
  static std::string text() {
    constexpr const char* kWords[] = {"river", "stone", "house", "light", "winter", "garden"};
    std::string lines;
    for (int document = 0; document < 30; ++document) {
      RandomStream random(1, "words", static_cast<uint64_t>(document));
      std::string words;
      for (int word = 0; word < 120; ++word) words += kWords[random.below(6)] + std::string(" ");
      lines += json_line({{"id", std::to_string(document)}, {"text", words}}) + "\n";
    }
    return lines;
  }

  nlohmann::json knn() const {
    EXPECT_EQ(execute_stages(config_, {"passes.retro", "eval"}), 0);
    EXPECT_EQ(execute_stages(config_, {"knn"}), 0);
    return read_json_file(RunPaths(config_).evaluation() / "knn.json");
  }
  /// Bits per byte of all text with retrieval on.
  double on() const {
    const fs::path path = RunPaths(config_).evaluation() / "result.json";
    const EvalResult result = eval_result_from_json(read_file(path), path.string());
    for (const SystemFigure& system : result.groups.back().filtered.back().systems) {
      if (system.column == result.headline) return system.bits_per_byte;
    }
    return 0;
  }

  testing::SmallRun small_;
  RunConfig config_ = small_.config();
};

TEST_F(KnnStageTest, TheModelAloneIsTheEvaluations) {
  const auto result = knn();
  EXPECT_EQ(result["systems"][0]["name"], "RETRO");
  EXPECT_NEAR(result["systems"][0]["bits_per_byte"].get<double>(), on(), 1e-6);
  EXPECT_LE(result["entries"].get<int64_t>(), 500 + 30);  // and the documents' ends
  // States of other windows are other states.
  const fs::path tokens = RunPaths(config_).directory() / "knn/retro/tokens.bin";
  const std::string before = testing::slurp(tokens);
  config_.eval.sequence_length = 32;
  const auto shorter = knn();
  EXPECT_NEAR(shorter["systems"][0]["bits_per_byte"].get<double>(), on(), 1e-6);
  EXPECT_NE(shorter["systems"][0]["bits_per_byte"], result["systems"][0]["bits_per_byte"]);
  EXPECT_NE(testing::slurp(tokens), before);  // what it was made from stands in its header
}

}  // namespace
}  // namespace retro
