#include "retro/run/database_json.h"

namespace retro {

nlohmann::json to_json(const DatabaseFacts& facts) {
  return {{"chunks", facts.num_chunks},
          {"documents", facts.num_documents},
          {"chunk_length", facts.chunk_length},
          {"key_width", facts.key_width},
          {"key_storage", facts.key_storage},
          {"embedder", facts.embedder},
          {"index_type", facts.index_type},
          {"recall_at_10", facts.recall_at_10},
          {"added_chunks", facts.num_added_chunks},
          {"deleted_documents", facts.num_deleted_documents},
          {"database_bytes", facts.database_bytes},
          {"index_bytes", facts.index_bytes},
          {"version", facts.version},
          {"changes", facts.num_changes}};
}

nlohmann::json to_json(const DatabaseChange& change) {
  return {{"documents_added", change.documents_added},
          {"chunks_added", change.chunks_added},
          {"documents_deleted", change.documents_deleted},
          {"chunks_deleted", change.chunks_deleted},
          {"documents_emptied", change.documents_emptied}};
}

nlohmann::json to_json(const DatabaseVerification& verification) {
  return {{"chunks", verification.num_chunks},
          {"documents", verification.num_documents},
          {"index_type", verification.index_type},
          {"recall_at_10", verification.recall_at_10},
          {"recall_at_10_when_built", verification.recall_at_10_when_built},
          {"tables", verification.num_tables},
          {"stale_tables", verification.num_stale_tables}};
}

nlohmann::json to_json(const std::vector<RefreshedTable>& tables) {
  auto list = nlohmann::json::array();
  for (const RefreshedTable& table : tables) {
    list.push_back({{"name", table.name},
                    {"chunks", table.summary.num_rows},
                    {"share_short", table.summary.share_short},
                    {"mean_squared_distance", table.summary.mean_distance}});
  }
  return list;
}

nlohmann::json to_json(const std::vector<SelectedDocument>& documents) {
  auto list = nlohmann::json::array();
  for (const SelectedDocument& document : documents) {
    list.push_back({{"source", document.source},
                    {"id", document.id},
                    {"title", document.title},
                    {"chunks", document.num_chunks}});
  }
  return list;
}

}  // namespace retro
