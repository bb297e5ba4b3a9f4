// Documents out of JSONL files and folders of text, plain or gzip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace retro {

/// A document as read. `fields` is a JSON object of everything beyond id, title, text and group.
struct RawDocument {
  std::string id;
  std::string title;
  std::string text;
  std::string group;   ///< "same work, other version" (optional)
  std::string source;  ///< the field "source" where that is a text; it is in `fields` as well
  std::string fields = "{}";
};

/// Among which documents an id may stand only once.
enum class IdScope {
  kAll,     ///< all that are read: they become one source
  kSource,  ///< those of one `source`
};

/// Streams the documents of `path`: a .jsonl file ({"id","title","text",...}, one object a line); a
/// .txt, .md or .html file, which is one document (id = the path as given); or a folder of such
/// files (id = relative path), in sorted order; all of them also gzip, endings in upper or lower
/// case. The title of a .txt file is its name, of Markdown its first heading, of HTML its <title>.
/// Errors name file and line (JSONL) or file and offset (invalid UTF-8): not JSON, a missing or
/// non-string "text", a duplicate id, an empty corpus. An absent id becomes "FILE:LINE" (the file's
/// name, in a folder its relative path); an absent title the id. A byte order mark is dropped; a
/// text file's own line ends stay. Memory: one document, and 16 bytes an id.
void read_documents(const std::filesystem::path& path,
                    const std::function<void(RawDocument&&)>& sink, IdScope scope = IdScope::kAll);

/// Files below a folder that read_documents leaves out, since they are of no kind that it reads; 0
/// where `path` is no folder.
int64_t count_other_files(const std::filesystem::path& path);
/// Says so, where there are any.
void log_other_files(const std::filesystem::path& path);

}  // namespace retro
