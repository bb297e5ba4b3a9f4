#include "retro/core/checked_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/json.h"

#include "core/test_support.h"

namespace retro {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::slurp;
using testing::spill;

const nlohmann::json kObject{{"name", "caf\xC3\xA9"},
                             {"count", 3},
                             {"share", 0.1},
                             {"list", {1, -2, 1e300}},
                             {"none", nullptr}};

TEST(CheckedJson, ComesBackWithoutItsChecksum) {
  const testing::ScratchDirectory scratch;
  write_checked_json(scratch / "a.json", kObject);
  EXPECT_EQ(read_checked_json(scratch / "a.json"), kObject);
  EXPECT_TRUE(read_json_file(scratch / "a.json").contains("checksum"));
}

TEST(CheckedJson, EveryFlippedOrMissingByteIsNoticed) {
  const testing::ScratchDirectory scratch;
  write_checked_json(scratch / "a.json", kObject);
  const std::string text = slurp(scratch / "a.json");
  for (size_t i = 0; i < text.size(); ++i) {
    for (const std::string& damaged : testing::damaged_at(text, i)) {
      spill(scratch / "a.json", damaged);
      EXPECT_THAT(error_of([&] { read_checked_json(scratch / "a.json"); }), HasSubstr("a.json"));
    }
    spill(scratch / "a.json", text.substr(0, i));
    EXPECT_THAT(error_of([&] { read_checked_json(scratch / "a.json"); }), HasSubstr("a.json"));
  }
}

TEST(CheckedJson, FilesOfOlderProgramsHaveNone) {
  const std::string text = "{\"name\": 1}";
  EXPECT_EQ(parse_checked_json(text, "old", 1).at("name"), 1);
  EXPECT_EQ(parse_checked_json("{\"format_version\": 2}", "old", 3).at("format_version"), 2);
  EXPECT_THAT(error_of([&] { parse_checked_json("{\"format_version\": 3}", "new", 3); }),
              HasSubstr("new: `checksum` is missing"));
  EXPECT_THAT(error_of([&] { parse_checked_json(text, "old"); }),
              HasSubstr("old: `checksum` is missing"));
}

TEST(CheckedJson, BrokenTextIsReplacedBeforeItIsHashed) {
  const std::string text = checked_json_text({{"name", "broken \xFF"}});
  EXPECT_EQ(parse_checked_json(text, "x").at("name"), "broken \xEF\xBF\xBD");
}

}  // namespace
}  // namespace retro
