// One self-contained HTML page of a scored text (`retro score --page`).
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

namespace retro {

struct TextPage {
  std::string title;        ///< of the text
  std::string model;        ///< the run that scored it
  nlohmann::json examples;  ///< its chunks, as eval/examples.json has them (docs/formats.md)
  int64_t num_tokens = 0;
  double bits_per_byte_off = 0;
  double bits_per_byte_on = 0;  ///< NaN: retrieval was off
};

/// Writes the page atomically: what retrieval changed in all, then the text in the report's reader,
/// each token coloured by L_off - L_on, each chunk with the passages it could read.
void write_text_page(const TextPage& text, const std::filesystem::path& path);

}  // namespace retro
