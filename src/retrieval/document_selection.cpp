#include "retro/retrieval/document_selection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/ranges.h>

#include "retro/core/error.h"
#include "retro/core/json.h"

#include "own_fields.h"

namespace retro {
namespace {

constexpr const char* kForm =
    "expected NAME OP VALUE with OP one of = != < <= > >= ~, as in "
    "`year>=1990`";

/// Integers up to here are doubles.
constexpr double kLargestWholeDouble = 0x1p53;

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
  const auto trim = [](std::string& part) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
  };
  trim(condition.name);
  trim(condition.value);
  // `year==1990` would otherwise look for the value "=1990", and find nothing.
  RETRO_CHECK(condition.operation != "!" && !condition.value.starts_with('='), "condition `{}`: {}",
              text, kForm);
  return condition;
}

template <class T>
std::optional<T> parse_whole(const std::string& text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::string> value_of(const DatabaseDocument& document, const std::string& name) {
  if (name == "id") return document.id;
  if (name == "source") return document.source;
  if (name == "group") return document.group;
  if (name == "title") return document.title;
  const std::string own =
      name.starts_with(kOwnField) ? name.substr(std::string_view(kOwnField).size()) : name;
  const nlohmann::json fields = parse_json(document.fields, "fields of " + document.id);
  if (!fields.is_object() || !fields.contains(own) || fields.at(own).is_null()) {
    return std::nullopt;
  }
  return fields.at(own).is_string() ? fields.at(own).get<std::string>() : json_line(fields.at(own));
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

/// Two numbers as numbers, integers to the last digit: a double cannot tell those of 17 digits from
/// their neighbours. Nothing where one is no number.
std::optional<bool> compares_as_numbers(const std::string& left, const std::string& operation,
                                        const std::string& right) {
  const auto left_integer = parse_whole<int64_t>(left);
  const auto right_integer = parse_whole<int64_t>(right);
  if (left_integer && right_integer) return compares(*left_integer, operation, *right_integer);
  const auto left_number = parse_whole<double>(left);
  const auto right_number = parse_whole<double>(right);
  if (!left_number || !right_number) return std::nullopt;
  // Integers of more than 64 bits that are one double: their digits decide.
  if (*left_number == *right_number && std::abs(*left_number) > kLargestWholeDouble)
    return std::nullopt;
  return compares(*left_number, operation, *right_number);
}

bool holds(const Condition& condition, const DatabaseDocument& document) {
  const auto value = value_of(document, condition.name);
  if (!value) return false;
  if (condition.operation == "~") return value->find(condition.value) != std::string::npos;
  return compares_as_numbers(*value, condition.operation, condition.value)
      .value_or(compares(*value, condition.operation, condition.value));
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

void require_any(const RetrievalDatabase& database, const std::vector<int64_t>& documents) {
  if (!documents.empty()) return;
  std::set<std::string> sources;
  for (int64_t d = 0; d < database.num_documents(); ++d) {
    if (!database.document(d).is_deleted) sources.insert(database.document(d).source);
  }
  throw Error(fmt::format("{}: no document matches; its sources are {}",
                          database.directory().string(), fmt::join(sources, ", ")));
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
  nlohmann::json line = fields_of_line(document.fields, document.id);
  line.update({{"id", document.id},
               {"title", document.title},
               {"source", document.source},
               {"group", document.group},
               {"text", document_text(database, index, tokenizer)}});
  return json_line(line) + "\n";
}

}  // namespace retro
