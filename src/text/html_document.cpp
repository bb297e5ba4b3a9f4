#include "html_document.h"

#include <algorithm>
#include <array>
#include <vector>

#include "html_characters.h"

namespace retro {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

template <size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

/// What is in them is no text for a reader.
constexpr std::array<std::string_view, 5> kSkipped{"script", "style", "noscript", "svg",
                                                   "template"};
/// Of these, the ones that hold no markup: without an end they reach to the end of the page.
constexpr std::array<std::string_view, 2> kRaw{"script", "style"};
constexpr std::array<std::string_view, 44> kBlocks{
    "address",  "article", "aside",  "blockquote", "body",     "br",         "caption", "dd",
    "details",  "div",     "dl",     "dt",         "fieldset", "figcaption", "figure",  "footer",
    "form",     "h1",      "h2",     "h3",         "h4",       "h5",         "h6",      "header",
    "hr",       "html",    "legend", "li",         "main",     "nav",        "ol",      "optgroup",
    "option",   "p",       "pre",    "section",    "select",   "summary",    "table",   "td",
    "textarea", "th",      "tr",     "ul"};

class HtmlReader {
 public:
  explicit HtmlReader(std::string_view html) : html_(html) {}

  HtmlDocument read() {
    while (at_ < html_.size()) {
      if (html_[at_] == '<' && read_markup()) continue;
      read_character();
    }
    while (!document_.text.empty() && is_space(document_.text.back())) document_.text.pop_back();
    while (!document_.title.empty() && is_space(document_.title.back())) document_.title.pop_back();
    if (!document_.text.empty()) document_.text += '\n';
    return std::move(document_);
  }

 private:
  /// A comment, declaration or tag at `at_`; false for a "<" that is text.
  bool read_markup() {
    if (html_.substr(at_, 4) == "<!--") {
      // "<!-->" ends itself; one that is never closed takes no more than a tag would.
      const bool is_closed = html_.find("-->", at_ + 2) != std::string_view::npos;
      is_closed ? skip_past("-->", at_ + 2) : skip_past(">", at_ + 4);
      return true;
    }
    const size_t name_at = at_ + 1 + (html_.substr(at_ + 1, 1) == "/" ? 1 : 0);
    if (name_at >= html_.size()) return false;
    if (html_[name_at] == '!' || html_[name_at] == '?') {
      skip_past(">", name_at);
      return true;
    }
    if (!is_letter(html_[name_at])) return false;
    read_tag(name_at, name_at == at_ + 2);
    return true;
  }

  void read_tag(size_t name_at, bool is_end) {
    std::string name;
    size_t i = name_at;
    for (; i < html_.size() && !is_space(html_[i]) && html_[i] != '>' && html_[i] != '/'; ++i) {
      name += static_cast<char>(is_letter(html_[i]) ? html_[i] | 0x20 : html_[i]);
    }
    skip_attributes(i);
    if (name == "pre") is_in_pre_ = !is_end;
    if (is_one_of(name, kBlocks)) new_line();
    const bool is_empty = html_.substr(0, at_).ends_with("/>");
    if (is_end || is_empty) return;
    if (name == "title") read_title();
    if (is_one_of(name, kSkipped)) skip_element(name);
  }

  void skip_attributes(size_t i) {
    char quote = 0;
    for (; i < html_.size() && (quote != 0 || html_[i] != '>'); ++i) {
      if (quote != 0) {
        if (html_[i] == quote) quote = 0;
      } else if (html_[i] == '"' || html_[i] == '\'') {
        quote = html_[i];
      }
    }
    at_ = std::min(i + 1, html_.size());
  }

  /// Where "</name" stands next; the end of the page where it does not.
  size_t end_tag(const std::string& name) {
    if (std::ranges::count(unended_, name) > 0) return html_.size();
    const std::string end = "</" + name;
    const auto is_equal = [](char a, char b) { return (is_letter(a) ? a | 0x20 : a) == b; };
    const auto rest = html_.substr(at_);
    const auto found = std::ranges::search(rest, end, is_equal);
    if (found.empty()) unended_.push_back(name);
    return at_ + static_cast<size_t>(found.begin() - rest.begin());
  }

  void skip_element(const std::string& name) {
    const size_t end = end_tag(name);
    if (end < html_.size() || is_one_of(name, kRaw)) at_ = end;
  }

  /// A title holds no tags; one without an end is over where the next tag begins.
  void read_title() {
    size_t end = end_tag("title");
    if (end == html_.size()) end = std::min(html_.find('<', at_), end);
    is_in_title_ = true;
    while (at_ < end) read_character();
    is_in_title_ = false;
  }

  void skip_past(std::string_view what, size_t from) {
    const size_t found = html_.find(what, std::min(from, html_.size()));
    at_ = found == std::string_view::npos ? html_.size() : found + what.size();
  }

  /// One that stands for itself, or a reference.
  void read_character() {
    if (html_[at_] != '&' || !read_reference()) put(html_[at_++]);
  }

  bool read_reference() {
    const size_t end = html_.substr(at_, kLongestHtmlCharacter).find(';');
    if (end == std::string_view::npos) return false;
    std::string character;
    if (!append_html_character(html_.substr(at_ + 1, end - 1), character)) return false;
    for (const char c : character) put(c);
    at_ += end + 1;
    return true;
  }

  void put(char c) {
    std::string& out = is_in_title_ ? document_.title : document_.text;
    if (is_space(c) && !(is_in_pre_ && !is_in_title_)) {
      if (!out.empty() && !is_space(out.back())) out += ' ';
    } else {
      out += c;
    }
  }

  void new_line() {
    std::string& text = document_.text;
    if (!is_in_pre_) {
      while (!text.empty() && text.back() == ' ') text.pop_back();
    }
    if (!text.empty() && text.back() != '\n') text += '\n';
  }

  std::string_view html_;
  size_t at_ = 0;
  bool is_in_title_ = false;
  bool is_in_pre_ = false;
  std::vector<std::string> unended_;  ///< elements without an end tag in the rest of the page
  HtmlDocument document_;
};

}  // namespace

HtmlDocument parse_html(std::string_view html) { return HtmlReader(html).read(); }

}  // namespace retro
