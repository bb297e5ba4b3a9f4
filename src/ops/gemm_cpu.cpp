#include "gemm_cpu.h"

#include <algorithm>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>

#include "cpu/cpu_features.h"
#include "cpu/kernels.h"
#include "scratch.h"

namespace retro {

namespace {

/// Packed elements of depth at a time: a panel of the right operand then stays in the second-level
/// cache, and the output is touched rarely.
constexpr int64_t kBlockSteps = 512;
/// Columns packed at a time: 2 MB of packed elements, shared by all threads.
constexpr int64_t kBlockColumns = 1024;
/// Rows a thread packs at a time: 192 KB.
constexpr int64_t kBlockRows = 96;
/// Multiply-adds under which a second thread costs more than it brings.
constexpr int64_t kParallelWork = int64_t{1} << 20;

template <typename T>
class BlockedGemm {
 public:
  BlockedGemm(const cpu::GemmProblem<T>& problem, const cpu::GemmKernels<T>& kernels)
      : problem_(problem), kernels_(kernels) {}

  void run() {
    if (problem_.rows <= cpu::kThinRows && problem_.left.column_stride == 1 &&
        problem_.right.row_stride == 1) {
      run_thin();
      return;
    }
    const int64_t depth_blocks = count_blocks(problem_.depth, kBlockSteps * kernels_.depth_step);
    const int64_t column_blocks = count_blocks(problem_.columns, kBlockColumns);
    for (int64_t j = 0; j < column_blocks; ++j) {
      for (int64_t k = 0; k < depth_blocks; ++k)
        run_block(block(j, column_blocks, k, depth_blocks));
    }
  }

 private:
  static int64_t count_blocks(int64_t total, int64_t largest) {
    return std::max<int64_t>((total + largest - 1) / largest, 1);
  }

  /// Block (j, k) of nearly equal ones whose borders fall on whole panels and vectors.
  cpu::GemmBlock block(int64_t j, int64_t columns, int64_t k, int64_t depths) const {
    constexpr int64_t kDepthMultiple = 32;
    const auto border = [](int64_t total, int64_t index, int64_t count, int64_t multiple) {
      return index == count ? total : total * index / count / multiple * multiple;
    };
    const int64_t column = border(problem_.columns, j, columns, kernels_.panel_columns);
    const int64_t depth = border(problem_.depth, k, depths, kDepthMultiple);
    return {.first_depth = depth,
            .depth = border(problem_.depth, k + 1, depths, kDepthMultiple) - depth,
            .column = column,
            .columns = border(problem_.columns, j + 1, columns, kernels_.panel_columns) - column};
  }

  int64_t grain(int64_t work_per_unit) const {
    return std::max<int64_t>(kParallelWork / std::max<int64_t>(work_per_unit, 1), 1);
  }

  void run_block(cpu::GemmBlock block) {
    void* right = thread_scratch(ScratchSlot::kSharedPanels,
                                 bytes(kernels_.right_bytes(block.columns, block.depth)));
    const int64_t panel = kernels_.panel_columns;
    const int64_t panels = (block.columns + panel - 1) / panel;
    // Packing an element costs about as much as 16 multiply-adds.
    at::parallel_for(0, panels, grain(16 * panel * block.depth), [&](int64_t begin, int64_t end) {
      kernels_.pack_right(problem_, block, begin * panel, std::min(end * panel, block.columns),
                          right);
    });
    const int64_t units = (problem_.rows + kernels_.block_rows - 1) / kernels_.block_rows;
    const int64_t work = kernels_.block_rows * block.columns * block.depth;
    at::parallel_for(0, units, grain(work), [&](int64_t begin, int64_t end) {
      multiply_rows(block, begin * kernels_.block_rows,
                    std::min(end * kernels_.block_rows, problem_.rows), right);
    });
  }

  void multiply_rows(cpu::GemmBlock block, int64_t begin, int64_t end, const void* right) {
    const int64_t count = count_blocks(end - begin, kBlockRows);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = begin + (end - begin) * i / count;
      const int64_t last = begin + (end - begin) * (i + 1) / count;
      void* left = thread_scratch(ScratchSlot::kKernel,
                                  bytes(kernels_.left_bytes(last - first, block.depth)));
      kernels_.multiply(problem_, block, first, last, right, left);
    }
  }

  void run_thin() {
    at::parallel_for(
        0, problem_.columns, grain(16 * problem_.depth),
        [&](int64_t begin, int64_t end) { kernels_.multiply_thin(problem_, begin, end); });
  }

  static size_t bytes(int64_t count) { return static_cast<size_t>(count); }

  const cpu::GemmProblem<T>& problem_;
  const cpu::GemmKernels<T>& kernels_;
};

template <typename T>
bool is_trivial(const cpu::GemmProblem<T>& problem) {
  if (problem.rows == 0 || problem.columns == 0) return true;
  if (problem.depth > 0) return false;
  for (int64_t i = 0; i < problem.rows; ++i) {
    T* out = problem.out + i * problem.out_stride;
    if (problem.addend == nullptr) {
      std::fill_n(out, problem.columns, T(0));
    } else if (problem.addend != problem.out) {
      std::copy_n(problem.addend + i * problem.addend_stride, problem.columns, out);
    }
  }
  return true;
}

at::Tensor as_bfloat16(const cpu::GemmOperand<float>& operand, int64_t rows, int64_t columns) {
  // from_blob takes no const pointer; the tensor is only read.
  return at::from_blob(const_cast<float*>(operand.data), {rows, columns},
                       {operand.row_stride, operand.column_stride})
      .to(at::kBFloat16);
}

void run_aten_bfloat16(const cpu::GemmProblem<float>& problem) {
  const at::NoGradGuard no_grad;
  const at::Tensor product = at::mm(as_bfloat16(problem.left, problem.rows, problem.depth),
                                    as_bfloat16(problem.right, problem.depth, problem.columns));
  at::Tensor out =
      at::from_blob(problem.out, {problem.rows, problem.columns}, {problem.out_stride, 1});
  if (problem.addend == nullptr) {
    out.copy_(product);
    return;
  }
  const at::Tensor addend =
      at::from_blob(const_cast<float*>(problem.addend), {problem.rows, problem.columns},
                    {problem.addend_stride, 1});
  at::add_out(out, addend, product);
}

}  // namespace

void gemm_cpu(const cpu::GemmProblem<float>& problem, Precision precision) {
  static const bool has_own_bfloat16 =
      cpu::bfloat16_gemm_kernels() != nullptr && !cpu::has_amx_bfloat16();
  if (is_trivial(problem)) return;
  if (precision == Precision::kFloat32) {
    BlockedGemm<float>(problem, cpu::gemm_kernels<float>()).run();
  } else if (has_own_bfloat16) {
    BlockedGemm<float>(problem, *cpu::bfloat16_gemm_kernels()).run();
  } else {
    run_aten_bfloat16(problem);
  }
}

void gemm_cpu(const cpu::GemmProblem<double>& problem, Precision /*precision*/) {
  if (!is_trivial(problem)) BlockedGemm<double>(problem, cpu::gemm_kernels<double>()).run();
}

}  // namespace retro
