// Which documents of a database are meant: by name, by field, by text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "retro/retrieval/neighbour_filter.h"
#include "retro/retrieval/retrieval_database.h"
#include "retro/text/tokenizer.h"

namespace retro {

/// All parts that are given must hold; an empty one holds always.
struct DocumentSelection {
  std::vector<std::string> ids = {};      ///< any of these
  std::vector<std::string> sources = {};  ///< any of these
  /// Each "NAME OP VALUE", OP one of = != < <= > >= and ~ (contains); NAME is id, source, group,
  /// title or a field; `fields.source` is a field that is called like one of these. Two numbers
  /// compare as numbers (integers to the last digit), all else as text; a document without the
  /// field does not match.
  std::vector<std::string> where = {};
  std::string containing = {};  ///< a stretch of the text

  bool is_empty() const {
    return ids.empty() && sources.empty() && where.empty() && containing.empty();
  }
};

/// Numbers of the live documents that match, ascending. `tokenizer` decodes them for `containing`
/// and may be null without it. Throws Error for a condition it cannot read.
std::vector<int64_t> select_documents(const RetrievalDatabase& database,
                                      const DocumentSelection& selection,
                                      const Tokenizer* tokenizer);

/// Throws Error with the names of the sources there are, where nothing was selected.
void require_any(const RetrievalDatabase& database, const std::vector<int64_t>& documents);

/// Passes chunks of these documents, for search_allowed. The database must outlive it.
ChunkFilter filter_of(const RetrievalDatabase& database, const std::vector<int64_t>& documents);

/// The text of a document.
std::string document_text(const RetrievalDatabase& database, int64_t document,
                          const Tokenizer& tokenizer);

/// The document as one line of JSONL (with its newline), from which DatabaseWriter::add makes the
/// same document again: id, title, source, group, text and its fields. A field of its own called
/// `source` is written `fields.source`.
std::string document_as_jsonl(const RetrievalDatabase& database, int64_t document,
                              const Tokenizer& tokenizer);

}  // namespace retro
