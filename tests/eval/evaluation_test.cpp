#include "retro/eval/evaluation.h"

#include <cmath>
#include <map>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "eval/tiny_evaluation.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kEvalChunk;
using testing::random_model;
using testing::TinyEvaluation;

class EvaluationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = new TinyEvaluation();
    RetroModel model = random_model(false, 1);
    RetroModel baseline = random_model(true, 2);
    run_columns(model, &baseline, TinyEvaluation::config(), shared_->inputs(), shared_->output());
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }

  static const SystemFigure& figure(const FilteredRow& row, const std::string& column) {
    for (const SystemFigure& system : row.systems) {
      if (system.column == column) return system;
    }
    throw std::runtime_error("no column " + column);
  }
  static LossFile file(const std::string& column) {
    return LossFile(shared_->output() / (column + ".eval"));
  }

  static TinyEvaluation* shared_;
};

TinyEvaluation* EvaluationTest::shared_ = nullptr;

std::vector<std::string> names(const std::vector<ColumnKey>& columns) {
  std::vector<std::string> result;
  for (const ColumnKey& column : columns) result.push_back(column.name());
  return result;
}

TEST_F(EvaluationTest, ColumnsAreWhatTheConfigAsksForAndTheInputsAllow) {
  EvalConfig config = TinyEvaluation::config();
  EvalInputs inputs = shared_->inputs();
  EXPECT_THAT(names(planned_columns(config, inputs)),
              ElementsAre("baseline.k0.s0", "off.k0.s0", "on.k2.s0", "on.k1.s0", "random.k2.s0",
                          "leaked.k2.s0", "counterpart_removed.k2.s0", "baseline.k0.s1", "on.k2.s1",
                          "baseline.k0.s2", "on.k2.s2"));
  inputs.baseline_hash.clear();
  inputs.leaked_table = nullptr;
  inputs.shifted.clear();
  config.controls = {"leaked"};
  EXPECT_THAT(names(planned_columns(config, inputs)),
              ElementsAre("off.k0.s0", "on.k2.s0", "on.k1.s0"));
}

TEST_F(EvaluationTest, PlainBitsPerByteIsTheSumOfAllLosses) {
  const EvalResult result =
      summarise_columns(TinyEvaluation::config(), shared_->inputs(), shared_->output());
  const GroupResult& all = result.groups.back();
  EXPECT_EQ(all.source, "all");
  for (const std::string column :
       {"baseline.k0.s0", "off.k0.s0", "on.k2.s0", "random.k2.s0", "leaked.k2.s0"}) {
    const LossFile losses = file(column);
    double nats = 0;
    int64_t bytes = 0;
    for (int64_t row = 0; row < losses.num_rows(); ++row) {
      nats += losses.nats(row);
      bytes += losses.bytes(row);
    }
    EXPECT_EQ(all.bytes, bytes);
    EXPECT_NEAR(figure(all.filtered.back(), column).bits_per_byte,
                nats / std::numbers::ln2 / static_cast<double>(bytes), 1e-9)
        << column;
  }
}

TEST_F(EvaluationTest, SourcesAddUpToAll) {
  const EvalResult result =
      summarise_columns(TinyEvaluation::config(), shared_->inputs(), shared_->output());
  ASSERT_EQ(result.groups.size(), 3u);
  for (size_t a = 0; a < result.groups[0].filtered.size(); ++a) {
    int64_t chunks = 0;
    int64_t bytes = 0;
    double nats = 0;
    for (size_t g = 0; g < 2; ++g) {
      const FilteredRow& row = result.groups[g].filtered[a];
      chunks += row.chunks;
      bytes += row.bytes;
      if (!row.is_too_few)
        nats += figure(row, "on.k2.s0").bits_per_byte * static_cast<double>(row.bytes);
    }
    const FilteredRow& all = result.groups[2].filtered[a];
    EXPECT_EQ(chunks, all.chunks);
    EXPECT_EQ(bytes, all.bytes);
    const bool is_complete =
        !result.groups[0].filtered[a].is_too_few && !result.groups[1].filtered[a].is_too_few;
    if (!is_complete) continue;
    EXPECT_NEAR(nats, figure(all, "on.k2.s0").bits_per_byte * static_cast<double>(all.bytes), 1e-6);
  }
}

TEST_F(EvaluationTest, GainsAreDifferencesAndTheReferenceHasNone) {
  const EvalResult result =
      summarise_columns(TinyEvaluation::config(), shared_->inputs(), shared_->output());
  EXPECT_EQ(result.reference, "baseline.k0.s0");
  EXPECT_EQ(result.headline, "on.k2.s0");
  for (const GroupResult& group : result.groups) {
    for (const FilteredRow& row : group.filtered) {
      if (row.is_too_few) continue;
      const double reference = figure(row, "baseline.k0.s0").bits_per_byte;
      for (const SystemFigure& system : row.systems) {
        EXPECT_NEAR(system.gain.estimate, reference - system.bits_per_byte, 1e-9);
        EXPECT_LE(system.gain.low, system.gain.estimate + 1e-12);
        EXPECT_GE(system.gain.high, system.gain.estimate - 1e-12);
      }
      EXPECT_EQ(figure(row, "baseline.k0.s0").gain.half_width(), 0);
    }
  }
}

TEST_F(EvaluationTest, RandomNeighboursAreComparedWithNonePairedByDocument) {
  const EvalResult result =
      summarise_columns(TinyEvaluation::config(), shared_->inputs(), shared_->output());
  for (const FilteredRow& row : result.groups.back().filtered) {
    if (row.is_too_few) continue;
    ASSERT_TRUE(row.random_over_off);
    const double off = figure(row, "off.k0.s0").bits_per_byte;
    EXPECT_NEAR(row.random_over_off->estimate, off - figure(row, "random.k2.s0").bits_per_byte,
                1e-9);
    EXPECT_LT(row.random_over_off->low, row.random_over_off->high);
  }
}

TEST_F(EvaluationTest, FilteredRowsKeepTheChunksOfLittleOverlap) {
  const EvalResult result =
      summarise_columns(TinyEvaluation::config(), shared_->inputs(), shared_->output());
  const GroupResult& all = result.groups.back();
  for (size_t a = 1; a < all.filtered.size(); ++a)
    EXPECT_GE(all.filtered[a].chunks, all.filtered[a - 1].chunks);
  EXPECT_EQ(all.filtered.back().chunks, shared_->grid().num_rows());
  EXPECT_GT(all.filtered.back().chunks, all.filtered.front().chunks);
  EXPECT_EQ(all.retrieval.queries, shared_->grid().num_rows());
  EXPECT_GT(all.retrieval.share_with_neighbour, 0.5);
}

TEST_F(EvaluationTest, TheShiftTestScoresTheSameTokensWithoutEnds) {
  const EvalResult result =
      summarise_columns(TinyEvaluation::config(), shared_->inputs(), shared_->output());
  const GroupResult& all = result.groups.back();
  int64_t tested = 0;
  for (const ShiftRow& row : all.shifts) {
    if (row.alpha != 1.0) continue;
    ++tested;
    EXPECT_EQ(row.chunks, all.chunks);
    EXPECT_EQ(row.documents, all.documents);
    const ChunkGrid& grid =
        row.shift == 0 ? shared_->grid()
                       : *shared_->inputs().shifted[static_cast<size_t>(row.shift - 1)].grid;
    const LossFile losses = file("on.k2.s" + std::to_string(row.shift));
    double nats = 0;
    for (int64_t r = 0; r < grid.num_rows(); ++r) {
      for (size_t i = 0; i < grid.tokens(r).size(); ++i)
        nats += static_cast<double>(losses.token_nats(r)[i]);
    }
    EXPECT_NEAR(row.on_bits_per_byte, nats / std::numbers::ln2 / static_cast<double>(all.bytes),
                1e-9)
        << row.shift;
    EXPECT_NEAR(row.gain.estimate, row.reference_bits_per_byte - row.on_bits_per_byte, 1e-9);
  }
  EXPECT_EQ(tested, 3);
}

TEST_F(EvaluationTest, ThreadsChangeNoFigure) {
  EvalInputs inputs = shared_->inputs();
  const std::string one =
      to_json(summarise_columns(TinyEvaluation::config(), inputs, shared_->output()));
  inputs.num_threads = 4;
  EXPECT_EQ(to_json(summarise_columns(TinyEvaluation::config(), inputs, shared_->output())), one);
}

TEST_F(EvaluationTest, FewChunksGiveNoFigures) {
  EvalConfig config = TinyEvaluation::config();
  config.min_chunks = 100;
  const EvalResult result = summarise_columns(config, shared_->inputs(), shared_->output());
  for (const FilteredRow& row : result.groups.back().filtered) {
    EXPECT_TRUE(row.is_too_few);
    EXPECT_TRUE(row.systems.empty());
  }
  EXPECT_THAT(format_result(result), HasSubstr("too few"));
}

TEST_F(EvaluationTest, RandomNeighboursDependOnTheSeedAlone) {
  testing::TemporaryDirectory directory;
  RetroModel model = random_model(false, 1);
  EvalConfig config = TinyEvaluation::config();
  run_column(model, {"random", 2, 0}, config, shared_->inputs(), directory.path());
  const LossFile again(directory.path() / "random.k2.s0.eval");
  const LossFile first = file("random.k2.s0");
  for (int64_t row = 0; row < first.num_rows(); ++row) EXPECT_EQ(first.nats(row), again.nats(row));
  config.seed = 2;
  run_column(model, {"random", 2, 0}, config, shared_->inputs(), directory.path());
  const LossFile other(directory.path() / "random.k2.s0.eval");
  bool differs = false;
  for (int64_t row = 0; row < first.num_rows(); ++row)
    differs = differs || first.nats(row) != other.nats(row);
  EXPECT_TRUE(differs);
}

TEST_F(EvaluationTest, MissingPassesAreNamed) {
  testing::TemporaryDirectory directory;
  try {
    summarise_columns(TinyEvaluation::config(), shared_->inputs(), directory.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("baseline.k0.s0.eval"));
  }
}

TEST_F(EvaluationTest, WithoutABaselineGainsAreCountedFromOff) {
  EvalInputs inputs = shared_->inputs();
  inputs.baseline_hash.clear();
  EvalConfig config = TinyEvaluation::config();
  config.shift_baseline = false;
  const EvalResult result = summarise_columns(config, inputs, shared_->output());
  EXPECT_EQ(result.reference, "off.k0.s0");
  EXPECT_THAT(format_result(result),
              HasSubstr("gains are counted from the same model with retrieval off"));
}

}  // namespace
}  // namespace retro
