#include "retro/eval/row_groups.h"

#include <algorithm>
#include <map>

#include "retro/core/json.h"

namespace retro {

namespace {

/// The document's value of `field` as text, empty where it has none.
std::string part_of(const DocumentInfo& document, const std::string& field) {
  if (field.empty()) return "";
  const nlohmann::json fields = parse_json(document.fields, document.id);
  if (!fields.is_object() || !fields.contains(field)) return "";
  const nlohmann::json& value = fields.at(field);
  return value.is_string() ? value.get<std::string>() : json_line(value);
}

struct Source {
  std::string name;
  std::vector<int64_t> rows;
  std::map<std::string, std::vector<int64_t>> parts;
};

Source& find_or_add(std::vector<Source>& sources, const std::string& name) {
  const auto found =
      std::find_if(sources.begin(), sources.end(), [&](const Source& s) { return s.name == name; });
  return found != sources.end() ? *found : sources.emplace_back(Source{name, {}, {}});
}

}  // namespace

bool is_row_wanted(const ChunkGrid& grid, int64_t row, int64_t max_chunks_per_document) {
  return max_chunks_per_document == 0 ||
         grid.span(row).first_token < max_chunks_per_document * grid.chunk_length();
}

std::vector<RowGroup> row_groups(const ChunkGrid& grid, const std::string& breakdown,
                                 int64_t max_chunks_per_document) {
  std::vector<Source> sources;
  RowGroup all{"all", "", {}};
  for (int64_t d = 0; d < grid.num_documents(); ++d) {
    const DocumentInfo& document = grid.corpus().document(grid.document(d));
    Source& source = find_or_add(sources, document.source);
    const std::string part = part_of(document, breakdown);
    const int64_t end = d + 1 < grid.num_documents() ? grid.first_row(d + 1) : grid.num_rows();
    for (int64_t row = grid.first_row(d);
         row < end && is_row_wanted(grid, row, max_chunks_per_document); ++row) {
      source.rows.push_back(row);
      if (!part.empty()) source.parts[part].push_back(row);
      all.rows.push_back(row);
    }
  }
  std::vector<RowGroup> groups;
  for (Source& source : sources) {
    groups.push_back({source.name, "", std::move(source.rows)});
    for (auto& [part, rows] : source.parts) groups.push_back({source.name, part, std::move(rows)});
  }
  groups.push_back(std::move(all));
  return groups;
}

}  // namespace retro
