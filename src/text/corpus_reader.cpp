#include "retro/text/corpus_reader.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include <xxhash.h>

#include "retro/core/error.h"
#include "retro/core/json.h"
#include "retro/core/log.h"
#include "retro/core/utf8.h"

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
  RETRO_CHECK(object.contains("text"),
              "{}: \"text\" is missing: each line is a document (of a folder every .jsonl is read)",
              where);
  RETRO_CHECK(object["text"].is_string(), "{}: \"text\" must be a string, is {}", where,
              object["text"].type_name());
  RawDocument document;
  document.text = take_string(object, "text", where);
  document.id = take_id(object, where);
  if (document.id.empty()) document.id = default_id;
  document.title = take_string(object, "title", where);
  if (document.title.empty()) document.title = document.id;
  document.group = take_string(object, "group", where);
  if (const auto source = object.find("source"); source != object.end() && source->is_string()) {
    document.source = source->get<std::string>();
  }
  document.fields = object.dump();
  return document;
}

/// Hands on the documents of one file after another.
class DocumentReader {
 public:
  DocumentReader(IdScope scope, const Sink& sink) : scope_(scope), sink_(sink) {}

  /// `name` is the id of a file that is one document.
  void read_text(const fs::path& path, const std::string& name) {
    RawDocument document = read_document_file(path);
    document.id = name;
    hand_on(std::move(document), path.string());
  }

  /// `name` begins the id of a line without one.
  void read_jsonl(const fs::path& path, const std::string& name) {
    TextFile file(path);
    std::string line;
    while (file.next_line(line)) {
      if (is_blank(line)) continue;
      const std::string where = fmt::format("{}:{}", path.string(), file.line_number());
      hand_on(parse_document(line, where, fmt::format("{}:{}", name, file.line_number())), where);
    }
  }

  int64_t num_documents() const { return num_documents_; }

 private:
  void hand_on(RawDocument&& document, const std::string& where) {
    const std::string scope = scope_ == IdScope::kSource ? document.source : "";
    RETRO_CHECK(ids_.insert(scope + '\0' + document.id), "{}: duplicate id \"{}\"", where,
                document.id);
    ++num_documents_;
    sink_(std::move(document));
  }

  IdScope scope_;
  const Sink& sink_;
  IdSet ids_;
  int64_t num_documents_ = 0;
};

bool is_document(const fs::directory_entry& entry) {
  return entry.is_regular_file() && kind_of_file(entry.path()) != FileKind::kOther;
}

/// Relative to the folder, in sorted order.
std::vector<std::string> documents_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!is_document(entry)) continue;
    names.push_back(entry.path().lexically_relative(folder).generic_string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void read_folder(const fs::path& folder, DocumentReader& reader) {
  for (const std::string& name : documents_below(folder)) {
    const bool is_jsonl = kind_of_file(folder / name) == FileKind::kJsonl;
    is_jsonl ? reader.read_jsonl(folder / name, name) : reader.read_text(folder / name, name);
  }
}

}  // namespace

void read_documents(const fs::path& path, const Sink& sink, IdScope scope) {
  RETRO_CHECK(fs::exists(path), "{}: does not exist", path.string());
  DocumentReader reader(scope, sink);
  if (fs::is_directory(path)) {
    read_folder(path, reader);
  } else if (kind_of_file(path) == FileKind::kJsonl) {
    reader.read_jsonl(path, path.filename().string());
  } else {
    RETRO_CHECK(kind_of_file(path) != FileKind::kOther,
                "{}: expected a .jsonl, .txt, .md or .html file (also .gz), or a folder of such "
                "documents",
                path.string());
    reader.read_text(path, path.lexically_normal().generic_string());
  }
  RETRO_CHECK(reader.num_documents() > 0, "{}: has no documents", path.string());
}

int64_t count_other_files(const fs::path& path) {
  if (!fs::is_directory(path)) return 0;
  int64_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    count += entry.is_regular_file() && !is_document(entry) ? 1 : 0;
  }
  return count;
}

void log_other_files(const fs::path& path) {
  const int64_t count = count_other_files(path);
  if (count == 0) return;
  log_info(
      "{}: {} files of other kinds left out (of a folder .jsonl, .txt, .md and .html are read)",
      path.string(), count);
}

}  // namespace retro
