// The documents of the page's reader in a compact form.
#pragma once

#include "result_view.h"

namespace retro {

/// From eval/examples.json, whose chunks may come in any order and twice (a source and its part),
/// to
/// {"documents": [{source, part, title, id, chunks: [{n, overlap, text, saved, off, run,
/// neighbours: [{source, title, distance, text, next}]}]}]}. `text` holds the pieces of a chunk,
/// `saved` (off - on) and `off` their losses in thousandths of a nat (null: not scored), `run` the
/// length of the common run each stands in, 0 below three tokens. A neighbour's `text` and `next`
/// are stretches [text, run length].
Json reader_data(const Json& examples);

}  // namespace retro
