// Checkpoints of other projects in and out.
#pragma once

#include <filesystem>
#include <string>

namespace retro {

/// What an import made, for a person to read.
struct ImportSummary {
  std::string architecture;  ///< "30 layers of 576 features, 9 heads (3 of keys) of 64, ..."
  int64_t num_parameters = 0;
  std::filesystem::path tokenizer;  ///< empty: none was found beside the weights
};

/// `source`: a Hugging Face directory, or a GGUF file. Writes model.safetensors in our own names
/// and the tokenizer's files to the directory `out`, which is replaced only when it is an earlier
/// import. Throws Error.
ImportSummary import_checkpoint(const std::filesystem::path& source,
                                const std::filesystem::path& out);

/// `source`: an imported directory, a checkpoint directory, or a run (its baseline). Writes the
/// decoder in the Hugging Face layout, with the tokenizer beside it. Throws Error.
void export_checkpoint(const std::filesystem::path& source, const std::filesystem::path& out);

}  // namespace retro
