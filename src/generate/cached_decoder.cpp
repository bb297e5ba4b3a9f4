#include "retro/generate/cached_decoder.h"

#include <algorithm>
#include <optional>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include "retro/core/error.h"
#include "retro/ops/linear.h"

#include "decode_segment.h"

namespace retro {

namespace {

/// What a rebuilt window is made of.
struct WindowContent {
  std::vector<int32_t> tokens;
  std::vector<uint8_t> is_padding;
  std::vector<std::vector<FetchedNeighbour>>
      neighbours;  ///< of its first chunks; later ones are fetched
  int64_t dropped_chunks = 0;
};

/// The content without its first `chunks` chunks.
void drop_chunks(WindowContent& content, int64_t chunks, int64_t chunk_length) {
  content.tokens.erase(content.tokens.begin(), content.tokens.begin() + chunks * chunk_length);
  content.is_padding.erase(content.is_padding.begin(),
                           content.is_padding.begin() + chunks * chunk_length);
  const auto known = std::min<int64_t>(chunks, static_cast<int64_t>(content.neighbours.size()));
  content.neighbours.erase(content.neighbours.begin(), content.neighbours.begin() + known);
  content.dropped_chunks += chunks;
}

}  // namespace

struct CachedDecoder::Impl {
  Impl(RetroModel model_, NeighbourFetcher* fetcher_, int64_t neighbours, int64_t window_length)
      : model(std::move(model_)),
        fetcher(fetcher_),
        k(neighbours),
        n(window_length),
        m(model->config().chunk_length) {
    RETRO_CHECK(
        n % m == 0 && n >= 2 * m,
        "sample.sequence_length is {}: it must be a multiple of the chunk length {}, at least {}",
        n, m, 2 * m);
    is_retrieving = fetcher != nullptr && k > 0 && model->encoder != nullptr;
    const c10::InferenceMode inference;
    model->eval();
    for (const auto& block : model->decoder->layers) {
      self_relative_XHA.push_back(
          is_relative() ? block->self_attention->relative_rows({0, n}, kDecodingPrecision)
                        : at::Tensor());
      cross_geometry.push_back(geometry_of(*block));
    }
  }

  bool is_relative() const { return model->config().block.positions == "relative"; }

  CrossGeometry geometry_of(const DecoderBlockImpl& block) const {
    CrossGeometry geometry{m, {}, {}};
    if (!block.is_retro_layer()) return geometry;
    if (RotaryTable* rotary = block.cross_rotary()) {
      geometry.angles = rotary->first(2 * m - 1, model->output_weight());
    } else if (model->config().cca_positions) {
      geometry.relative_XHA = block.cross_attention->relative_rows(
          cross_attention_distances(m, 2 * m), kDecodingPrecision);
    }
    return geometry;
  }

  void prepare(KeyValueCache& cache) const {
    if (cache.key_NGA.empty()) cache = KeyValueCache(model->config(), n, model->device());
    RETRO_CHECK(cache.key_NGA.front().size(0) == n,
                "key/value cache: made for a window of {} tokens, expected {}",
                cache.key_NGA.front().size(0), n);
  }

  std::vector<DecodeSegment> make_segments(std::span<const AppendRequest> requests) const;
  void fetch_neighbours(std::vector<DecodeSegment>& segments) const;
  void encode_completed(const at::Tensor& stream_TD, std::vector<DecodeSegment>& segments) const;
  at::Tensor window_positions(const std::vector<DecodeSegment>& segments) const;
  at::Tensor embed(const std::vector<DecodeSegment>& segments,
                   const std::vector<int32_t>& tokens) const;
  at::Tensor run(std::vector<DecodeSegment>& segments, const std::vector<int32_t>& tokens) const;
  at::Tensor append_block(KeyValueCache& cache, std::span<const int32_t> tokens,
                          std::optional<std::vector<FetchedNeighbour>> known) const;
  at::Tensor rebuild(KeyValueCache& cache, WindowContent content) const;
  void pad(KeyValueCache& cache, int64_t count, int32_t token) const;

  RetroModel model;
  NeighbourFetcher* fetcher;
  int64_t k, n, m;
  bool is_retrieving = false;
  std::vector<at::Tensor> self_relative_XHA;  ///< per layer, distances 0..n-1
  std::vector<CrossGeometry> cross_geometry;  ///< per layer
};

std::vector<DecodeSegment> CachedDecoder::Impl::make_segments(
    std::span<const AppendRequest> requests) const {
  std::vector<DecodeSegment> segments;
  int64_t offset = 0;
  for (const AppendRequest& request : requests) {
    DecodeSegment segment;
    segment.cache = request.cache;
    segment.offset = offset;
    segment.count = static_cast<int64_t>(request.tokens.size());
    segment.start = request.cache->length;
    const int64_t left_in_chunk = m - segment.start % m;
    RETRO_CHECK(segment.count >= 1 && segment.count <= left_in_chunk,
                "cached decoding: {} tokens appended where the chunk takes 1 to {}", segment.count,
                left_in_chunk);
    segment.completes_chunk = segment.count == left_in_chunk;
    offset += segment.count;
    segment.cache->is_real_N.narrow(0, segment.start, segment.count).fill_(true);
    segment.cache->tokens.insert(segment.cache->tokens.end(), request.tokens.begin(),
                                 request.tokens.end());
    segment.cache->is_padding.insert(segment.cache->is_padding.end(), request.tokens.size(), 0);
    segments.push_back(std::move(segment));
  }
  return segments;
}

/// One call for every chunk that becomes complete, before anything is computed. A lead chunk has no
/// neighbours.
void CachedDecoder::Impl::fetch_neighbours(std::vector<DecodeSegment>& segments) const {
  std::vector<std::vector<int32_t>> chunks;
  std::vector<DecodeSegment*> asking;
  for (DecodeSegment& segment : segments) {
    const KeyValueCache& cache = *segment.cache;
    const auto begin = static_cast<int64_t>(cache.tokens.size()) - m;
    if (!is_retrieving || !segment.completes_chunk ||
        cache.is_padding[static_cast<size_t>(begin)] != 0)
      continue;
    chunks.emplace_back(cache.tokens.begin() + begin, cache.tokens.end());
    asking.push_back(&segment);
  }
  if (chunks.empty()) return;
  auto fetched = fetcher->fetch(chunks, k);
  RETRO_CHECK(fetched.size() == chunks.size(), "retrieval: {} answers to {} chunks", fetched.size(),
              chunks.size());
  for (size_t i = 0; i < asking.size(); ++i) asking[i]->neighbours = std::move(fetched[i]);
}

/// At the first retro layer, after its self-attention: keeps H and encodes the neighbours of
/// complete chunks.
void CachedDecoder::Impl::encode_completed(const at::Tensor& stream_TD,
                                           std::vector<DecodeSegment>& segments) const {
  for (DecodeSegment& segment : segments) {
    segment.cache->chunk_hidden_MD.narrow(0, segment.start % m, segment.count)
        .copy_(segment.rows(stream_TD));
    if (segment.completes_chunk)
      segment.next_cross =
          encode_neighbours(*model, segment.neighbours, segment.cache->chunk_hidden_MD);
  }
}

/// Positions in the window of the step's rows, int64 [T].
at::Tensor CachedDecoder::Impl::window_positions(const std::vector<DecodeSegment>& segments) const {
  std::vector<at::Tensor> parts;
  for (const DecodeSegment& segment : segments)
    parts.push_back(at::arange(segment.start, segment.start + segment.count, at::kLong));
  return at::cat(parts).to(model->device());
}

/// Learned positions count the window's real tokens.
at::Tensor CachedDecoder::Impl::embed(const std::vector<DecodeSegment>& segments,
                                      const std::vector<int32_t>& tokens) const {
  const at::Tensor ids_T =
      at::tensor(at::ArrayRef<int32_t>(tokens), at::kInt).to(model->device(), at::kLong);
  if (!model->decoder->has_learned_positions()) return model->decoder->embed(ids_T);
  std::vector<at::Tensor> parts;
  for (const DecodeSegment& segment : segments) {
    const auto& padding = segment.cache->is_padding;
    const int64_t masked = std::count(padding.begin(), padding.begin() + segment.start, uint8_t{1});
    parts.push_back(
        at::arange(segment.start - masked, segment.start - masked + segment.count, at::kLong));
  }
  return model->decoder->embed(ids_T, at::cat(parts).to(model->device()));
}

/// The step itself: logits after each segment's last token.
at::Tensor CachedDecoder::Impl::run(std::vector<DecodeSegment>& segments,
                                    const std::vector<int32_t>& tokens) const {
  at::Tensor stream_TD = embed(segments, tokens);
  SelfGeometry geometry;
  if (RotaryTable* rotary = model->decoder->layers.front()->rotary())
    geometry.angles = rotary->of(window_positions(segments), n, stream_TD);
  size_t num_retro = 0;
  for (size_t layer = 0; layer < model->decoder->layers.size(); ++layer) {
    const DecoderBlockImpl& block = *model->decoder->layers[layer];
    geometry.relative_XHA = self_relative_XHA[layer];
    stream_TD = add_cached_self_attention(block, layer, stream_TD, geometry, segments);
    if (is_retrieving && block.is_retro_layer()) {
      if (num_retro == 0) encode_completed(stream_TD, segments);
      stream_TD = add_cached_cross_attention(block, num_retro++, stream_TD, cross_geometry[layer],
                                             segments);
    }
    stream_TD = block.add_feed_forward(stream_TD, kDecodingPrecision);
  }
  std::vector<at::Tensor> last;
  for (DecodeSegment& segment : segments) {
    last.push_back(stream_TD[segment.offset + segment.count - 1]);
    segment.cache->length += segment.count;
    if (!segment.completes_chunk) continue;
    segment.cache->cross = std::move(segment.next_cross);
    segment.cache->neighbours.push_back(std::move(segment.neighbours));
  }
  return linear(model->decoder->finish(at::stack(last)), model->output_weight(),
                kDecodingPrecision);
}

at::Tensor CachedDecoder::Impl::append_block(
    KeyValueCache& cache, std::span<const int32_t> tokens,
    std::optional<std::vector<FetchedNeighbour>> known) const {
  const AppendRequest request{&cache, tokens};
  std::vector<DecodeSegment> segments = make_segments({&request, 1});
  if (known) {
    segments.front().neighbours = std::move(*known);
  } else {
    fetch_neighbours(segments);
  }
  return run(segments, {tokens.begin(), tokens.end()})[0];
}

/// Masked positions: nothing reads them, so nothing is computed.
void CachedDecoder::Impl::pad(KeyValueCache& cache, int64_t count, int32_t token) const {
  cache.tokens.insert(cache.tokens.end(), static_cast<size_t>(count), token);
  cache.is_padding.insert(cache.is_padding.end(), static_cast<size_t>(count), 1);
  cache.length += count;
}

/// Fills an emptied cache; returns the logits after the last token.
at::Tensor CachedDecoder::Impl::rebuild(KeyValueCache& cache, WindowContent content) const {
  cache.clear();
  cache.dropped_chunks = content.dropped_chunks;
  const auto total = static_cast<int64_t>(content.tokens.size());
  at::Tensor logits_V;
  for (int64_t begin = 0; begin < total; begin += m) {
    const int64_t end = std::min(begin + m, total);
    int64_t real = begin;
    while (real < end && content.is_padding[static_cast<size_t>(real)] != 0) ++real;
    pad(cache, real - begin, content.tokens[static_cast<size_t>(begin)]);
    if (real == end) continue;
    std::optional<std::vector<FetchedNeighbour>> known;
    const auto chunk = static_cast<size_t>(begin / m);
    if (end == begin + m && chunk < content.neighbours.size())
      known = std::move(content.neighbours[chunk]);
    logits_V =
        append_block(cache,
                     std::span(content.tokens)
                         .subspan(static_cast<size_t>(real), static_cast<size_t>(end - real)),
                     std::move(known));
    if (real > begin && !model->config().attend_across_documents) cache.is_real_N.fill_(false);
  }
  return logits_V;
}

CachedDecoder::CachedDecoder(RetroModel model, NeighbourFetcher* fetcher, int64_t neighbours,
                             int64_t window_length)
    : impl_(std::make_unique<Impl>(std::move(model), fetcher, neighbours, window_length)) {}
CachedDecoder::~CachedDecoder() = default;

KeyValueCache CachedDecoder::new_cache() const {
  const c10::InferenceMode inference;
  KeyValueCache cache;
  impl_->prepare(cache);
  return cache;
}

at::Tensor CachedDecoder::begin(KeyValueCache& cache, int32_t end_of_document) {
  const c10::InferenceMode inference;
  impl_->prepare(cache);
  WindowContent lead;
  lead.tokens.assign(static_cast<size_t>(impl_->m), end_of_document);
  lead.is_padding.assign(static_cast<size_t>(impl_->m), 1);
  lead.is_padding.back() = 0;
  return impl_->rebuild(cache, std::move(lead));
}

at::Tensor CachedDecoder::append(std::span<const AppendRequest> requests) {
  const c10::InferenceMode inference;
  std::vector<int32_t> tokens;
  for (const AppendRequest& request : requests) {
    impl_->prepare(*request.cache);
    if (request.cache->length == impl_->n) drop_oldest(*request.cache);
    tokens.insert(tokens.end(), request.tokens.begin(), request.tokens.end());
  }
  std::vector<DecodeSegment> segments = impl_->make_segments(requests);
  impl_->fetch_neighbours(segments);
  return impl_->run(segments, tokens);
}

at::Tensor CachedDecoder::append_text(KeyValueCache& cache, std::span<const int32_t> tokens) {
  RETRO_CHECK(!tokens.empty(), "cached decoding: no token to append");
  const c10::InferenceMode inference;
  impl_->prepare(cache);
  const int64_t n = impl_->n, m = impl_->m;
  const auto total = cache.length + static_cast<int64_t>(tokens.size());
  if (total > n) {
    WindowContent content{cache.tokens, cache.is_padding, cache.neighbours, cache.dropped_chunks};
    content.tokens.insert(content.tokens.end(), tokens.begin(), tokens.end());
    content.is_padding.insert(content.is_padding.end(), tokens.size(), 0);
    while (static_cast<int64_t>(content.tokens.size()) > n) drop_chunks(content, n / m / 2, m);
    return impl_->rebuild(cache, std::move(content));
  }
  at::Tensor logits_V;
  while (!tokens.empty()) {
    const auto count = std::min(static_cast<size_t>(m - cache.length % m), tokens.size());
    logits_V = impl_->append_block(cache, tokens.first(count), std::nullopt);
    tokens = tokens.subspan(count);
  }
  return logits_V;
}

void CachedDecoder::drop_oldest(KeyValueCache& cache) {
  const c10::InferenceMode inference;
  WindowContent content{cache.tokens, cache.is_padding, cache.neighbours, cache.dropped_chunks};
  drop_chunks(content, impl_->n / impl_->m / 2, impl_->m);
  impl_->rebuild(cache, std::move(content));
}

}  // namespace retro
