#include <gtest/gtest.h>

#include "run_files.h"

namespace retro {
namespace {

TEST(FlattenConfig, NestsMappingsAndNamesListItems) {
  const auto settings = flatten_config(
      "seed: 1\n"
      "corpus:\n"
      "  sources:\n"
      "    - name: one\n"
      "      path: /a: b\n"
      "    - name: two\n"
      "  share: 0.5\n"
      "model:\n"
      "  encoder:\n"
      "    width: 3\n"
      "  layers: [1, 2]\n"
      "items:\n"
      "  - key: x\n"
      "  - key: y\n"
      "# a comment: not a key\n");
  const std::map<std::string, std::string> expected{{"seed", "1"},
                                                    {"corpus.sources.one.name", "one"},
                                                    {"corpus.sources.one.path", "/a: b"},
                                                    {"corpus.sources.two.name", "two"},
                                                    {"corpus.share", "0.5"},
                                                    {"model.encoder.width", "3"},
                                                    {"model.layers", "[1, 2]"},
                                                    {"items.0.key", "x"},
                                                    {"items.1.key", "y"}};
  EXPECT_EQ(settings, expected);
}

TEST(FlattenConfig, AnEmptyTextHasNoSettings) { EXPECT_TRUE(flatten_config("").empty()); }

}  // namespace
}  // namespace retro
