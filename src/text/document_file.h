// One file that is one document: plain text, Markdown or HTML, also gzip.
#pragma once

#include <filesystem>

#include "retro/text/corpus_reader.h"

namespace retro {

/// .txt, .md, .markdown, .html and .htm, each also with .gz.
bool is_document_file(const std::filesystem::path& path);

/// Text files as they are, titled by their name; Markdown as it is, titled by its first heading;
/// the text of an HTML page, titled by <title>. Id and group are left to the caller. Throws Error
/// for invalid UTF-8.
RawDocument read_document_file(const std::filesystem::path& path);

}  // namespace retro
