#include "retro/eval/loss_file.h"

#include <cmath>
#include <fstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

using testing::TemporaryDirectory;

LossDescription description() {
  LossDescription result;
  result.column = {"on", 2, 4};
  result.model = "weights";
  result.grid_hash = "grid";
  result.neighbours = "table";
  result.chunk_length = 3;
  result.sequence_length = 12;
  result.window_overlap = 0.5;
  return result;
}

class LossFileTest : public ::testing::Test {
 protected:
  void write() {
    write_loss_file(path_, description(), 5, [](LossFileWriter& writer) {
      writer.add(1, 0.5F, 2);
      writer.add(1, 0.25F, 3);
      writer.add(3, 1.0F, 1);
      writer.add(3, 2.0F, 1);
      writer.add(3, 4.0F, 0);
    });
  }
  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "on.k2.s4.eval";
};

TEST_F(LossFileTest, RowsComeBackAndTheRestIsNotScored) {
  write();
  const LossFile file(path_);
  ASSERT_EQ(file.num_rows(), 5);
  EXPECT_EQ(file.description(), description());
  EXPECT_EQ(file.token_nats(1)[0], 0.5F);
  EXPECT_EQ(file.token_nats(1)[1], 0.25F);
  EXPECT_TRUE(std::isnan(file.token_nats(1)[2]));
  EXPECT_EQ(file.nats(1), 0.75);
  EXPECT_EQ(file.bytes(1), 5);
  EXPECT_EQ(file.nats(3), 7.0);
  for (const int64_t row : {0, 2, 4}) {
    EXPECT_FALSE(file.is_scored(row)) << row;
    EXPECT_EQ(file.bytes(row), 0);
  }
}

TEST_F(LossFileTest, AnotherDescriptionIsNotCurrent) {
  EXPECT_FALSE(is_loss_file_current(path_, description()));
  write();
  EXPECT_TRUE(is_loss_file_current(path_, description()));
  LossDescription other = description();
  other.model = "other weights";
  EXPECT_FALSE(is_loss_file_current(path_, other));
}

TEST_F(LossFileTest, AnInterruptedPassLeavesTheOldOne) {
  write();
  LossDescription other = description();
  other.model = "other weights";
  const auto interrupted = [&] {
    write_loss_file(path_, other, 5, [](LossFileWriter& writer) {
      writer.add(0, 1.0F, 1);
      throw std::runtime_error("killed");
    });
  };
  EXPECT_THROW(interrupted(), std::runtime_error);
  EXPECT_TRUE(is_loss_file_current(path_, description()));
}

TEST_F(LossFileTest, RowsMustAscendAndFit) {
  write_loss_file(path_, description(), 5, [](LossFileWriter& writer) {
    writer.add(2, 1.0F, 1);
    EXPECT_THROW(writer.add(1, 1.0F, 1), Error);
    EXPECT_THROW(writer.add(5, 1.0F, 1), Error);
    writer.add(2, 1.0F, 1);
    writer.add(2, 1.0F, 1);
    EXPECT_THROW(writer.add(2, 1.0F, 1), Error);
  });
}

TEST_F(LossFileTest, TruncatedFilesAreRefused) {
  write();
  std::filesystem::resize_file(path_ / "token_nats.bin",
                               std::filesystem::file_size(path_ / "token_nats.bin") - 4);
  EXPECT_THROW(LossFile{path_}, Error);
  EXPECT_FALSE(is_loss_file_current(path_, description()));
}

TEST_F(LossFileTest, ArraysOfAnotherPassAreRefused) {
  write();
  LossDescription other = description();
  other.seed = 9;
  const auto other_path = directory_.path() / "other.eval";
  write_loss_file(other_path, other, 5, [](LossFileWriter&) {});
  std::filesystem::copy_file(other_path / "token_nats.bin", path_ / "token_nats.bin",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THROW(LossFile{path_}, Error);
}

TEST(ColumnKeyTest, NamesAreReadBack) {
  const ColumnKey key{"counterpart_removed", 10, 32};
  EXPECT_EQ(key.name(), "counterpart_removed.k10.s32");
  EXPECT_EQ(parse_column("counterpart_removed.k10.s32"), key);
  EXPECT_THROW(parse_column("on"), Error);
  EXPECT_THROW(parse_column("on.k2"), Error);
  EXPECT_THROW(parse_column("on.k2.s4x"), Error);
}

}  // namespace
}  // namespace retro
