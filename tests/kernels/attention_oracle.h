// Attention and its gradients written from METHOD section 3 with Eigen, one item and head at a
// time. `round` is applied to every tensor that a plain implementation would store: the identity
// gives the float64 oracle, rounding to bfloat16 gives plain bfloat16 code, whose error is the
// yardstick.
#pragma once

#include <cmath>
#include <functional>
#include <limits>

#include <Eigen/Dense>

#include "attention_case.h"

namespace retro::testing {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Round = std::function<double(double)>;

class AttentionOracle {
 public:
  AttentionOracle(const AttentionCase& problem, Round round)
      : problem_(problem), round_(std::move(round)) {}

  AttentionOutputs run() {
    const AttentionCase& c = problem_;
    result_.out.assign(c.query.size(), 0.0);
    result_.grad_query.assign(c.query.size(), 0.0);
    result_.grad_key.assign(c.key.size(), 0.0);
    result_.grad_value.assign(c.key.size(), 0.0);
    result_.grad_relative.assign(c.relative.size(), 0.0);
    result_.grad_content_bias.assign(c.content_bias.size(), 0.0);
    result_.grad_position_bias.assign(c.content_bias.size(), 0.0);
    absolute_ = result_;
    for (int64_t b = 0; b < c.batch; ++b) {
      for (int64_t u = 0; u < c.chunks(); ++u) {
        for (int64_t h = 0; h < c.heads; ++h) attend(b, u, h);
      }
    }
    for (Values* values : {&result_.grad_key, &result_.grad_value, &result_.grad_relative}) {
      for (double& value : *values) value = round_(value);
    }
    return result_;
  }

  /// Of every output the largest sum of absolute terms, for float32's bound. Valid after run().
  const AttentionOutputs& absolute_sums() const { return absolute_; }

  /// Largest sum of absolute terms of a score.
  double largest_score() const { return largest_score_; }

 private:
  Matrix rounded(const Matrix& matrix) const {
    return matrix.unaryExpr([this](double value) { return round_(value); });
  }

  bool sees(int64_t b, int64_t u, int64_t row, int64_t j) const {
    const AttentionCase& c = problem_;
    const auto at = [](int64_t index) { return static_cast<size_t>(index); };
    const int64_t p = c.position(u, row);
    if (c.is_causal && j > row + c.causal_offset) return false;
    if (!c.key_is_real.empty() && c.key_is_real[at((b * c.chunks() + u) * c.keys + j)] == 0) {
      return false;
    }
    if (!c.row_is_active.empty() && c.row_is_active[at(b * c.length + p)] == 0) return false;
    return c.query_segment.empty() ||
           c.query_segment[at(b * c.length + p)] == c.key_segment[at(b * c.keys + j)];
  }

  double* query_row(Values& values, int64_t b, int64_t p, int64_t h) const {
    const AttentionCase& c = problem_;
    return &values[static_cast<size_t>(((b * c.length + p) * c.heads + h) * c.width)];
  }
  double* key_row(Values& values, int64_t b, int64_t u, int64_t j, int64_t g) const {
    const AttentionCase& c = problem_;
    return &values[static_cast<size_t>((((b * c.chunks() + u) * c.keys + j) * c.key_heads + g) *
                                       c.width)];
  }

  void attend(int64_t b, int64_t u, int64_t h) {
    const AttentionCase& c = problem_;
    const int64_t g = h / (c.heads / c.key_heads);
    int64_t rows = 0;
    while (rows < c.rows() && c.position(u, rows) >= 0) ++rows;
    const double scale = 1.0 / std::sqrt(static_cast<double>(c.width));

    Matrix query(rows, c.width), grad(rows, c.width), content(rows, c.width),
        position(rows, c.width);
    for (int64_t i = 0; i < rows; ++i) {
      const auto row =
          static_cast<size_t>(((b * c.length + c.position(u, i)) * c.heads + h) * c.width);
      for (int64_t a = 0; a < c.width; ++a) {
        const auto bias = static_cast<size_t>(h * c.width + a);
        query(i, a) = c.query[row + static_cast<size_t>(a)];
        grad(i, a) = c.grad_out[row + static_cast<size_t>(a)];
        content(i, a) = round_(query(i, a) + c.content_bias[bias]);
        position(i, a) = round_(query(i, a) + c.position_bias[bias]);
      }
    }
    Matrix key(c.keys, c.width), value(c.keys, c.width);
    for (int64_t j = 0; j < c.keys; ++j) {
      const bool is_real =
          c.key_is_real.empty() ||
          c.key_is_real[static_cast<size_t>((b * c.chunks() + u) * c.keys + j)] != 0;
      for (int64_t a = 0; a < c.width; ++a) {
        const auto at = static_cast<size_t>(
            (((b * c.chunks() + u) * c.keys + j) * c.key_heads + g) * c.width + a);
        key(j, a) = is_real ? c.key[at] : 0.0;
        value(j, a) = is_real ? c.value[at] : 0.0;
      }
    }
    Matrix relative = Matrix::Zero(c.distances(), c.width);
    for (int64_t x = 0; c.has_positions && x < c.distances(); ++x) {
      for (int64_t a = 0; a < c.width; ++a) {
        relative(x, a) = c.relative[static_cast<size_t>((x * c.heads + h) * c.width + a)];
      }
    }
    const auto distance_row = [&](int64_t i, int64_t j) {
      return i - j % c.period() + c.offset() - c.first_distance();
    };

    const Matrix content_scores = rounded(content * key.transpose());
    const Matrix position_scores = rounded(position * relative.transpose());
    Matrix weights = Matrix::Zero(rows, c.keys);
    for (int64_t i = 0; i < rows; ++i) {
      double largest = -std::numeric_limits<double>::infinity();
      for (int64_t j = 0; j < c.keys; ++j) {
        if (!sees(b, u, i, j)) continue;
        weights(i, j) =
            round_(round_(content_scores(i, j) + position_scores(i, distance_row(i, j))) * scale);
        largest = std::max(largest, weights(i, j));
      }
      double total = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        weights(i, j) = sees(b, u, i, j) ? std::exp(weights(i, j) - largest) : 0.0;
        total += weights(i, j);
      }
      for (int64_t j = 0; total > 0 && j < c.keys; ++j)
        weights(i, j) = round_(weights(i, j) / total);
    }
    const Matrix out = rounded(weights * value);

    const Matrix grad_weights = rounded(grad * value.transpose());
    Matrix grad_scores(rows, c.keys);
    // exp turns an absolute error of a score into a relative one of its weight.
    const Matrix score_terms = content.cwiseAbs() * key.cwiseAbs().transpose();
    const Matrix position_terms = position.cwiseAbs() * relative.cwiseAbs().transpose();
    if (rows * c.keys > 0) {
      largest_score_ =
          std::max(largest_score_, scale * (score_terms.maxCoeff() + position_terms.maxCoeff()));
    }
    for (int64_t i = 0; i < rows; ++i) {
      const double mean = weights.row(i).dot(grad_weights.row(i));
      for (int64_t j = 0; j < c.keys; ++j) {
        grad_scores(i, j) = round_(weights(i, j) * (grad_weights(i, j) - mean) * scale);
      }
    }
    Matrix grad_positions = Matrix::Zero(rows, c.distances());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < c.keys; ++j)
        grad_positions(i, distance_row(i, j)) += grad_scores(i, j);
    }
    grad_positions = rounded(grad_positions);
    const Matrix grad_content = rounded(grad_scores * key);
    const Matrix grad_position = rounded(grad_positions * relative);
    const Matrix grad_key = grad_scores.transpose() * content;
    const Matrix grad_value = weights.transpose() * grad;
    const Matrix grad_relative = grad_positions.transpose() * position;

    // dS = P (dP - mean): both terms count in full.
    const Matrix products = grad.cwiseAbs() * value.cwiseAbs().transpose();
    const Eigen::VectorXd means = weights.cwiseProduct(products).rowwise().sum();
    const Matrix scores = scale * weights.cwiseProduct(products.colwise() + means);
    Matrix positions = Matrix::Zero(rows, c.distances());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < c.keys; ++j) positions(i, distance_row(i, j)) += scores(i, j);
    }
    const Matrix absolute_query = scores * key.cwiseAbs() + positions * relative.cwiseAbs();
    const Matrix absolute_key = scores.transpose() * content.cwiseAbs();
    const Matrix absolute_relative = positions.transpose() * position.cwiseAbs();
    const Matrix absolute_out = weights * value.cwiseAbs();
    const Matrix absolute_value = weights.transpose() * grad.cwiseAbs();

    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t a = 0; a < c.width; ++a) {
        query_row(absolute_.out, b, c.position(u, i), h)[a] = absolute_out(i, a);
        query_row(absolute_.grad_query, b, c.position(u, i), h)[a] = absolute_query(i, a);
        absolute_.grad_content_bias[static_cast<size_t>(h * c.width + a)] += absolute_query(i, a);
        absolute_.grad_position_bias[static_cast<size_t>(h * c.width + a)] += absolute_query(i, a);
        query_row(result_.out, b, c.position(u, i), h)[a] = out(i, a);
        query_row(result_.grad_query, b, c.position(u, i), h)[a] =
            round_(grad_content(i, a) + grad_position(i, a));
        result_.grad_content_bias[static_cast<size_t>(h * c.width + a)] += grad_content(i, a);
        result_.grad_position_bias[static_cast<size_t>(h * c.width + a)] += grad_position(i, a);
      }
    }
    for (int64_t j = 0; j < c.keys; ++j) {
      for (int64_t a = 0; a < c.width; ++a) {
        key_row(result_.grad_key, b, u, j, g)[a] += grad_key(j, a);
        key_row(result_.grad_value, b, u, j, g)[a] += grad_value(j, a);
        key_row(absolute_.grad_key, b, u, j, g)[a] += absolute_key(j, a);
        key_row(absolute_.grad_value, b, u, j, g)[a] += absolute_value(j, a);
      }
    }
    for (int64_t x = 0; c.has_positions && x < c.distances(); ++x) {
      for (int64_t a = 0; a < c.width; ++a) {
        result_.grad_relative[static_cast<size_t>((x * c.heads + h) * c.width + a)] +=
            grad_relative(x, a);
        absolute_.grad_relative[static_cast<size_t>((x * c.heads + h) * c.width + a)] +=
            absolute_relative(x, a);
      }
    }
  }

  const AttentionCase& problem_;
  Round round_;
  AttentionOutputs result_;
  AttentionOutputs absolute_;
  double largest_score_ = 0;
};

}  // namespace retro::testing
