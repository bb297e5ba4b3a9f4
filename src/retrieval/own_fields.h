// A document's own fields, beside the names that every document has.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "retro/text/corpus_reader.h"

namespace retro {

/// In conditions and in lines of JSONL `source` is a document's source; `fields.source` is a field
/// of its own that is called so.
inline constexpr const char* kOwnField = "fields.";

/// Fields as a line of JSONL has them beside the document's `source`: one that is called `source`,
/// or like the outcome of this, has kOwnField in front.
nlohmann::json fields_of_line(const std::string& fields, const std::string& id);

/// The other way round: the fields (a JSON object) to store of a line that was read.
/// `names_source`: its `source` was made the document's, and is no field.
std::string fields_to_store(const RawDocument& raw, bool names_source);

}  // namespace retro
