// The operations' definitions as plain float64 loops, written from METHOD section 3 and independent
// of src/ops.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ops/zeros.h>
#include <Eigen/Dense>
#include <torch/types.h>

namespace retro::oracle {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Matrix to_matrix(const at::Tensor& tensor) {
  const at::Tensor contiguous = tensor.to(at::kDouble).contiguous();
  return Eigen::Map<const Matrix>(contiguous.const_data_ptr<double>(), contiguous.size(0),
                                  contiguous.size(1));
}

inline at::Tensor to_tensor(const Matrix& matrix) {
  at::Tensor tensor = at::zeros({matrix.rows(), matrix.cols()}, at::kDouble);
  Eigen::Map<Matrix>(tensor.mutable_data_ptr<double>(), matrix.rows(), matrix.cols()) = matrix;
  return tensor;
}

/// One head. Undefined relative: no position term; undefined biases: zero.
struct Head {
  Matrix query;     // [rows, A]
  Matrix key;       // [keys, A]
  Matrix value;     // [keys, A]
  Matrix relative;  // [X, A] or empty
  Eigen::VectorXd content_bias;
  Eigen::VectorXd position_bias;
};

/// sees(i, j): is key j visible to row i; row(i, j): the row of `relative` for the pair.
template <typename Sees, typename RelativeRow>
Matrix attend(const Head& head, const Sees& sees, const RelativeRow& relative_row) {
  const auto width = head.query.cols();
  Matrix out = Matrix::Zero(head.query.rows(), width);
  for (Eigen::Index i = 0; i < head.query.rows(); ++i) {
    std::vector<double> scores(static_cast<size_t>(head.key.rows()), 0.0);
    double largest = -std::numeric_limits<double>::infinity();
    for (Eigen::Index j = 0; j < head.key.rows(); ++j) {
      if (!sees(i, j)) continue;
      double score = 0;
      for (Eigen::Index a = 0; a < width; ++a) {
        score += (head.query(i, a) + head.content_bias(a)) * head.key(j, a);
        if (head.relative.rows() > 0) {
          score +=
              (head.query(i, a) + head.position_bias(a)) * head.relative(relative_row(i, j), a);
        }
      }
      scores[static_cast<size_t>(j)] = score / std::sqrt(static_cast<double>(width));
      largest = std::max(largest, scores[static_cast<size_t>(j)]);
    }
    double total = 0;
    for (Eigen::Index j = 0; j < head.key.rows(); ++j) {
      if (!sees(i, j)) continue;
      const double weight = std::exp(scores[static_cast<size_t>(j)] - largest);
      total += weight;
      out.row(i) += weight * head.value.row(j);
    }
    if (total > 0) out.row(i) /= total;
  }
  return out;
}

inline Eigen::VectorXd bias_or_zero(const at::Tensor& bias_HA, int64_t head, int64_t width) {
  if (!bias_HA.defined()) return Eigen::VectorXd::Zero(width);
  return to_matrix(bias_HA.narrow(0, head, 1)).transpose();
}

inline Matrix relative_or_empty(const at::Tensor& relative_XHA, int64_t head) {
  return relative_XHA.defined() ? to_matrix(relative_XHA.select(1, head)) : Matrix();
}

/// y = x / sqrt(mean(x^2) + epsilon) * gain.
inline Matrix rms_norm(const Matrix& input, const Eigen::VectorXd& gain, double epsilon) {
  Matrix out = input;
  for (Eigen::Index t = 0; t < input.rows(); ++t) {
    double squares = 0;
    for (Eigen::Index d = 0; d < input.cols(); ++d) squares += input(t, d) * input(t, d);
    const double rms = std::sqrt(squares / static_cast<double>(input.cols()) + epsilon);
    for (Eigen::Index d = 0; d < input.cols(); ++d) out(t, d) = input(t, d) / rms * gain(d);
  }
  return out;
}

/// -log softmax(hidden W^T)[target] of one token.
inline double token_loss(const Eigen::VectorXd& hidden, const Matrix& weight, int64_t target) {
  const Eigen::VectorXd logits = weight * hidden;
  double largest = logits(0);
  for (Eigen::Index v = 1; v < logits.size(); ++v) largest = std::max(largest, logits(v));
  double total = 0;
  for (Eigen::Index v = 0; v < logits.size(); ++v) total += std::exp(logits(v) - largest);
  return largest + std::log(total) - logits(target);
}

}  // namespace retro::oracle
