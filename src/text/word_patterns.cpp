#include "word_patterns.h"

#include <algorithm>
#include <span>
#include <vector>

#include "retro/core/json.h"

namespace retro {
namespace {

using nlohmann::json;

/// A regular expression that cuts words, as model files write it.
struct KnownPattern {
  const char* expression;
  PreTokenizer pre_tokenizer;
};

const KnownPattern kPatterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     {WordPattern::kGpt2}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {WordPattern::kLlama3}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {WordPattern::kLlama3, false, 1}},
};

PreTokenizer pattern_of(const std::string& expression, const std::string& where) {
  for (const auto& [known, pre_tokenizer] : kPatterns) {
    if (expression == known) return pre_tokenizer;
  }
  throw Error(
      fmt::format("{}: its pre-tokenizer splits by a regular expression that is not "
                  "supported (those of GPT-2, Llama 3 and Qwen 2 are): {:.60}",
                  where, expression));
}

std::string type_of(const json& value, const std::string& where) {
  return json_get<std::string>(value, "type", where);
}

/// The steps, one after another, of a Sequence or of a pre-tokenizer on its own.
std::vector<json> steps_of(const json& value, const std::string& where) {
  RETRO_CHECK(value.is_object(),
              "{}: has no pre-tokenizer; expected that of a byte-level BPE model", where);
  if (type_of(value, where) != "Sequence") return {value};
  const json& steps = json_at(value, "pretokenizers", where);
  RETRO_CHECK(steps.is_array(), "{}: `pretokenizers` is not a list", where);
  return {steps.begin(), steps.end()};
}

std::string expression_of(const json& split, const std::string& where) {
  RETRO_CHECK(json_get<std::string>(split, "behavior", where) == "Isolated" &&
                  !json_get_or(split, "invert", false, where),
              "{}: its pre-tokenizer splits otherwise than by isolating words", where);
  return json_get<std::string>(json_at(split, "pattern", where), "Regex", where);
}

}  // namespace

PreTokenizer read_pre_tokenizer(const json& value, const std::string& where) {
  const std::vector<json> steps = steps_of(value, where);
  const auto type = [&](size_t i) { return i < steps.size() ? type_of(steps[i], where) : ""; };
  const bool isolates_digits =
      type(0) == "Digits" && json_get_or(steps[0], "individual_digits", false, where);
  size_t next = isolates_digits ? 1 : 0;
  PreTokenizer pre_tokenizer;
  const bool splits = type(next) == "Split";
  if (splits) pre_tokenizer = pattern_of(expression_of(steps[next++], where), where);
  // ByteLevel comes last; it cuts words itself unless a Split has done so.
  const bool ends_well = next + 1 == steps.size() && type(next) == "ByteLevel" &&
                         json_get_or(steps[next], "use_regex", true, where) != splits;
  RETRO_CHECK(
      ends_well,
      "{}: its pre-tokenizer is not supported; expected ByteLevel, alone or after Digits or "
      "Split: {:.80}",
      where, json_line(value));
  pre_tokenizer.isolates_digits = isolates_digits;
  return pre_tokenizer;
}

json pre_tokenizer_json(const PreTokenizer& pre_tokenizer) {
  PreTokenizer plain = pre_tokenizer;
  plain.isolates_digits = false;
  const auto known = std::find_if(std::begin(kPatterns), std::end(kPatterns),
                                  [&](const auto& each) { return each.pre_tokenizer == plain; });
  RETRO_CHECK(known != std::end(kPatterns), "words of {} digits have no tokenizer.json",
              plain.longest_number);
  json steps = json::array();
  if (pre_tokenizer.isolates_digits)
    steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  steps.push_back({{"type", "Split"},
                   {"pattern", {{"Regex", known->expression}}},
                   {"behavior", "Isolated"},
                   {"invert", false}});
  steps.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", false},
                   {"trim_offsets", true},
                   {"use_regex", false}});
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

PreTokenizer pre_tokenizer_of_gguf(const std::string& name, const std::string& where) {
  const auto is_one_of = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_one_of({"gpt-2", "phi-2", "olmo", "jais"})) return {WordPattern::kGpt2};
  if (is_one_of({"smollm", "starcoder", "refact", "command-r", "codeshell"}))
    return {WordPattern::kGpt2, true};
  if (is_one_of({"llama3", "llama-v3", "llama-bpe"})) return {WordPattern::kLlama3};
  if (name == "qwen2") return {WordPattern::kLlama3, false, 1};
  throw Error(
      fmt::format("{}: its pre-tokenizer `{}` is not supported; known are gpt-2, smollm, "
                  "llama-bpe, qwen2 and their like",
                  where, name.empty() ? "(none named)" : name));
}

}  // namespace retro
