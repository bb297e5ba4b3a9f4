#include "retro/core/mapped_file.h"

#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "core/test_support.h"

namespace retro {
namespace {

using testing::error_of;
using testing::spill;

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, ShowsTheBytes) {
  const testing::ScratchDirectory scratch;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i);
  spill(scratch / "a", text);
  const MappedFile file(scratch / "a");
  EXPECT_EQ(text_of(file), text);
  EXPECT_EQ(file.path(), scratch / "a");
}

TEST(MappedFile, EmptyFileIsAnEmptySpan) {
  const testing::ScratchDirectory scratch;
  spill(scratch / "a", "");
  EXPECT_TRUE(MappedFile(scratch / "a").bytes().empty());
  EXPECT_TRUE(MappedFile().bytes().empty());
}

TEST(MappedFile, MovesAndNeverCopies) {
  static_assert(!std::is_copy_constructible_v<MappedFile>);
  const testing::ScratchDirectory scratch;
  spill(scratch / "a", "first");
  spill(scratch / "b", "second");
  MappedFile first(scratch / "a");
  MappedFile moved(std::move(first));
  EXPECT_EQ(text_of(moved), "first");
  moved = MappedFile(scratch / "b");
  EXPECT_EQ(text_of(moved), "second");
}

// Readers of the old state go on while a new one takes its name.
TEST(MappedFile, OutlivesTheReplacementOfItsFile) {
  const testing::ScratchDirectory scratch;
  spill(scratch / "a", "old");
  const MappedFile file(scratch / "a");
  spill(scratch / "b", "new state");
  std::filesystem::rename(scratch / "b", scratch / "a");
  EXPECT_EQ(text_of(file), "old");
}

TEST(MappedFile, AdviceChangesNothing) {
  const testing::ScratchDirectory scratch;
  spill(scratch / "a", "text");
  const MappedFile file(scratch / "a");
  for (const auto access : {MappedFile::Access::kRandom, MappedFile::Access::kSequential,
                            MappedFile::Access::kNormal}) {
    file.advise(access);
    EXPECT_EQ(text_of(file), "text");
  }
  MappedFile().advise(MappedFile::Access::kRandom);
}

TEST(MappedFile, ErrorsNameThePath) {
  const testing::ScratchDirectory scratch;
  EXPECT_EQ(error_of([&] { MappedFile(scratch / "b"); }),
            (scratch / "b").string() + ": cannot read: No such file or directory");
  EXPECT_EQ(error_of([&] { MappedFile file(scratch.path()); }),
            scratch.path().string() + ": cannot read: not a regular file");
}

}  // namespace
}  // namespace retro
