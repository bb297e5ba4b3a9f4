// Per-thread working memory of the CPU kernels.
#pragma once

#include <cstddef>

namespace retro {

/// Blocks that one thread may use at the same time.
enum class ScratchSlot {
  kKernel,               ///< of the innermost kernel
  kSharedPanels,         ///< a matrix product's packed right operand, read by all threads
  kLogits,               ///< linear_cross_entropy: a block of logits
  kExponentials,         ///< linear_cross_entropy: what the gradients are formed from
  kActivations,          ///< feed_forward: a block's inner activations
  kActivationGradients,  ///< and their gradients
  kDecodedWeights,       ///< block_linear: a strip of its matrix
  kCount,
};

/// At least `bytes` of 64-byte aligned memory that belongs to the calling thread until its next
/// call with this slot. It is kept between calls: a fresh block of this size would cost page faults
/// in every operation.
void* thread_scratch(ScratchSlot slot, size_t bytes);

}  // namespace retro
