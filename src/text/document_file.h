// One file that is one document: plain text, Markdown or HTML, also gzip.
#pragma once

#include <filesystem>

#include "retro/text/corpus_reader.h"

namespace retro {

/// What the name of a file says of its content.
enum class FileKind { kOther, kText, kMarkdown, kHtml, kJsonl };

/// .txt, .md, .markdown, .html, .htm and .jsonl, in upper or lower case, each also with .gz.
FileKind kind_of_file(const std::filesystem::path& path);

/// Text files as they are, titled by their name; Markdown as it is, titled by its first heading;
/// the text of an HTML page, titled by <title>. Id and group are left to the caller. Throws Error
/// for invalid UTF-8.
RawDocument read_document_file(const std::filesystem::path& path);

}  // namespace retro
