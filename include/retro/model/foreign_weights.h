// Tensors of another project's layout, and how they become ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "retro/core/tensor_source.h"
#include "retro/model/retro_model.h"

namespace retro {

/// One tensor of theirs, which may hold several of ours one after the other (rows of [out, in]).
struct WeightRule {
  std::string theirs;
  std::vector<std::string> ours;
  bool is_transposed = false;     ///< theirs is [in, out]
  int64_t interleaved_heads = 0;  ///< above 0: rows of so many heads whose rotary pairs are
                                  ///< neighbours (0, F, 1, F+1, ...) instead of halves
};

/// Where tensors come from.
struct ForeignTensors {
  std::string where;  ///< names the source in errors
  std::map<std::string, std::vector<int64_t>> shapes;
  std::function<at::Tensor(const std::string& name)> read;  ///< float32 on the CPU
};

/// The tensors of GGUF or safetensors, which the result keeps open.
ForeignTensors foreign_tensors(TensorSource source);

/// Copies every tensor the rules name into the model. Throws Error for one that is missing, has
/// another shape, or is not named by any rule and not accepted by `is_ignorable`.
void copy_foreign_weights(RetroModel& model, const ForeignTensors& source,
                          const std::vector<WeightRule>& rules,
                          const std::function<bool(const std::string&)>& is_ignorable);
/// Their tensor of a rule (not interleaved), float32 and contiguous.
at::Tensor foreign_weight(const RetroModel& model, const WeightRule& rule);

}  // namespace retro
