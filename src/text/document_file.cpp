#include "document_file.h"

#include <utility>

#include "retro/core/error.h"
#include "retro/core/utf8.h"

#include "html_document.h"
#include "line_reader.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

std::string lower_case(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return name;
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

FileKind kind_of_file(const fs::path& path) {
  const fs::path name = lower_case(path.filename().string());
  const std::string extension = (name.extension() == ".gz" ? name.stem() : name).extension();
  if (extension == ".txt") return FileKind::kText;
  if (extension == ".md" || extension == ".markdown") return FileKind::kMarkdown;
  if (extension == ".html" || extension == ".htm") return FileKind::kHtml;
  return extension == ".jsonl" ? FileKind::kJsonl : FileKind::kOther;
}

RawDocument read_document_file(const fs::path& path) {
  RawDocument document;
  document.text = TextFile(path).rest();
  const int64_t invalid = first_invalid_utf8(document.text);
  RETRO_CHECK(invalid < 0, "{}: not valid UTF-8 at byte {} of the text", path.string(), invalid);
  const FileKind kind = kind_of_file(path);
  if (kind == FileKind::kMarkdown) document.title = first_heading(document.text);
  if (kind == FileKind::kHtml) {
    HtmlDocument page = parse_html(document.text);
    document.title = std::move(page.title);
    document.text = std::move(page.text);
  }
  if (document.title.empty()) document.title = path.filename().string();
  return document;
}

}  // namespace retro
