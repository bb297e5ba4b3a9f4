#include "html_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace retro {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

template <size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::array<std::string_view, 5> kSkipped{"script", "style", "noscript", "svg",
                                                   "template"};
constexpr std::array<std::string_view, 34> kBlocks{
    "address", "article", "aside",  "blockquote", "body", "br",   "dd",        "div", "dl",
    "dt",      "figure",  "footer", "form",       "h1",   "h2",   "h3",        "h4",  "h5",
    "h6",      "header",  "hr",     "html",       "li",   "main", "nav",       "ol",  "p",
    "pre",     "section", "table",  "td",         "tr",   "ul",   "figcaption"};

void append_utf8(uint32_t code, std::string& out) {
  if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

struct NamedCharacter {
  std::string_view name;
  uint32_t code;
};
constexpr std::array<NamedCharacter, 16> kNamed{{{"amp", '&'},
                                                 {"lt", '<'},
                                                 {"gt", '>'},
                                                 {"quot", '"'},
                                                 {"apos", '\''},
                                                 {"nbsp", ' '},
                                                 {"copy", 0xA9},
                                                 {"ndash", 0x2013},
                                                 {"mdash", 0x2014},
                                                 {"lsquo", 0x2018},
                                                 {"rsquo", 0x2019},
                                                 {"ldquo", 0x201C},
                                                 {"rdquo", 0x201D},
                                                 {"bull", 0x2022},
                                                 {"hellip", 0x2026},
                                                 {"euro", 0x20AC}}};

/// `name` stands between & and ;. False for one that is not known.
bool append_reference(std::string_view name, std::string& out) {
  if (name.starts_with('#')) {
    name.remove_prefix(1);
    const bool is_hexadecimal = name.starts_with('x') || name.starts_with('X');
    if (is_hexadecimal) name.remove_prefix(1);
    uint32_t code = 0;
    const auto [end, error] =
        std::from_chars(name.data(), name.data() + name.size(), code, is_hexadecimal ? 16 : 10);
    if (name.empty() || end != name.data() + name.size()) return false;
    append_utf8(error == std::errc{} ? code : 0, out);
    return true;
  }
  const auto found = std::ranges::find(kNamed, name, &NamedCharacter::name);
  if (found == kNamed.end()) return false;
  append_utf8(found->code, out);
  return true;
}

class HtmlReader {
 public:
  explicit HtmlReader(std::string_view html) : html_(html) {}

  HtmlDocument read() {
    while (at_ < html_.size()) {
      if (html_[at_] == '<' && read_markup()) continue;
      if (html_[at_] == '&' && read_reference()) continue;
      put(html_[at_++]);
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
      skip_past("-->", at_ + 4);
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
    if (name == "title") is_in_title_ = !is_end;
    if (name == "head") is_in_head_ = !is_end;
    if (name == "pre") is_in_pre_ = !is_end;
    if (is_one_of(name, kBlocks)) new_line();
    if (name == "body") is_in_head_ = false;  // a head need not be closed
    if (!is_end && is_one_of(name, kSkipped)) skip_element(name);
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

  void skip_element(const std::string& name) {
    const std::string end = "</" + name;
    const auto is_equal = [](char a, char b) { return (is_letter(a) ? a | 0x20 : a) == b; };
    const auto rest = html_.substr(at_);
    const auto found = std::ranges::search(rest, end, is_equal);
    at_ += static_cast<size_t>(found.begin() - rest.begin());
  }

  void skip_past(std::string_view what, size_t from) {
    const size_t found = html_.find(what, std::min(from, html_.size()));
    at_ = found == std::string_view::npos ? html_.size() : found + what.size();
  }

  bool read_reference() {
    constexpr size_t kLongest = 12;
    const size_t end = html_.substr(at_, kLongest).find(';');
    if (end == std::string_view::npos) return false;
    std::string character;
    if (!append_reference(html_.substr(at_ + 1, end - 1), character)) return false;
    for (const char c : character) put(c);
    at_ += end + 1;
    return true;
  }

  void put(char c) {
    if (is_in_head_ && !is_in_title_) return;
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
  bool is_in_head_ = false;
  bool is_in_title_ = false;
  bool is_in_pre_ = false;
  HtmlDocument document_;
};

}  // namespace

HtmlDocument parse_html(std::string_view html) { return HtmlReader(html).read(); }

}  // namespace retro
