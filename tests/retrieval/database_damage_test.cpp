// Flipped and missing bytes in every file of a database that has lived: refused with the file's
// name, by opening or by verify, never a crash.
#include <string>

#include <gtest/gtest.h>

#include "retro/retrieval/verification.h"

#include "life_test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::LivingDatabase;
using testing::raw_document;

/// Opens, verifies and searches. What goes wrong, or nothing.
std::string complaint_about(const LivingDatabase& living) {
  try {
    const RetrievalDatabase database(living.place().database);
    database.verify();
    const NeighbourIndex index(database, living.place().index);
    verify_index(living.place().index);
    const std::vector<float> query(LivingDatabase::kWidth, 0.5F);
    testing::search(index, query, 3);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

class DatabaseDamage : public ::testing::Test {
 protected:
  DatabaseDamage() {
    living_.add({raw_document("x", "hello world")});
    living_.remove("s", "3");
  }

  /// Calls `check` with each file of database and index that has content.
  template <class Check>
  void for_each_file(Check check) {
    for (const fs::path& root : {living_.place().database, living_.place().index}) {
      for (const auto& [name, content] : testing::tree_of(root)) {
        check(root / name, content);
        testing::spill(root / name, content);
        ASSERT_EQ(complaint_about(living_), "") << name;
      }
    }
  }

  LivingDatabase living_{testing::random_documents(60, 6), "ivf_flat"};
};

TEST_F(DatabaseDamage, TruncatedFilesAreRefusedByName) {
  for_each_file([&](const fs::path& path, const std::string& content) {
    for (const size_t size : {size_t{0}, size_t{1}, content.size() / 2, content.size() - 1}) {
      testing::spill(path, content.substr(0, size));
      EXPECT_THAT(complaint_about(living_), HasSubstr(path.filename().string()))
          << path << " cut to " << size;
    }
  });
}

TEST_F(DatabaseDamage, FlippedBytesAreRefusedByName) {
  for_each_file([&](const fs::path& path, const std::string& content) {
    const size_t step = std::max<size_t>(1, content.size() / 40);
    for (size_t i = 0; i < content.size(); i += step) {
      for (const std::string& damaged : testing::damaged_at(content, i)) {
        testing::spill(path, damaged);
        EXPECT_THAT(complaint_about(living_), HasSubstr(path.filename().string()))
            << path << " byte " << i;
      }
    }
  });
}

TEST_F(DatabaseDamage, MissingFilesAreRefusedByName) {
  for_each_file([&](const fs::path& path, const std::string&) {
    if (path.filename() == "made_from.txt") return;  // only a build needs it
    fs::remove(path);
    EXPECT_THAT(complaint_about(living_), HasSubstr(path.filename().string()));
  });
}

}  // namespace
}  // namespace retro
