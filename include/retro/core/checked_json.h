// JSON files that know their own checksum, so that a flipped byte is noticed wherever it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace retro {

/// The object with one more key, "checksum": XXH3-128 of the text it has without that key. Indented
/// by two spaces, with a final newline; invalid UTF-8 becomes U+FFFD.
std::string checked_json_text(const nlohmann::json& object);

/// The object without its checksum. Throws Error naming `where` for a checksum that does not match,
/// for text that is not what `checked_json_text` writes, and for one without a checksum. Older
/// programs wrote none: accepted where `format_version` (0 if there is no such key) is below
/// `first_version`.
nlohmann::json parse_checked_json(std::string_view text, std::string_view where,
                                  int64_t first_version = 0);

/// Atomically.
void write_checked_json(const std::filesystem::path& path, const nlohmann::json& object);
nlohmann::json read_checked_json(const std::filesystem::path& path, int64_t first_version = 0);

}  // namespace retro
