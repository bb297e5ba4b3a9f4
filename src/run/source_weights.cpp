#include "retro/run/source_weights.h"

namespace retro {

namespace {

/// Tokens and weight of a family.
struct Family {
  double tokens = 0;
  double weight = 0;
};

const std::string& family_of(const SourceConfig& source) {
  return source.family.empty() ? source.name : source.family;
}

}  // namespace

std::map<std::string, double> weights_with_database(const CorpusConfig& corpus,
                                                    const ChunkGrid& grid,
                                                    const std::map<std::string, double>& weights) {
  if (weights.empty()) return {};
  std::map<std::string, double> tokens;
  for (const int64_t d : grid.documents()) {
    const DocumentInfo& document = grid.corpus().document(d);
    tokens[document.source] += static_cast<double>(document.num_tokens);
  }
  std::map<std::string, Family> families;
  for (const SourceConfig& source : corpus.sources) {
    Family& family = families[family_of(source)];
    family.tokens += tokens[source.name];
    const auto weight = weights.find(source.name);
    if (weight != weights.end()) family.weight += weight->second;
  }
  double weighted_tokens = 0;
  double sum_weights = 0;
  for (const auto& [name, family] : families) {
    sum_weights += family.weight;
    if (family.weight > 0) weighted_tokens += family.tokens;
  }
  std::map<std::string, double> result;
  for (const SourceConfig& source : corpus.sources) {
    const Family& family = families[family_of(source)];
    if (tokens[source.name] == 0 || weighted_tokens == 0) continue;
    const double weight =
        family.weight > 0 ? family.weight : sum_weights * family.tokens / weighted_tokens;
    result[source.name] = weight * tokens[source.name] / family.tokens;
  }
  return result;
}

}  // namespace retro
