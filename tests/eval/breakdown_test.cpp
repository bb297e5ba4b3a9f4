#include "retro/eval/breakdown.h"

#include <cmath>
#include <map>
#include <numbers>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/json.h"

#include "eval/tiny_evaluation.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::random_model;
using testing::TinyEvaluation;

/// Passes of windows and half of the database beside the usual ones.
class BreakdownTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = new TinyEvaluation();
    RetroModel model = random_model(false, 1);
    RetroModel baseline = random_model(true, 2);
    run_columns(model, &baseline, config(), inputs(), shared_->output());
    for (const ColumnKey& column : variant_columns(config(), inputs())) {
      run_column(column.kind == "baseline" ? baseline : model, column, config(), inputs(),
                 shared_->output());
    }
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  static EvalConfig config() {
    EvalConfig config = TinyEvaluation::config();
    config.windows = {0.5, 0.75};
    config.database_fractions = {0.5};
    config.min_chunks = 1;
    return config;
  }
  static EvalInputs inputs() {
    static const ByteTokenizer kTokenizer;
    EvalInputs inputs = shared_->inputs();
    inputs.tokenizer = &kTokenizer;
    // Any other table stands for the limited one.
    inputs.fractions = {{0.5, inputs.group_table}};
    return inputs;
  }
  static Breakdown breakdown() { return break_down(config(), inputs(), shared_->output()); }

  struct Sum {
    double nats = 0;
    int64_t bytes = 0;
    int64_t tokens = 0;
  };
  /// Every loss of a file, counted once.
  static Sum whole(const std::string& column) {
    const LossFile file(shared_->output() / (column + ".eval"));
    Sum sum;
    for (int64_t row = 0; row < file.num_rows(); ++row) {
      sum.bytes += file.bytes(row);
      for (const float nats : file.token_nats(row)) {
        if (std::isnan(nats)) continue;
        sum.nats += static_cast<double>(nats);
        ++sum.tokens;
      }
    }
    return sum;
  }

  static TinyEvaluation* shared_;
};

TinyEvaluation* BreakdownTest::shared_ = nullptr;

TEST_F(BreakdownTest, ThePartsOfEveryPartitionSumToTheWhole) {
  std::map<std::string, std::map<std::string, Sum>> by_source;  // partition, source
  for (const Partition& partition : breakdown().partitions) {
    for (size_t s = 0; s < partition.parts[0].systems.size(); ++s) {
      const std::string column = partition.parts[0].systems[s].column;
      Sum sum;
      for (const BreakdownPart& part : partition.parts) {
        sum.nats += part.nats[s];
        sum.bytes += part.bytes;
        sum.tokens += part.tokens;
      }
      by_source[partition.name + " " + column][partition.source] = sum;
    }
  }
  EXPECT_EQ(by_source.size(), 3u * 4u);  // baseline, off, k = 2, k = 1
  for (auto& [name, sums] : by_source) {
    const Sum expected = whole(name.substr(name.find(' ') + 1));
    EXPECT_EQ(sums["all"].tokens, expected.tokens) << name;
    EXPECT_EQ(sums["all"].bytes, expected.bytes) << name;
    EXPECT_NEAR(sums["all"].nats, expected.nats, 1e-9 * expected.nats) << name;
    // So do the sources.
    EXPECT_EQ(sums["prose"].tokens + sums["lists"].tokens, expected.tokens) << name;
    EXPECT_EQ(sums["prose"].bytes + sums["lists"].bytes, expected.bytes) << name;
    EXPECT_NEAR(sums["prose"].nats + sums["lists"].nats, expected.nats, 1e-9 * expected.nats);
  }
}

TEST_F(BreakdownTest, GainsAreTheDifferencesOfTheColumnsBesideThem) {
  int64_t compared = 0;
  const auto compare = [&compared](const std::vector<SystemFigure>& systems, double reference) {
    for (const SystemFigure& system : systems) {
      if (std::isnan(system.bits_per_byte)) continue;
      EXPECT_NEAR(system.gain.estimate, reference - system.bits_per_byte, 1e-9) << system.column;
      ++compared;
    }
  };
  const Breakdown result = breakdown();
  for (const Partition& partition : result.partitions) {
    for (const BreakdownPart& part : partition.parts)
      compare(part.systems, part.systems.front().bits_per_byte);
  }
  for (const VariantRow& row : result.windows)
    compare(row.systems, row.systems.front().bits_per_byte);
  EXPECT_GT(compared, 100);
}

TEST_F(BreakdownTest, RowsOfTooFewChunksAreMarkedAndShowNoFigures) {
  EvalConfig asked = config();
  asked.min_chunks = 12;  // prose has 17, lists 9
  const Breakdown result = break_down(asked, inputs(), shared_->output());
  for (const auto* rows : {&result.windows, &result.database}) {
    for (const VariantRow& row : *rows) EXPECT_EQ(row.is_too_few, row.source == "lists");
  }
  const nlohmann::json json = parse_json(to_json(result), "breakdown");
  for (const auto& row : json.at("windows"))
    EXPECT_EQ(row.at("is_too_few"), row.at("source") == "lists");
  int64_t few = 0;
  std::istringstream lines(format_breakdown(result));
  for (std::string line; std::getline(lines, line);) {
    const bool is_few = line.find("too few") != std::string::npos;
    few += is_few;
    // The fourth document alone has at most four tokens.
    if (line.starts_with("  lists ") || line.starts_with("  0 to 4 tokens")) {
      EXPECT_TRUE(is_few) << line;
    }
    if (is_few) {
      EXPECT_EQ(line.find('.'), std::string::npos) << line;
    }
  }
  EXPECT_GE(few, 6);
}

TEST_F(BreakdownTest, PartsHoldWhatTheirRangesSay) {
  for (const Partition& partition : breakdown().partitions) {
    if (partition.source != "prose") continue;
    if (partition.name == "document_length") {
      // Of 22, 9, 28 and 4 characters, with an end-of-document token where the last chunk has room.
      EXPECT_EQ(partition.parts[0].to, 4);
      EXPECT_EQ(partition.parts[0].tokens, 4);
      EXPECT_EQ(partition.parts[0].documents, 1);
      EXPECT_EQ(partition.parts[1].tokens, 9 + 1);
      EXPECT_EQ(partition.parts[2].tokens, 22 + 1 + 28);
      EXPECT_EQ(partition.parts[2].bytes, 22 + 28);
      EXPECT_EQ(partition.parts.back().to, -1);
    } else if (partition.name == "position_in_chunk") {
      // Chunks of 4 in parts of one token: 6 + 3 + 7 + 1 chunks; the last of the first two is
      // short.
      ASSERT_EQ(partition.parts.size(), 4u);
      EXPECT_EQ(partition.parts[0].tokens, 17);
      EXPECT_EQ(partition.parts[1].tokens, 17);  // one of them ends a document
      EXPECT_EQ(partition.parts[1].bytes, 16);
      EXPECT_EQ(partition.parts[3].tokens, 15);
    } else {
      EXPECT_EQ(partition.parts[0].tokens, 4 * 4);  // everyone's first chunk
      EXPECT_EQ(partition.parts[0].documents, 4);
      EXPECT_EQ(partition.parts[1].documents, 3);
    }
  }
}

TEST_F(BreakdownTest, WordsAreCountedWhereTheyBegin) {
  const Breakdown result = breakdown();
  ASSERT_EQ(result.words.size(), 3u);
  EXPECT_EQ(result.words[0].words, 6 + 3 + 7 + 1);
  EXPECT_EQ(result.words[1].words, 4 + 3);
  EXPECT_EQ(result.words[2].words, 24);
  const Sum off = whole("off.k0.s0");
  EXPECT_EQ(result.words[2].systems[1].column, "off.k0.s0");
  EXPECT_NEAR(result.words[2].systems[1].perplexity, std::exp(off.nats / 24), 1e-6);
}

TEST_F(BreakdownTest, WindowsScoreTheSameTextWithMoreContext) {
  const Breakdown result = breakdown();
  ASSERT_EQ(result.windows.size(), 3u * 3u);
  for (const VariantRow& row : result.windows) {
    if (row.source != "all") continue;
    const std::string variant = row.share == 0 ? "" : fmt::format(".w{:g}", 100 * row.share);
    ASSERT_EQ(row.systems.size(), 3u);
    for (const SystemFigure& system : row.systems) {
      EXPECT_TRUE(system.column.ends_with(".s0" + variant)) << system.column;
      const Sum expected = whole(system.column);
      EXPECT_EQ(expected.bytes, row.bytes);
      EXPECT_EQ(expected.tokens, whole("off.k0.s0").tokens);
      EXPECT_NEAR(system.bits_per_byte,
                  expected.nats / std::numbers::ln2 / static_cast<double>(row.bytes), 1e-9);
    }
    EXPECT_EQ(row.systems[0].gain.estimate, 0.0);
  }
  EXPECT_NE(result.windows[0].systems[1].bits_per_byte, result.windows[1].systems[1].bits_per_byte);
}

TEST_F(BreakdownTest, SharesOfTheDatabaseEndWithTheWhole) {
  const Breakdown result = breakdown();
  ASSERT_EQ(result.database.size(), 3u * 2u);
  EXPECT_EQ(result.database[0].share, 0.5);
  EXPECT_EQ(result.database[0].systems[0].column, "on.k2.s0.d50");
  EXPECT_EQ(result.database[1].share, 1.0);
  EXPECT_EQ(result.database[1].systems[0].column, "on.k2.s0");
}

TEST_F(BreakdownTest, AWindowThatBreaksTheGridIsRefusedWithTheSmallestLength) {
  EvalConfig asked = config();
  asked.windows = {0.875};  // of windows of 4 chunks
  RetroModel model = random_model(false, 1);
  try {
    run_column(model, {"off", 0, 0, "w87.5"}, asked, inputs(), shared_->output());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the smallest length is 32 tokens"));
  }
  asked.windows = {0.75, 0.5};
  EXPECT_THROW(variant_columns(asked, inputs()), Error);
}

TEST_F(BreakdownTest, JsonAndTables) {
  const Breakdown result = breakdown();
  const nlohmann::json json = parse_json(to_json(result), "breakdown");
  EXPECT_EQ(json.at("format"), "retro breakdown");
  EXPECT_EQ(json.at("partitions").size(), 9u);
  EXPECT_EQ(json.at("words")[2].at("words"), 24);
  const auto& part = json.at("partitions")[0].at("parts")[0];
  EXPECT_DOUBLE_EQ(part.at("systems")[0].at("nats").get<double>(),
                   result.partitions[0].parts[0].nats[0]);
  const std::string table = format_breakdown(result);
  EXPECT_THAT(table, HasSubstr("all by document_length"));
  EXPECT_THAT(table, HasSubstr("all: perplexity of a word, 24 words"));
  EXPECT_THAT(table, HasSubstr("share of the database's documents"));
}

}  // namespace
}  // namespace retro
