#include "retro/run/ablations.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/eval/eval_result.h"
#include "retro/run/run_config.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kProject = fs::path(RETRO_TEST_DATA).parent_path().parent_path();

class AblationsTest : public ::testing::Test {
 protected:
  AblationsTest() : directory_(fs::temp_directory_path() / "retro_ablations_test") {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    write_file(directory_ / "base.yaml", "train: {steps: 1}\n");
  }
  ~AblationsTest() override { fs::remove_all(directory_); }

  AblationList load(const std::string& rows) const {
    const std::string path = directory_ / "list.yaml";
    write_file(path, fmt::format("title: T\nbase: {}\ndirectory: {}\nseeds: [0, 1, 2]\n{}",
                                 (directory_ / "base.yaml").string(),
                                 (directory_ / "runs").string(), rows));
    return load_ablations(path);
  }
  std::string message(const std::string& rows) const {
    try {
      load(rows);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  /// A finished run with these bits per byte of retrieval on (k = 2, 5) and the baseline.
  void finish(const std::string& row, int64_t seed, double on, double on5, double baseline) const {
    EvalResult result;
    result.headline = "on.k2.s0";
    result.columns = {"baseline.k0.s0", "on.k2.s0", "on.k5.s0"};
    GroupResult group;
    group.source = "all";
    FilteredRow whole;
    whole.systems = {{"baseline.k0.s0", baseline, {}}, {"on.k2.s0", on, {}}, {"on.k5.s0", on5, {}}};
    group.filtered = {whole};
    result.groups = {group};
    const fs::path eval = directory_ / "runs" / row / fmt::format("seed_{}", seed) / "eval";
    fs::create_directories(eval);
    write_file(eval / "result.json", to_json(result));
  }
  fs::path directory_;
};

constexpr const char* kRows =
    "rows:\n"
    "  - {name: Full model, paper: 0.8}\n"
    "  - {name: no query, paper: 0.9, overrides: [\"model.encoder.query_conditioning=false\"]}\n"
    "  - {name: k 5, run: Full model, column: on.k5.s0}\n"
    "  - {name: none, run: Full model, column: baseline}\n";

TEST_F(AblationsTest, MeansSpreadsAndPairedDifferencesByHand) {
  const AblationList list = load(kRows);
  finish("full_model", 0, 1.0, 1.1, 2.0);
  finish("full_model", 1, 1.2, 1.1, 2.0);
  finish("full_model", 2, 1.4, 1.1, 2.0);
  finish("no_query", 0, 1.1, 0, 0);
  finish("no_query", 2, 1.7, 0, 0);
  const auto figures = ablation_figures(list);
  ASSERT_EQ(figures.size(), 4u);
  EXPECT_NEAR(figures[0].mean, 1.2, 1e-12);
  EXPECT_NEAR(figures[0].spread, 0.2, 1e-12);
  EXPECT_NEAR(figures[0].difference, 0, 1e-12);
  EXPECT_EQ(figures[1].bits_per_byte.size(), 2u);  // seed 1 is not finished
  EXPECT_NEAR(figures[1].mean, 1.4, 1e-12);
  EXPECT_NEAR(figures[1].difference, 0.2, 1e-12);  // 0.1 and 0.3
  EXPECT_NEAR(figures[1].difference_spread, std::sqrt(0.02), 1e-12);
  EXPECT_NEAR(figures[1].paper_difference, 0.1, 1e-12);
  EXPECT_NEAR(figures[2].mean, 1.1, 1e-12);
  EXPECT_NEAR(figures[2].difference, -0.1, 1e-12);
  EXPECT_TRUE(std::isnan(figures[2].paper));
  EXPECT_NEAR(figures[3].mean, 2.0, 1e-12);
  const std::string table = format_ablations(list, figures);
  EXPECT_THAT(table,
              HasSubstr("| no query | 2 | 1.4000 ± 0.4243 | +0.2000 ± 0.1414 | 0.900 | +0.100 |"));
  EXPECT_THAT(ablations_json(list, figures), HasSubstr("\"format\": \"retro ablations\""));
}

TEST_F(AblationsTest, NothingFinishedIsAnEmptyTable) {
  const auto figures = ablation_figures(load(kRows));
  EXPECT_TRUE(figures[0].bits_per_byte.empty());
  EXPECT_TRUE(std::isnan(figures[0].mean));
}

TEST_F(AblationsTest, ListsAreChecked) {
  EXPECT_THAT(message("rows: []\n"), HasSubstr("rows or seeds are missing"));
  EXPECT_THAT(message("rows: [{name: a}, {name: A}]\n"), HasSubstr("two rows are named"));
  EXPECT_THAT(message("rows: [{name: a, run: b}]\n"), HasSubstr("no row is named \"b\""));
  EXPECT_THAT(message("rows: [{name: a}, {name: c, run: a, overrides: [x=1]}]\n"),
              HasSubstr("cannot have overrides"));
  EXPECT_EQ(folder_name("CCA in the top layer (5)"), "cca_in_the_top_layer_5");
}

/// Every list in configs/ablations, each row of it as a run's configuration.
TEST(Ablations, ShippedListsAreValidConfigurations) {
  const fs::path before = fs::current_path();
  fs::current_path(kProject);
  int num_rows = 0;
  for (const auto& entry : fs::directory_iterator("configs/ablations")) {
    const std::string name = entry.path().filename();
    if (name == "base.yaml" || name == "small.yaml") continue;  // what rows change, not lists
    const AblationList list = load_ablations(entry.path());
    EXPECT_EQ(list.seeds.size(), 3u) << entry.path();
    for (const AblationRow& row : list.rows) {
      EXPECT_NO_THROW(load_run_config(list.base, row.overrides)) << entry.path() << row.name;
      ++num_rows;
    }
  }
  EXPECT_GT(num_rows, 25);
  fs::current_path(before);
}

}  // namespace
}  // namespace retro
