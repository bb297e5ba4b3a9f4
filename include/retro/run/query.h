// `retro database query`: a text's neighbours as a person reads them.
#pragma once

#include <string>
#include <vector>

#include "retro/retrieval/document_selection.h"
#include "retro/run/run_config.h"

namespace retro {

/// One neighbour of a query.
struct QueryAnswer {
  int64_t chunk_id = 0;
  float distance = 0;  ///< squared L2 between keys
  std::string source;
  std::string id;  ///< of the document within its source
  std::string title;
  std::string text;          ///< N
  std::string continuation;  ///< F, empty at the document's end
};

/// The `k` nearest chunks of `text` in the run's database, among the documents of `selection`.
std::vector<QueryAnswer> query_database(const RunConfig& config, const std::string& text, int64_t k,
                                        const DocumentSelection& selection = {});

}  // namespace retro
