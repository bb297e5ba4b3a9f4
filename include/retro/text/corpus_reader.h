// Documents out of JSONL files and folders of text, plain or gzip.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace retro {

/// A document as read. `fields` is a JSON object of everything beyond id, title, text and group.
struct RawDocument {
  std::string id;
  std::string title;
  std::string text;
  std::string group;  ///< "same work, other version" (optional)
  std::string fields = "{}";
};

/// Streams the documents of `path`: a .jsonl or .jsonl.gz file ({"id","title","text",...}, one
/// object a line); a .txt, .md or .html file, which is one document (id = the path as given); or a
/// folder of such documents (id = relative path), in sorted order; all of them also gzip. The title
/// of a .txt file is its name, of Markdown its first heading, of HTML its <title>. Errors name file
/// and line (JSONL) or file and offset (invalid UTF-8): not JSON, a missing or non-string "text", a
/// duplicate id, an empty corpus. An absent id becomes "FILE:LINE" with the file's name alone; an
/// absent title the id. A byte order mark is dropped; a text file's own line ends stay. Memory: one
/// document, and 16 bytes an id.
void read_documents(const std::filesystem::path& path,
                    const std::function<void(RawDocument&&)>& sink);

}  // namespace retro
