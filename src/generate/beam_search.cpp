#include "beam_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "retro/generate/sampler.h"

namespace retro {

namespace {

struct Extension {
  size_t parent = 0;
  int32_t token = 0;
  double log_probability = 0;
  double sum = 0;
};

/// Likelier first; ties by beam, then by lower id.
bool comes_before(const Extension& a, const Extension& b) {
  if (a.sum != b.sum) return a.sum > b.sum;
  return a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
}

/// The likeliest `count` next tokens of every beam together.
std::vector<Extension> best_extensions(const std::vector<Hypothesis>& beams, size_t count) {
  std::vector<Extension> best;
  for (size_t parent = 0; parent < beams.size(); ++parent) {
    const std::span<const float> logits(beams[parent].logits_V.const_data_ptr<float>(),
                                        static_cast<size_t>(beams[parent].logits_V.numel()));
    const double normaliser = log_sum_exp(logits);
    std::vector<Extension> own;
    for (size_t token = 0; token < logits.size(); ++token) {
      const double log_probability = static_cast<double>(logits[token]) - normaliser;
      own.push_back({parent, static_cast<int32_t>(token), log_probability,
                     beams[parent].sum() + log_probability});
    }
    const size_t kept = std::min(count, own.size());
    std::partial_sort(own.begin(), own.begin() + static_cast<int64_t>(kept), own.end(),
                      comes_before);
    best.insert(best.end(), own.begin(), own.begin() + static_cast<int64_t>(kept));
  }
  std::sort(best.begin(), best.end(), comes_before);
  return best;
}

/// The parent with one more token, which its document does not hold yet.
Hypothesis extended(const Hypothesis& parent, const Extension& extension, DocumentState document) {
  Hypothesis child{std::move(document), parent.tokens, parent.log_probabilities, {}, false};
  child.log_probabilities.push_back(extension.log_probability);
  child.tokens.push_back(extension.token);
  return child;
}

/// The parent with the end of the document; needs no cache any more.
Hypothesis ended_here(const Hypothesis& parent, const Extension& extension) {
  Hypothesis child{{{}, parent.document.tokens, parent.document.neighbours},
                   parent.tokens,
                   parent.log_probabilities,
                   {},
                   true};
  child.log_probabilities.push_back(extension.log_probability);
  return child;
}

/// A parent's last child takes over its cache, the others get copies.
std::vector<Hypothesis> extend_all(std::vector<Hypothesis>& parents,
                                   const std::vector<Extension>& extensions) {
  std::vector<int> children(parents.size(), 0);
  for (const Extension& extension : extensions) ++children[extension.parent];
  std::vector<Hypothesis> next;
  for (const Extension& extension : extensions) {
    Hypothesis& parent = parents[extension.parent];
    const bool is_last = --children[extension.parent] == 0;
    DocumentState document = is_last ? std::move(parent.document) : parent.document.clone();
    next.push_back(extended(parent, extension, std::move(document)));
  }
  return next;
}

void advance(CachedDecoder& decoder, std::vector<Hypothesis>& beams, int64_t vocabulary) {
  std::vector<DocumentState*> documents;
  std::vector<int32_t> tokens;
  for (Hypothesis& beam : beams) {
    documents.push_back(&beam.document);
    tokens.push_back(beam.tokens.back());
  }
  const at::Tensor logits_BV = append_tokens(decoder, documents, tokens);
  for (size_t b = 0; b < beams.size(); ++b)
    beams[b].logits_V =
        logits_BV[static_cast<int64_t>(b)].narrow(0, 0, vocabulary).cpu().contiguous();
}

Hypothesis take_best(std::vector<Hypothesis>& hypotheses, double length_penalty) {
  return std::move(*std::max_element(hypotheses.begin(), hypotheses.end(),
                                     [&](const Hypothesis& a, const Hypothesis& b) {
                                       return a.score(length_penalty) < b.score(length_penalty);
                                     }));
}

}  // namespace

double Hypothesis::sum() const {
  return std::accumulate(log_probabilities.begin(), log_probabilities.end(), 0.0);
}

double Hypothesis::score(double length_penalty) const {
  return sum() /
         std::pow(std::max(1.0, static_cast<double>(log_probabilities.size())), length_penalty);
}

Hypothesis beam_search(CachedDecoder& decoder, DocumentState document, const at::Tensor& logits_V,
                       const SampleConfig& config, int32_t end_of_document) {
  const auto width = static_cast<size_t>(config.beams);
  const auto num_prompt_tokens = document.tokens.size();
  std::vector<Hypothesis> beams(1);
  beams.front().document = std::move(document);
  beams.front().logits_V = logits_V;
  std::vector<Hypothesis> ended;
  for (int64_t step = 0; step < config.max_tokens && ended.size() < width; ++step) {
    if (step > 0) advance(decoder, beams, logits_V.numel());
    std::vector<Extension> chosen;
    // Twice as many: at most half of them are ends.
    for (const Extension& extension : best_extensions(beams, 2 * width)) {
      if (chosen.size() == width) break;
      if (extension.token == end_of_document) {
        ended.push_back(ended_here(beams[extension.parent], extension));
      } else {
        chosen.push_back(extension);
      }
    }
    beams = extend_all(beams, chosen);
  }
  ended.insert(ended.end(), std::make_move_iterator(beams.begin()),
               std::make_move_iterator(beams.end()));
  Hypothesis best = take_best(ended, config.length_penalty);
  best.document.tokens.resize(num_prompt_tokens);
  best.document.tokens.insert(best.document.tokens.end(), best.tokens.begin(), best.tokens.end());
  return best;
}

}  // namespace retro
