#include "retro/text/corpus_reader.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include <xxhash.h>

#include "retro/core/error.h"
#include "retro/core/json.h"
#include "retro/text/utf8.h"

#include "document_file.h"
#include "line_reader.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Sink = std::function<void(RawDocument&&)>;

/// Ids seen so far, 16 bytes each.
class IdSet {
 public:
  /// False if the id was there before.
  bool insert(std::string_view id) {
    const XXH128_hash_t hash = XXH3_128bits(id.data(), id.size());
    return seen_.insert({hash.low64, hash.high64}).second;
  }

 private:
  using Key = std::pair<uint64_t, uint64_t>;
  struct KeyHash {
    size_t operator()(const Key& key) const { return key.first; }
  };
  std::unordered_set<Key, KeyHash> seen_;
};

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }

/// Takes a text field out of `object`; null counts as absent.
std::string take_string(json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  const json value = std::move(*found);
  object.erase(found);
  if (value.is_null()) return {};
  RETRO_CHECK(value.is_string(), "{}: \"{}\" must be a string, is {}", where, key,
              value.type_name());
  return value.get<std::string>();
}

std::string take_id(json& object, const std::string& where) {
  const auto found = object.find("id");
  if (found == object.end() || !found->is_number_integer()) return take_string(object, "id", where);
  const std::string id = found->dump();
  object.erase(found);
  return id;
}

RawDocument parse_document(const std::string& line, const std::string& where,
                           const std::string& default_id) {
  const int64_t invalid = first_invalid_utf8(line);
  RETRO_CHECK(invalid < 0, "{}: not valid UTF-8 at byte {} of the line", where, invalid);
  json object = parse_json(line, where);
  RETRO_CHECK(object.is_object(), "{}: expected a JSON object, found {}", where,
              object.type_name());
  RETRO_CHECK(object.contains("text"), "{}: \"text\" is missing", where);
  RETRO_CHECK(object["text"].is_string(), "{}: \"text\" must be a string, is {}", where,
              object["text"].type_name());
  RawDocument document;
  document.text = take_string(object, "text", where);
  document.id = take_id(object, where);
  if (document.id.empty()) document.id = default_id;
  document.title = take_string(object, "title", where);
  if (document.title.empty()) document.title = document.id;
  document.group = take_string(object, "group", where);
  document.fields = object.dump();
  return document;
}

void read_jsonl(const fs::path& path, const Sink& sink) {
  TextFile file(path);
  IdSet ids;
  std::string line;
  while (file.next_line(line)) {
    if (is_blank(line)) continue;
    const std::string where = fmt::format("{}:{}", path.string(), file.line_number());
    RawDocument document = parse_document(
        line, where, fmt::format("{}:{}", path.filename().string(), file.line_number()));
    RETRO_CHECK(ids.insert(document.id), "{}: duplicate id \"{}\"", where, document.id);
    sink(std::move(document));
  }
}

std::vector<std::string> text_files_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && is_document_file(entry.path())) {
      names.push_back(entry.path().lexically_relative(folder).generic_string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

void read_file_as(const std::string& id, const fs::path& path, const Sink& sink) {
  RawDocument document = read_document_file(path);
  document.id = id;
  sink(std::move(document));
}

void read_folder(const fs::path& folder, const Sink& sink) {
  for (const std::string& name : text_files_below(folder)) read_file_as(name, folder / name, sink);
}

}  // namespace

void read_documents(const fs::path& path, const Sink& sink) {
  RETRO_CHECK(fs::exists(path), "{}: does not exist", path.string());
  int64_t num_documents = 0;
  const Sink counting_sink = [&](RawDocument&& document) {
    ++num_documents;
    sink(std::move(document));
  };
  const std::string name = path.filename().string();
  if (fs::is_directory(path)) {
    read_folder(path, counting_sink);
  } else if (is_document_file(path)) {
    read_file_as(path.lexically_normal().generic_string(), path, counting_sink);
  } else {
    RETRO_CHECK(name.ends_with(".jsonl") || name.ends_with(".jsonl.gz"),
                "{}: expected a .jsonl, .txt, .md or .html file (also .gz), or a folder of such "
                "documents",
                path.string());
    read_jsonl(path, counting_sink);
  }
  RETRO_CHECK(num_documents > 0, "{}: has no documents", path.string());
}

}  // namespace retro
