#include "retro/retrieval/document_selection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "retro/core/error.h"
#include "retro/core/json.h"

namespace retro {
namespace {

constexpr const char* kForm =
    "expected NAME OP VALUE with OP one of = != < <= > >= ~, as in "
    "`year>=1990`";

struct Condition {
  std::string name;
  std::string operation;
  std::string value;
};

Condition parse_condition(const std::string& text) {
  const size_t at = text.find_first_of("=!<>~");
  RETRO_CHECK(at != std::string::npos && at > 0, "condition `{}`: {}", text, kForm);
  const size_t length =
      text.compare(at + 1, 1, "=") == 0 && text[at] != '=' && text[at] != '~' ? 2 : 1;
  Condition condition{text.substr(0, at), text.substr(at, length), text.substr(at + length)};
  RETRO_CHECK(condition.operation != "!", "condition `{}`: {}", text, kForm);
  const auto trim = [](std::string& part) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
  };
  trim(condition.name);
  trim(condition.value);
  return condition;
}

std::optional<double> as_number(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::string> value_of(const DatabaseDocument& document, const std::string& name) {
  if (name == "id") return document.id;
  if (name == "source") return document.source;
  if (name == "group") return document.group;
  if (name == "title") return document.title;
  const nlohmann::json fields = parse_json(document.fields, "fields of " + document.id);
  if (!fields.is_object() || !fields.contains(name) || fields.at(name).is_null()) {
    return std::nullopt;
  }
  return fields.at(name).is_string() ? fields.at(name).get<std::string>()
                                     : json_line(fields.at(name));
}

template <class T>
bool compares(const T& left, const std::string& operation, const T& right) {
  if (operation == "=") return left == right;
  if (operation == "!=") return left != right;
  if (operation == "<") return left < right;
  if (operation == "<=") return left <= right;
  if (operation == ">") return left > right;
  return left >= right;
}

bool holds(const Condition& condition, const DatabaseDocument& document) {
  const auto value = value_of(document, condition.name);
  if (!value) return false;
  if (condition.operation == "~") return value->find(condition.value) != std::string::npos;
  const auto left = as_number(*value);
  const auto right = as_number(condition.value);
  if (left && right) return compares(*left, condition.operation, *right);
  return compares(*value, condition.operation, condition.value);
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::count(names, name) > 0;
}

}  // namespace

std::string document_text(const RetrievalDatabase& database, int64_t document,
                          const Tokenizer& tokenizer) {
  const auto tokens = database.document_tokens(document);
  return tokenizer.decode(std::vector<int32_t>(tokens.begin(), tokens.end()));
}

std::vector<int64_t> select_documents(const RetrievalDatabase& database,
                                      const DocumentSelection& selection,
                                      const Tokenizer* tokenizer) {
  std::vector<Condition> conditions;
  for (const std::string& text : selection.where) conditions.push_back(parse_condition(text));
  RETRO_CHECK(selection.containing.empty() || tokenizer != nullptr,
              "a text can only be looked for with the tokenizer of the database");
  std::vector<int64_t> selected;
  for (int64_t d = 0; d < database.num_documents(); ++d) {
    const DatabaseDocument& document = database.document(d);
    const bool matches =
        !document.is_deleted && is_among(selection.ids, document.id) &&
        is_among(selection.sources, document.source) &&
        std::ranges::all_of(conditions, [&](const auto& c) { return holds(c, document); }) &&
        (selection.containing.empty() ||
         document_text(database, d, *tokenizer).find(selection.containing) != std::string::npos);
    if (matches) selected.push_back(d);
  }
  return selected;
}

ChunkFilter filter_of(const RetrievalDatabase& database, const std::vector<int64_t>& documents) {
  std::vector<uint8_t> is_selected(static_cast<size_t>(database.num_documents()));
  for (const int64_t d : documents) is_selected[static_cast<size_t>(d)] = 1;
  return [&database, is_selected = std::move(is_selected)](int64_t, int64_t chunk_id) {
    return is_selected[static_cast<size_t>(database.document_of(chunk_id))] != 0;
  };
}

std::string document_as_jsonl(const RetrievalDatabase& database, int64_t index,
                              const Tokenizer& tokenizer) {
  const DatabaseDocument& document = database.document(index);
  nlohmann::json line = parse_json(document.fields, "fields of " + document.id);
  line.update({{"id", document.id},
               {"title", document.title},
               {"source", document.source},
               {"group", document.group},
               {"text", document_text(database, index, tokenizer)}});
  return json_line(line) + "\n";
}

}  // namespace retro
