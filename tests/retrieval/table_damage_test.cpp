// Flipped and missing bytes in every file of a neighbour table and of its query keys: refused with
// the file's name, never a crash.
#include <string>

#include <gtest/gtest.h>

#include "retro/retrieval/verification.h"

#include "table_test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::TableFixture;

class TableDamage : public ::testing::Test {
 protected:
  TableDamage() { fixture_.build(grid_, 3); }

  /// Opens and verifies. What goes wrong, or nothing.
  std::string complaint() const {
    try {
      verify_neighbour_table(fixture_.directory("table"), grid_.hash());
      verify_grid_keys(
          open_grid_keys(grid_, fixture_.database(), fixture_.directory("table_keys")));
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  template <class Check>
  void for_each_file(Check check) {
    for (const char* folder : {"table", "table_keys"}) {
      const fs::path root = fixture_.directory(folder);
      const auto files = testing::tree_of(root);
      EXPECT_GE(files.size(), 3U);
      for (const auto& [name, content] : files) {
        check(root / name, content);
        testing::spill(root / name, content);
        ASSERT_EQ(complaint(), "") << name;
      }
    }
  }

  TableFixture fixture_{testing::database_and_held_out(60, 20)};
  ChunkGrid grid_ = fixture_.held_out_grid();
};

TEST_F(TableDamage, TruncatedFilesAreRefusedByName) {
  for_each_file([&](const fs::path& path, const std::string& content) {
    for (const size_t size : {size_t{0}, size_t{1}, content.size() / 2, content.size() - 1}) {
      testing::spill(path, content.substr(0, size));
      EXPECT_THAT(complaint(), HasSubstr(path.filename().string())) << path << " cut to " << size;
    }
  });
}

TEST_F(TableDamage, FlippedBytesAreRefusedByName) {
  for_each_file([&](const fs::path& path, const std::string& content) {
    const size_t step = std::max<size_t>(1, content.size() / 200);
    for (size_t i = 0; i < content.size(); i += step) {
      for (const std::string& damaged : testing::damaged_at(content, i)) {
        testing::spill(path, damaged);
        EXPECT_THAT(complaint(), HasSubstr(path.filename().string())) << path << " byte " << i;
      }
    }
  });
}

TEST_F(TableDamage, MissingFilesAreRefusedByName) {
  for_each_file([&](const fs::path& path, const std::string&) {
    if (path.filename() == "made_from.txt") return;  // only a build needs it
    fs::remove(path);
    EXPECT_THAT(complaint(), HasSubstr(path.filename().string()));
  });
}

}  // namespace
}  // namespace retro
