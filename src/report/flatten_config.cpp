#include <sstream>

#include "run_files.h"

namespace retro {
namespace {

/// A mapping or list that a line opened.
struct Level {
  size_t indent;
  std::string prefix;
  int items = 0;
};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

class Flattener {
 public:
  void add(const std::string& line) {
    const size_t indent = line.find_first_not_of(' ');
    if (indent == std::string::npos || line[indent] == '#') return;
    leave_below(indent);
    std::string rest = line.substr(indent);
    if (rest.starts_with("- ")) {
      rest = rest.substr(2);
      enter_item(indent + 2, rest);
    }
    const size_t colon = rest.find(':');
    if (colon == std::string::npos) return;
    const std::string key = levels_.back().prefix + trimmed(rest.substr(0, colon));
    const std::string value = trimmed(rest.substr(colon + 1));
    if (!value.empty()) settings_[key] = value;
    if (value.empty()) pending_ = key + ".";
  }
  std::map<std::string, std::string> take() { return std::move(settings_); }

 private:
  /// Ends the levels that are deeper than `indent`, or opens the one its parent line announced.
  void leave_below(size_t indent) {
    while (levels_.size() > 1 && levels_.back().indent > indent) levels_.pop_back();
    if (!pending_.empty() && indent > levels_.back().indent)
      levels_.push_back({indent, std::move(pending_)});
    pending_.clear();
  }
  /// A list's item is called by its name where that comes first, by its number otherwise.
  void enter_item(size_t indent, const std::string& first) {
    Level& list = levels_.back();
    const std::string number = std::to_string(list.items++);
    const std::string name = first.starts_with("name:") ? trimmed(first.substr(5)) : number;
    levels_.push_back({indent, list.prefix + name + "."});
  }

  std::map<std::string, std::string> settings_;
  std::vector<Level> levels_{{0, "", 0}};
  std::string pending_;
};

}  // namespace

std::map<std::string, std::string> flatten_config(const std::string& yaml) {
  Flattener flattener;
  std::istringstream text(yaml);
  for (std::string line; std::getline(text, line);) flattener.add(line);
  return flattener.take();
}

}  // namespace retro
