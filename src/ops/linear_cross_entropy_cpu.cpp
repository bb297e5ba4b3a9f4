#include "linear_cross_entropy_cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include <ATen/Parallel.h>

#include "cpu/kernels.h"
#include "gemm_cpu.h"
#include "scratch.h"

namespace retro {

namespace {

constexpr int64_t kTileTokens = 512;
constexpr int64_t kBlockColumns = 1024;
/// Logits a thread should at least get.
constexpr int64_t kTileElements = 16384;

/// Calls the kernels for one kind of stored exponentials.
template <typename T, typename Stored>
struct SoftmaxKernels {
  static void add_block(const T* logits, int64_t count, cpu::RunningSoftmax<T>* running,
                        Stored* stored) {
    if constexpr (std::is_same_v<Stored, T>) {
      cpu::elementwise_kernels<T>().softmax_block(logits, count, running, stored);
    } else {
      cpu::elementwise_kernels<T>().softmax_block_bfloat16(logits, count, running, stored);
    }
  }
  static void scale(const Stored* stored, int64_t count, T factor, T* out) {
    if constexpr (std::is_same_v<Stored, T>) {
      cpu::elementwise_kernels<T>().scale_block(stored, count, factor, out);
    } else {
      cpu::elementwise_kernels<T>().scale_block_bfloat16(stored, count, factor, out);
    }
  }
};

/// One tile of tokens: the vocabulary passes by in blocks, once for the softmax and once for the
/// gradients.
template <typename T, typename Stored>
class CrossEntropyTile {
 public:
  CrossEntropyTile(const CrossEntropyProblem<T>& problem, Precision precision, int64_t largest)
      : problem_(problem),
        precision_(precision),
        has_gradients_(problem.grad_hidden != nullptr || problem.grad_weight != nullptr),
        num_blocks_((problem.vocabulary + kBlockColumns - 1) / kBlockColumns),
        running_(static_cast<size_t>(largest)),
        target_logits_(static_cast<size_t>(largest)),
        maxima_(static_cast<size_t>(largest * num_blocks_)),
        block_(scratch<T>(ScratchSlot::kLogits, largest * kBlockColumns)) {
    if (has_gradients_) {
      stored_ = scratch<Stored>(ScratchSlot::kExponentials, largest * problem.vocabulary);
    }
  }

  void run(int64_t begin, int64_t end) {
    begin_ = begin;
    tokens_ = end - begin;
    std::fill_n(running_.begin(), tokens_,
                cpu::RunningSoftmax<T>{-std::numeric_limits<T>::infinity(), T(0)});
    for (int64_t j = 0; j < num_blocks_; ++j) add_block(j);
    for (int64_t t = 0; t < tokens_; ++t) {
      problem_.losses[begin_ + t] = log_sum(t) - target_logits_[static_cast<size_t>(t)];
    }
    if (!has_gradients_) return;
    for (int64_t j = 0; j < num_blocks_; ++j) differentiate_block(j);
  }

 private:
  template <typename U>
  static U* scratch(ScratchSlot slot, int64_t count) {
    return static_cast<U*>(thread_scratch(slot, static_cast<size_t>(count) * sizeof(U)));
  }

  int64_t first_column(int64_t j) const { return j * kBlockColumns; }
  int64_t columns(int64_t j) const {
    return std::min(kBlockColumns, problem_.vocabulary - first_column(j));
  }
  T& maximum(int64_t t, int64_t j) { return maxima_[static_cast<size_t>(t * num_blocks_ + j)]; }
  T log_sum(int64_t t) const {
    const auto& running = running_[static_cast<size_t>(t)];
    return running.maximum + std::log(running.sum);
  }
  const T* hidden() const { return problem_.hidden + begin_ * problem_.width; }
  cpu::GemmOperand<T> weight_block(int64_t j) const {
    return {problem_.weight + first_column(j) * problem_.weight_stride, problem_.weight_stride, 1};
  }

  template <typename Row>
  void for_each_token(int64_t j, const Row& row) {
    const int64_t grain = std::max<int64_t>(kTileElements / columns(j), 1);
    at::parallel_for(0, tokens_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) row(t);
    });
  }

  void add_block(int64_t j) {
    const auto weight = weight_block(j);
    multiply({.rows = tokens_,
              .columns = columns(j),
              .depth = problem_.width,
              .left = {hidden(), problem_.width, 1},
              .right = {weight.data, weight.column_stride, weight.row_stride},
              .out = block_,
              .out_stride = kBlockColumns});
    for_each_token(j, [&](int64_t t) {
      const T* logits = block_ + t * kBlockColumns;
      const int64_t target = problem_.target[begin_ + t] - first_column(j);
      if (target >= 0 && target < columns(j))
        target_logits_[static_cast<size_t>(t)] = logits[target];
      auto* running = &running_[static_cast<size_t>(t)];
      SoftmaxKernels<T, Stored>::add_block(logits, columns(j), running,
                                           has_gradients_ ? stored_row(t, j) : nullptr);
      maximum(t, j) = running->maximum;
    });
  }

  Stored* stored_row(int64_t t, int64_t j) const {
    return stored_ + t * problem_.vocabulary + first_column(j);
  }

  /// d loss / d logits = (softmax - one_hot(target)) * token_weight, then both products with it.
  void differentiate_block(int64_t j) {
    for_each_token(j, [&](int64_t t) {
      const T token_weight = problem_.token_weight[begin_ + t];
      const T factor = std::exp(maximum(t, j) - log_sum(t)) * token_weight;
      T* gradient = block_ + t * kBlockColumns;
      SoftmaxKernels<T, Stored>::scale(stored_row(t, j), columns(j), factor, gradient);
      const int64_t target = problem_.target[begin_ + t] - first_column(j);
      if (target >= 0 && target < columns(j)) gradient[target] -= token_weight;
    });
    if (problem_.grad_hidden != nullptr) {
      T* out = problem_.grad_hidden + begin_ * problem_.width;
      multiply({.rows = tokens_,
                .columns = problem_.width,
                .depth = columns(j),
                .left = {block_, kBlockColumns, 1},
                .right = weight_block(j),
                .out = out,
                .out_stride = problem_.width,
                .addend = j > 0 ? out : nullptr,
                .addend_stride = problem_.width});
    }
    if (problem_.grad_weight != nullptr) {
      T* out = problem_.grad_weight + first_column(j) * problem_.width;
      multiply({.rows = columns(j),
                .columns = problem_.width,
                .depth = tokens_,
                .left = {block_, 1, kBlockColumns},
                .right = {hidden(), problem_.width, 1},
                .out = out,
                .out_stride = problem_.width,
                .addend = out,
                .addend_stride = problem_.width});
    }
  }

  void multiply(const cpu::GemmProblem<T>& product) { gemm_cpu(product, precision_); }

  const CrossEntropyProblem<T>& problem_;
  Precision precision_;
  bool has_gradients_;
  int64_t num_blocks_;
  int64_t begin_ = 0;
  int64_t tokens_ = 0;
  std::vector<cpu::RunningSoftmax<T>> running_;
  std::vector<T> target_logits_;
  std::vector<T> maxima_;     ///< [tile, blocks]: what each block's exponentials are relative to
  T* block_;                  ///< [tile, kBlockColumns]: logits, then their gradients
  Stored* stored_ = nullptr;  ///< [tile, vocabulary]
};

template <typename T, typename Stored>
void run_tiles(const CrossEntropyProblem<T>& problem, Precision precision) {
  const int64_t tile = std::clamp<int64_t>((problem.tokens + 1) / 2, 1, kTileTokens);
  CrossEntropyTile<T, Stored> worker(problem, precision, tile);
  for (int64_t begin = 0; begin < problem.tokens; begin += tile) {
    worker.run(begin, std::min(begin + tile, problem.tokens));
  }
}

}  // namespace

template <>
void cross_entropy_cpu<float>(const CrossEntropyProblem<float>& problem, Precision precision) {
  if (precision == Precision::kBfloat16) {
    run_tiles<float, cpu::Bfloat16>(problem, precision);
  } else {
    run_tiles<float, float>(problem, precision);
  }
}

template <>
void cross_entropy_cpu<double>(const CrossEntropyProblem<double>& problem, Precision precision) {
  run_tiles<double, double>(problem, precision);
}

}  // namespace retro
