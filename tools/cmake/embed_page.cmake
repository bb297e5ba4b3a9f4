# Writes OUTPUT, a header with the files STYLE and SCRIPT as string constants.
file(READ "${STYLE}" style)
file(READ "${SCRIPT}" script)
file(WRITE "${OUTPUT}" "#pragma once\n#include <string_view>\nnamespace retro {\n"
  "inline constexpr std::string_view kPageStyle = R\"page(${style})page\";\n"
  "inline constexpr std::string_view kPageScript = R\"page(${script})page\";\n"
  "}  // namespace retro\n")
