#include "retro/data/source_mixture.h"

#include <cmath>
#include <numeric>

#include <fmt/ranges.h>

#include "retro/core/error.h"
#include "retro/core/random.h"

namespace retro {

namespace {

double total_weight(const std::map<std::string, double>& weights) {
  double total = 0;
  for (const auto& [name, weight] : weights) {
    RETRO_CHECK(weight >= 0 && std::isfinite(weight),
                "train.sources.{} must be a number of at least 0, found {}", name, weight);
    total += weight;
  }
  RETRO_CHECK(weights.empty() || total > 0, "train.sources: every weight is 0");
  return total;
}

}  // namespace

SourceMixture::SourceMixture(const ChunkGrid& grid, const std::map<std::string, double>& weights,
                             uint64_t seed)
    : grid_(&grid), seed_(seed) {
  std::map<std::string, Source> by_name;
  for (int64_t d = 0; d < grid.num_documents(); ++d) {
    const DocumentInfo& document = grid.corpus().document(grid.document(d));
    if (document.num_tokens == 0) continue;
    Source& source = by_name[document.source];
    source.name = document.source;
    source.documents.push_back(d);
    source.num_tokens += document.num_tokens;
  }
  RETRO_CHECK(!by_name.empty(), "there is no training text: every source is empty or held out");
  const double sum = total_weight(weights);
  for (const auto& [name, weight] : weights) {
    std::vector<std::string> known;
    for (const auto& entry : by_name) known.push_back(entry.first);
    RETRO_CHECK(by_name.count(name) != 0,
                "train.sources.{}: no training text has this source; there are: {}", name,
                fmt::join(known, ", "));
  }
  int64_t total_tokens = 0;
  for (auto& [name, source] : by_name) {
    if (!weights.empty() && (weights.count(name) == 0 || weights.at(name) == 0)) continue;
    total_tokens += source.num_tokens;
    sources_.push_back(std::move(source));
  }
  for (Source& source : sources_) {
    source.tokens_per_epoch = source.num_tokens;
    if (weights.empty()) continue;
    const double share = weights.at(source.name) / sum;
    source.tokens_per_epoch =
        std::max<int64_t>(1, std::llround(share * static_cast<double>(total_tokens)));
  }
}

void SourceMixture::append_documents(const Source& source, int64_t epoch,
                                     std::vector<int64_t>& out) const {
  // Tokens [begin, end) of the endless sequence of passes.
  const int64_t begin = epoch * source.tokens_per_epoch;
  const int64_t end = begin + source.tokens_per_epoch;
  for (int64_t pass = begin / source.num_tokens; pass * source.num_tokens < end; ++pass) {
    std::vector<int64_t> shuffled = source.documents;
    RandomStream random(seed_, "documents/" + source.name, static_cast<uint64_t>(pass));
    shuffle(shuffled, random);
    int64_t first_token = pass * source.num_tokens;
    for (const int64_t d : shuffled) {
      if (first_token >= begin && first_token < end) out.push_back(d);
      first_token += grid_->corpus().document(grid_->document(d)).num_tokens;
    }
  }
}

std::vector<int64_t> SourceMixture::documents(int64_t epoch) const {
  std::vector<int64_t> out;
  for (const Source& source : sources_) append_documents(source, epoch, out);
  return out;
}

}  // namespace retro
