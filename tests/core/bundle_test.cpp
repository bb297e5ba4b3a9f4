// Bundles are read by our own reader and by tar; every damaged byte is noticed.
#include "retro/core/bundle.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/array_file.h"
#include "retro/core/file_system.h"
#include "retro/core/file_tree.h"
#include "retro/core/hash.h"
#include "retro/core/mapped_file.h"

#include "core/test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using ::testing::HasSubstr;
using testing::slurp;
using testing::spill;

class BundleTest : public ::testing::Test {
 protected:
  BundleTest() {
    fs::create_directory(scratch_ / "folder");
    spill(scratch_ / "folder" / "large", large_);
    ArrayFileWriter writer(scratch_ / "folder" / "array", {.kind = "numbers"});
    writer.append(std::span<const uint32_t>(numbers_));
    writer.commit();
    write();
  }

  void write() const {
    write_bundle(path_, {{"note.txt", {}, "a note"},
                         {"empty", {}, ""},
                         {"folder/large", scratch_ / "folder" / "large"},
                         {"folder/array", scratch_ / "folder" / "array"}});
  }

  /// Reads all that a program would read. What is wrong with it, or nothing.
  std::string complaint() const {
    try {
      read_file(path_ / "note.txt");
      read_file(path_ / "empty");
      hash_file(path_ / "folder" / "large");
      ArrayFile(path_ / "folder" / "array", {.kind = "numbers", .type = ArrayType::kUint32})
          .verify();
      Bundle(path_).verify();
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  testing::ScratchDirectory scratch_;
  fs::path path_ = scratch_ / "x.retro";
  std::string large_ = std::string(5000, 'l') + "end";
  std::vector<uint32_t> numbers_{3, 1, 4, 1, 5};
};

TEST_F(BundleTest, FilesAreReadWhereTheyLie) {
  EXPECT_EQ(read_file(path_ / "note.txt"), "a note");
  EXPECT_EQ(read_beginning(path_ / "note.txt", 3), "a n");
  EXPECT_EQ(read_file(path_ / "empty"), "");
  EXPECT_EQ(read_file(path_ / "folder" / "large"), large_);
  EXPECT_EQ(hash_file(path_ / "folder" / "large"), hash_text(large_));
  EXPECT_TRUE(MappedFile(path_ / "empty").bytes().empty());
  MappedFile mapped(path_ / "folder" / "large");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(mapped.bytes().data()) % 64, 0U);
  MappedFile moved = std::move(mapped);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(moved.bytes().data()), moved.bytes().size()),
            large_);
  const ArrayFile array(path_ / "folder" / "array",
                        {.kind = "numbers", .type = ArrayType::kUint32});
  EXPECT_TRUE(std::ranges::equal(array.values<uint32_t>(), numbers_));
  EXPECT_EQ(tree_size_bytes(path_ / "folder"), large_.size() + 128 + 4 * numbers_.size());
}

TEST_F(BundleTest, PathsLeadIntoIt) {
  for (const char* name : {"note.txt", "folder", "folder/large", "folder/"}) {
    EXPECT_TRUE(path_exists(path_ / name)) << name;
  }
  for (const char* name : {"note", "fold", "folder/small", "note.txt/more"}) {
    EXPECT_FALSE(path_exists(path_ / name)) << name;
  }
  EXPECT_TRUE(path_exists(scratch_ / "folder"));
  EXPECT_FALSE(path_exists(scratch_ / "folder" / "large" / "below"));
  EXPECT_TRUE(is_bundle(path_));
  EXPECT_FALSE(is_bundle(scratch_ / "folder" / "large"));
  EXPECT_FALSE(is_bundle(scratch_ / "nothing"));
  EXPECT_THAT(error_of([&] { read_file(path_ / "folder" / "small"); }),
              HasSubstr("x.retro/folder/small"));
  EXPECT_THAT(error_of([&] { refuse_bundle(path_ / "folder"); }), HasSubstr("tar -xf"));
  EXPECT_NO_THROW(refuse_bundle(scratch_ / "folder"));
}

TEST_F(BundleTest, TarUnpacksIt) {
  const fs::path out = scratch_ / "out";
  fs::create_directory(out);
  ASSERT_EQ(std::system(("tar -xf " + path_.string() + " -C " + out.string()).c_str()), 0);
  EXPECT_EQ(slurp(out / "note.txt"), "a note");
  EXPECT_EQ(slurp(out / "folder" / "large"), large_);
  EXPECT_EQ(slurp(out / "folder" / "array"), slurp(scratch_ / "folder" / "array"));
  EXPECT_TRUE(fs::exists(out / "empty"));
}

TEST_F(BundleTest, EqualContentGivesEqualBytes) {
  const std::string before = slurp(path_);
  write();
  EXPECT_EQ(slurp(path_), before);
}

TEST_F(BundleTest, EveryFlippedByteIsNoticed) {
  const std::string whole = slurp(path_);
  ASSERT_EQ(complaint(), "");
  for (size_t i = 0; i < whole.size(); i += i < 4000 ? 7 : 31) {
    for (const std::string& damaged : testing::damaged_at(whole, i)) {
      spill(path_, damaged);
      EXPECT_THAT(complaint(), HasSubstr("x.retro")) << "byte " << i;
    }
  }
}

TEST_F(BundleTest, EveryLengthIsNoticed) {
  const std::string whole = slurp(path_);
  for (size_t size = 0; size < whole.size(); size += 61) {
    spill(path_, whole.substr(0, size));
    EXPECT_THAT(complaint(), HasSubstr("x.retro")) << size;
  }
  spill(path_, whole + "more");
  EXPECT_THAT(complaint(), HasSubstr("too long"));
}

TEST_F(BundleTest, ForeignFilesAreNotReplaced) {
  EXPECT_THAT(error_of([&] { write_bundle(scratch_ / "folder" / "large", {}); }),
              HasSubstr("is there already and is no bundle"));
  EXPECT_THAT(error_of([&] { write_bundle(scratch_ / "folder", {}); }), HasSubstr("no bundle"));
}

TEST_F(BundleTest, AMissingSourceLeavesTheOldBundle) {
  const std::string before = slurp(path_);
  EXPECT_THROW(write_bundle(path_, {{"a", scratch_ / "nothing"}}), Error);
  EXPECT_EQ(slurp(path_), before);
  EXPECT_EQ(scratch_.names(), (std::set<std::string>{"folder", "x.retro"}));
}

TEST_F(BundleTest, LongNamesAreRefused) {
  EXPECT_THAT(error_of([&] {
                write_bundle(scratch_ / "y", {{std::string(100, 'n'), {}, ""}});
              }),
              HasSubstr("1 to 99 bytes"));
}

}  // namespace
}  // namespace retro
