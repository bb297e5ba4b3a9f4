#include "retro/core/json.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace retro {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::error_of;

TEST(Json, FileRoundTrip) {
  const testing::ScratchDirectory scratch;
  write_json_file(scratch / "a.json", json{{"b", 1}, {"a", {1, 2}}});
  EXPECT_EQ(testing::slurp(scratch / "a.json"),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": 1\n}\n");
  EXPECT_EQ(read_json_file(scratch / "a.json"), (json{{"b", 1}, {"a", {1, 2}}}));
}

TEST(Json, ErrorsNameFileLineAndColumn) {
  const testing::ScratchDirectory scratch;
  testing::spill(scratch / "a.json", "{\n  \"a\": 1,\n  b: 2\n}\n");
  EXPECT_EQ(error_of([&] { read_json_file(scratch / "a.json"); }),
            (scratch / "a.json").string() + ":3:3: not valid JSON");
  EXPECT_EQ(error_of([] { parse_json("", "empty"); }), "empty:1:1: not valid JSON");
  EXPECT_EQ(error_of([] { parse_json("{\"a\": 1e999}", "f"); }),
            "f: a number in the JSON is out of range");
  EXPECT_EQ(error_of([&] { read_json_file("/nowhere.json"); }),
            "/nowhere.json: cannot read: No such file or directory");
}

TEST(Json, LineHasNoNewlineAndRepairsBrokenText) {
  EXPECT_EQ(json_line(json{{"t", "a\nb\xff"}}), "{\"t\":\"a\\nb\xef\xbf\xbd\"}");
}

TEST(Json, GetConvertsWhatFits) {
  const json object = json::parse(
      R"({"i": 5, "n": -5, "d": 1.5, "s": "x", "b": true, "l": [1, 2], "e": [], "z": null})");
  EXPECT_EQ(json_get<int64_t>(object, "i", "f"), 5);
  EXPECT_EQ(json_get<double>(object, "i", "f"), 5.0);
  EXPECT_EQ(json_get<double>(object, "d", "f"), 1.5);
  EXPECT_EQ(json_get<std::string>(object, "s", "f"), "x");
  EXPECT_TRUE(json_get<bool>(object, "b", "f"));
  EXPECT_THAT(json_get<std::vector<int64_t>>(object, "l", "f"), ElementsAre(1, 2));
  EXPECT_TRUE(json_get<std::vector<double>>(object, "e", "f").empty());
  EXPECT_EQ(json_get_or<int64_t>(object, "i", 7, "f"), 5);
  EXPECT_EQ(json_get_or<int64_t>(object, "absent", 7, "f"), 7);
  EXPECT_EQ(json_get_or<int64_t>(object, "z", 7, "f"), 7);
}

TEST(Json, GetRefusesWhatDoesNotFit) {
  const json object =
      json::parse(R"({"d": 1.5, "n": -1, "big": 300, "s": "x", "l": [1, "x"], "z": null})");
  EXPECT_EQ(error_of([&] { json_get<int64_t>(object, "absent", "f.json"); }),
            "f.json: `absent` is missing");
  EXPECT_EQ(error_of([&] { json_get<int64_t>(object, "d", "f.json"); }),
            "f.json: `d` has an unexpected value: 1.5");
  EXPECT_NE(error_of([&] { json_get<uint64_t>(object, "n", "f"); }), "");
  EXPECT_NE(error_of([&] { json_get<uint8_t>(object, "big", "f"); }), "");
  EXPECT_NE(error_of([&] { json_get<bool>(object, "n", "f"); }), "");
  EXPECT_NE(error_of([&] { json_get<std::string>(object, "n", "f"); }), "");
  EXPECT_NE(error_of([&] { json_get<double>(object, "s", "f"); }), "");
  EXPECT_NE(error_of([&] { json_get<double>(object, "z", "f"); }), "");
  EXPECT_EQ(error_of([&] { json_get<std::vector<int64_t>>(object, "l", "f"); }),
            "f: `l` has an unexpected value: \"x\"");
  EXPECT_NE(error_of([&] { json_get<std::vector<int64_t>>(object, "d", "f"); }), "");
  EXPECT_NE(error_of([&] { json_get_or<int64_t>(object, "s", 7, "f"); }), "")
      << "a wrong type is no absence";
  EXPECT_EQ(error_of([&] { json_get<int64_t>(json::array(), "a", "f"); }),
            "f: expected an object with `a`");
}

TEST(Json, DeepNestingIsRefusedBeforeItEndsTheProgram) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_THAT(testing::error_of([&] { parse_json(deep, "deep"); }),
              ::testing::HasSubstr("deep: JSON nested more than 1000 deep"));
  EXPECT_NO_THROW(parse_json("{\"text\": \"" + std::string(2000, '[') + "\\\"\"}", "text"));
  EXPECT_NO_THROW(parse_json(std::string(400, '[') + std::string(400, ']'), "flat"));
}

}  // namespace
}  // namespace retro
