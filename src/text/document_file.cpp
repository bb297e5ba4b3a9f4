#include "document_file.h"

#include <utility>

#include "retro/core/error.h"
#include "retro/text/utf8.h"

#include "html_document.h"
#include "line_reader.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

enum class DocumentKind { kNone, kText, kMarkdown, kHtml };

DocumentKind kind_of(const fs::path& path) {
  const fs::path name = path.extension() == ".gz" ? path.stem() : path.filename();
  const std::string extension = name.extension().string();
  if (extension == ".txt") return DocumentKind::kText;
  if (extension == ".md" || extension == ".markdown") return DocumentKind::kMarkdown;
  return extension == ".html" || extension == ".htm" ? DocumentKind::kHtml : DocumentKind::kNone;
}

/// The first line "# Title", outside of fenced code.
std::string first_heading(const std::string& text) {
  bool is_code = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    if (line.starts_with("```") || line.starts_with("~~~")) is_code = !is_code;
    const size_t level = std::min(line.find_first_not_of('#'), line.size());
    if (!is_code && level >= 1 && level <= 6 && line.substr(level).starts_with(' ')) {
      const size_t first = line.find_first_not_of(' ', level);
      if (first != std::string_view::npos) {
        return std::string(line.substr(first, line.find_last_not_of(" #\r") + 1 - first));
      }
    }
    begin = end + 1;
  }
  return {};
}

}  // namespace

bool is_document_file(const fs::path& path) { return kind_of(path) != DocumentKind::kNone; }

RawDocument read_document_file(const fs::path& path) {
  RawDocument document;
  document.text = TextFile(path).rest();
  const int64_t invalid = first_invalid_utf8(document.text);
  RETRO_CHECK(invalid < 0, "{}: not valid UTF-8 at byte {} of the text", path.string(), invalid);
  if (kind_of(path) == DocumentKind::kMarkdown) document.title = first_heading(document.text);
  if (kind_of(path) == DocumentKind::kHtml) {
    HtmlDocument page = parse_html(document.text);
    document.title = std::move(page.title);
    document.text = std::move(page.text);
  }
  if (document.title.empty()) document.title = path.filename().string();
  return document;
}

}  // namespace retro
