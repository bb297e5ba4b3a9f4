#include "retro/core/checked_json.h"

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/json.h"

namespace retro {
namespace {

using nlohmann::json;

constexpr const char* kChecksum = "checksum";

std::string text_of(const json& object) {
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string checked_json_text(const json& object) {
  json checked = object;
  checked[kChecksum] = hash_text(text_of(object));
  return text_of(checked);
}

json parse_checked_json(std::string_view text, std::string_view where, int64_t first_version) {
  json object = parse_json(text, where);
  RETRO_CHECK(object.is_object(), "{}: expected a JSON object", where);
  if (!object.contains(kChecksum)) {
    RETRO_CHECK(json_get_or<int64_t>(object, "format_version", 0, where) < first_version,
                "{}: `{}` is missing: the file is damaged", where, kChecksum);
    return object;
  }
  object.erase(kChecksum);
  // Also the white space and the order of keys are as written: every byte counts.
  RETRO_CHECK(checked_json_text(object) == text,
              "{}: the content does not match its checksum: the file is damaged", where);
  return object;
}

void write_checked_json(const std::filesystem::path& path, const json& object) {
  write_file(path, checked_json_text(object));
}

json read_checked_json(const std::filesystem::path& path, int64_t first_version) {
  return parse_checked_json(read_file(path), path.string(), first_version);
}

}  // namespace retro
