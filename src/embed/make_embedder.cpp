#include <charconv>
#include <string_view>

#include "retro/core/error.h"
#include "retro/embed/bert_embedder.h"
#include "retro/embed/hashed_embedder.h"

namespace retro {

std::unique_ptr<ChunkEmbedder> make_embedder(const EmbedConfig& config) {
  constexpr std::string_view kHashed = "hashed:";
  RETRO_CHECK(!config.model.empty(), "embed.model is empty; expected a BERT directory or hashed:W");
  if (!config.model.starts_with(kHashed))
    return std::make_unique<BertEmbedder>(config.model, config);
  const std::string_view digits = std::string_view(config.model).substr(kHashed.size());
  int64_t width = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), width);
  RETRO_CHECK(error == std::errc() && end == digits.data() + digits.size() && width > 0,
              "embed.model is `{}`; expected hashed:W with a positive width W", config.model);
  return std::make_unique<HashedEmbedder>(width);
}

}  // namespace retro
