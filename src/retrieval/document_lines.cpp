#include "document_lines.h"

#include "retro/core/error.h"
#include "retro/core/json.h"
#include "retro/text/chunker.h"

namespace retro {
namespace {

DatabaseDocument parse_line(std::string_view line, std::string_view where, int64_t chunk_length,
                            int64_t next_chunk) {
  const nlohmann::json json = parse_json(line, where);
  DatabaseDocument document;
  document.id = json_get<std::string>(json, "id", where);
  document.group = json_get<std::string>(json, "group", where);
  document.source = json_get<std::string>(json, "source", where);
  document.title = json_get<std::string>(json, "title", where);
  document.fields = json_get<std::string>(json, "fields", where);
  document.num_tokens = json_get<int64_t>(json, "tokens", where);
  document.num_bytes = json_get<int64_t>(json, "bytes", where);
  RETRO_CHECK(document.num_tokens >= 0, "{}: a document of {} tokens", where, document.num_tokens);
  document.num_chunks = num_chunks(document.num_tokens, chunk_length);
  document.first_chunk = json_get_or<int64_t>(json, "first_chunk", next_chunk, where);
  RETRO_CHECK(document.first_chunk >= next_chunk, "{}: chunk {} comes after chunk {}", where,
              document.first_chunk, next_chunk - 1);
  return document;
}

}  // namespace

std::string document_line(const DatabaseDocument& document, ChunkNumbers numbers) {
  nlohmann::json json{{"id", document.id},          {"group", document.group},
                      {"source", document.source},  {"title", document.title},
                      {"fields", document.fields},  {"tokens", document.num_tokens},
                      {"bytes", document.num_bytes}};
  if (numbers == ChunkNumbers::kExplicit) json["first_chunk"] = document.first_chunk;
  return json_line(json) + "\n";
}

void parse_document_lines(std::string_view text, std::string_view where, int64_t chunk_length,
                          int64_t next_chunk, std::vector<DatabaseDocument>& documents) {
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    documents.push_back(parse_line(text.substr(0, end), fmt::format("{}:{}", where, number),
                                   chunk_length, next_chunk));
    next_chunk = documents.back().first_chunk + documents.back().num_chunks;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace retro
