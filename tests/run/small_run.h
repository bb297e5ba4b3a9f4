// A run of a few documents: trained for two steps, with a database of its own, in a few seconds.
#pragma once

#include <string>
#include <vector>

#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/run/run_config.h"
#include "retro/run/whole_run.h"

#include "core/test_support.h"

namespace retro::testing {

class SmallRun {
 public:
  /// A document of the database (source "stored") that begins like no other.
  static constexpr const char* kMarkedId = "105";
  static constexpr const char* kMark = "zanzibar zeppelin zodiac zucchini zigzag. ";

  /// Text and configuration; nothing is made yet.
  SmallRun() {
    write_text("trained.jsonl", 0, 30);
    write_text("database.jsonl", 100, 30);
    write_file(scratch_ / "run.yaml", yaml());
  }

  const std::filesystem::path& directory() const { return scratch_.path(); }
  std::filesystem::path path(const std::string& name) const { return scratch_ / name; }
  RunConfig config() const { return load_run_config(scratch_ / "run.yaml", {}); }
  /// Everything up to the trained model. True if it went well.
  bool make() const {
    return execute_stages(config(), {"tokenizer", "corpus", "database", "index",
                                     "neighbours.training", "train.retro"}) == 0;
  }

 private:
  /// Documents of seven words in changing order.
  void write_text(const std::string& name, int first, int count) const {
    constexpr const char* kWords[] = {"river",  "stone",  "house", "light",
                                      "winter", "garden", "letter"};
    std::string lines;
    for (int document = first; document < first + count; ++document) {
      std::string text = std::to_string(document) == kMarkedId ? kMark : "";
      for (int word = 0; word < 120; ++word) {
        text += kWords[(document * 31 + word * word) % 7];
        text += word % 9 == 8 ? ".\n" : " ";
      }
      lines += json_line({{"id", std::to_string(document)}, {"text", text}}) + "\n";
    }
    write_file(scratch_ / name, lines);
  }

  std::string yaml() const {
    const std::string here = scratch_.path().string();
    return "directory: " + here + "/run\n" + "threads: 1\n" +
           "corpus:\n  deduplicate_database: false\n  sources:\n" +
           "    - {name: trained, path: " + here + "/trained.jsonl, in_database: false}\n" +
           "    - {name: stored, path: " + here + "/database.jsonl, kind: database}\n" +
           R"(tokenizer: {vocabulary: 290}
embed: {model: "hashed:16"}
database: {chunk_length: 16}
model:
  {chunk_length: 16, width: 16, layers: 2, heads: 2, head_width: 8, cca_layers: [1],
   encoder: {layers: 1, width: 16, heads: 2, head_width: 8, cross_attention_layers: [0]}}
train: {steps: 2, sequence_length: 64, warmup_steps: 1, neighbours: [1], validation_every: 0}
eval: {shifts: [0, 4]}
sample: {prompt: "the river", max_tokens: 20, neighbours: 1}
)";
  }

  ScratchDirectory scratch_;
};

}  // namespace retro::testing
