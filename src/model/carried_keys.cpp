#include "retro/model/carried_keys.h"

#include <algorithm>

#include "retro/core/gguf.h"
#include "retro/core/json.h"

#include "families.h"

namespace retro {
namespace {

using nlohmann::json;

struct CarriedKey {
  const char* name;
  const char* gguf_name;
  bool may_be_list;
};

constexpr CarriedKey kKeys[] = {
    {"bos_token_id", "tokenizer.ggml.bos_token_id", false},
    {"eos_token_id", "tokenizer.ggml.eos_token_id", true},
    {"max_position_embeddings", "llama.context_length", false},
};

bool is_count(const json& value) { return json_is<int64_t>(value) && value.get<int64_t>() >= 0; }

bool is_carried(const CarriedKey& key, const json& value) {
  return is_count(value) ||
         (key.may_be_list && value.is_array() && std::ranges::all_of(value, is_count));
}

}  // namespace

std::string carried_keys(const std::filesystem::path& checkpoint) {
  const bool is_directory = std::filesystem::is_directory(checkpoint);
  const json source =
      is_directory ? read_json_file(checkpoint / "config.json") : GgufReader(checkpoint).metadata();
  json carried = json::object();
  for (const CarriedKey& key : kKeys) {
    const auto found = source.find(is_directory ? key.name : key.gguf_name);
    if (found != source.end() && is_carried(key, *found)) carried[key.name] = *found;
  }
  return json_line(carried);
}

void repeat_carried_keys(const std::string& carried, json& config) {
  if (carried.empty()) return;
  const json values = parse_json(carried, kCarriedKeys);
  for (const CarriedKey& key : kKeys) {
    const auto found = values.find(key.name);
    // GPT-2's number of positions is the model's own, and has another name.
    const bool is_limit = std::string_view(key.name) == "max_position_embeddings";
    if (found == values.end() || (is_limit && config.contains("n_positions"))) continue;
    RETRO_CHECK(is_carried(key, *found), "{}: `{}` has an unexpected value", kCarriedKeys,
                key.name);
    config[key.name] = *found;
  }
}

}  // namespace retro
