#include "corpus_files.h"

#include <array>
#include <numeric>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"

namespace retro {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "retro corpus";
constexpr int64_t kVersion = 1;
constexpr std::array<Role, 4> kRoles = {kRoleTrain, kRoleValidation, kRoleTest, kRoleDatabase};

json role_names(uint32_t roles) {
  json names = json::array();
  for (const Role role : kRoles) {
    if ((roles & role) != 0) names.push_back(role_name(role));
  }
  return names;
}

uint32_t parse_roles(const std::vector<std::string>& names, const std::string& where) {
  uint32_t roles = 0;
  for (const std::string& name : names) {
    uint32_t found = 0;
    for (const Role role : kRoles) found |= role_name(role) == name ? role : 0U;
    RETRO_CHECK(found != 0, "{}: unknown role \"{}\"; {}", where, name, kRebuildCorpus);
    roles |= found;
  }
  return roles;
}

std::string row_of(const DocumentInfo& document) {
  return json_line({{"id", document.id},
                    {"title", document.title},
                    {"source", document.source},
                    {"group", document.group},
                    {"fields", json::parse(document.fields)},
                    {"roles", role_names(document.roles)},
                    {"first_token", document.first_token},
                    {"num_tokens", document.num_tokens},
                    {"num_bytes", document.num_bytes}}) +
         "\n";
}

DocumentInfo parse_row(std::string_view line, const std::string& where) {
  const json row = parse_json(line, where);
  DocumentInfo document;
  document.id = json_get<std::string>(row, "id", where);
  document.title = json_get<std::string>(row, "title", where);
  document.source = json_get<std::string>(row, "source", where);
  document.group = json_get<std::string>(row, "group", where);
  document.fields = json_line(json_at(row, "fields", where));
  document.roles = parse_roles(json_get<std::vector<std::string>>(row, "roles", where), where);
  document.first_token = json_get<int64_t>(row, "first_token", where);
  document.num_tokens = json_get<int64_t>(row, "num_tokens", where);
  document.num_bytes = json_get<int64_t>(row, "num_bytes", where);
  return document;
}

ArrayHeader header_of(std::string_view kind, ArrayType type) {
  ArrayHeader header;
  header.kind = kind;
  header.type = type;
  return header;
}

json summary_of(const SourceSummary& source) {
  return {{"name", source.name},
          {"documents", source.documents},
          {"train", source.train},
          {"validation", source.validation},
          {"test", source.test},
          {"database", source.database},
          {"tokens", source.tokens},
          {"bytes", source.bytes},
          {"dropped_duplicates", source.dropped_duplicates}};
}

}  // namespace

CorpusManifest read_manifest(const std::filesystem::path& directory) {
  const auto path = directory / kManifestFile;
  RETRO_CHECK(std::filesystem::exists(path), "{}: no complete corpus here ({} is missing); {}",
              directory.string(), kManifestFile, kRebuildCorpus);
  const std::string where = path.string();
  const json manifest = read_json_file(path);
  const std::string format = json_get_or<std::string>(manifest, "format", "", where);
  RETRO_CHECK(format == kFormat, "{}: expected format \"{}\", found \"{}\"; {}", where, kFormat,
              format, kRebuildCorpus);
  const auto version = json_get<int64_t>(manifest, "version", where);
  RETRO_CHECK(version == kVersion, "{}: corpus version {}, expected {}; {}", where, version,
              kVersion, kRebuildCorpus);
  return {json_get<std::string>(manifest, "hash", where),
          json_get<std::string>(manifest, "documents_hash", where),
          json_get<std::string>(manifest, "tokenizer", where)};
}

std::vector<DocumentInfo> parse_documents(const std::string& table, const std::string& name) {
  std::vector<DocumentInfo> documents;
  std::string_view rest = table;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    documents.push_back(
        parse_row(rest.substr(0, end), fmt::format("{}:{}", name, documents.size() + 1)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return documents;
}

CorpusWriter::CorpusWriter(const std::filesystem::path& directory, std::string tokenizer_identity)
    : directory_(directory),
      tokenizer_identity_(std::move(tokenizer_identity)),
      documents_(directory / kDocumentsFile),
      deduplication_(directory / kDeduplicationFile),
      tokens_(directory / kTokensFile, header_of(kTokensKind, ArrayType::kUint32)),
      token_bytes_(directory / kTokenBytesFile, header_of(kTokenBytesKind, ArrayType::kUint16)) {}

void CorpusWriter::add(DocumentInfo document, const EncodedText& encoded) {
  document.first_token = num_tokens_;
  document.num_tokens = static_cast<int64_t>(encoded.ids.size());
  document.num_bytes = std::accumulate(encoded.bytes.begin(), encoded.bytes.end(), int64_t{0});
  const std::string row = row_of(document);
  documents_.write(row);
  documents_hasher_.add_bytes(std::as_bytes(std::span(row)));
  const std::vector<uint32_t> tokens(encoded.ids.begin(), encoded.ids.end());
  tokens_.append(std::span<const uint32_t>(tokens));
  tokens_hasher_.add_bytes(std::as_bytes(std::span(tokens)));
  token_bytes_.append(std::span<const uint16_t>(encoded.bytes));
  token_bytes_hasher_.add_bytes(std::as_bytes(std::span(encoded.bytes)));
  num_tokens_ += document.num_tokens;
  num_bytes_ += document.num_bytes;
  ++num_documents_;
}

void CorpusWriter::add_duplicate(const DocumentInfo& document, const SimilarDocument& similar,
                                 double similarity, uint32_t lost_roles) {
  json row = {{"id", document.id},        {"source", document.source},
              {"similar_id", similar.id}, {"similar_source", similar.source},
              {"similarity", similarity}, {"lost_roles", role_names(lost_roles)}};
  if (similar.copies > 1) row["similar_copies"] = similar.copies;
  deduplication_.write(json_line(row) + "\n");
}

void CorpusWriter::finish(const std::vector<SourceSummary>& sources) {
  const std::string documents_hash = documents_hasher_.hex();
  tokens_.set_source_hash(documents_hash);
  token_bytes_.set_source_hash(documents_hash);
  tokens_.commit();
  token_bytes_.commit();
  documents_.commit();
  deduplication_.commit();
  Hasher hasher;
  hasher.add(kVersion).add(tokenizer_identity_).add(documents_hash);
  hasher.add(tokens_hasher_.hex()).add(token_bytes_hasher_.hex());
  json summaries = json::array();
  for (const SourceSummary& source : sources) summaries.push_back(summary_of(source));
  write_json_file(directory_ / kManifestFile, {{"format", kFormat},
                                               {"version", kVersion},
                                               {"hash", hasher.hex()},
                                               {"documents_hash", documents_hash},
                                               {"tokenizer", tokenizer_identity_},
                                               {"num_documents", num_documents_},
                                               {"num_tokens", num_tokens_},
                                               {"num_bytes", num_bytes_},
                                               {"sources", summaries}});
}

}  // namespace retro
