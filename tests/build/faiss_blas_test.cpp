// FAISS's hidden BLAS and LAPACK against Eigen in float64: a wrong kernel shows here, not as a
// slightly worse recall.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <Eigen/Dense>
#include <faiss/IndexFlat.h>
#include <faiss/IndexIVFFlat.h>
#include <faiss/VectorTransform.h>
#include <faiss/utils/distances.h>
#include <gtest/gtest.h>

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr int kWidth = 48;

// Correlated rows whose variances fall by a factor of 1.2 from one direction to the next.
std::vector<float> make_rows(int64_t num_rows, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Matrix mixing(kWidth, kWidth);
  std::mt19937 fixed(7);
  for (double& value : mixing.reshaped()) value = normal(fixed);
  const Matrix rotation = Eigen::HouseholderQR<Matrix>(mixing).householderQ();
  std::vector<float> rows;
  for (int64_t i = 0; i < num_rows; ++i) {
    Eigen::RowVectorXd row(kWidth);
    for (int j = 0; j < kWidth; ++j) row[j] = normal(random) * std::pow(1.2, -0.5 * j);
    row = row * rotation;
    for (double value : row) rows.push_back(static_cast<float>(value + 0.25));
  }
  return rows;
}

Matrix as_matrix(const std::vector<float>& values, int64_t num_rows, int64_t num_columns) {
  using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const FloatMatrix>(values.data(), num_rows, num_columns).cast<double>();
}

Matrix covariance(const Matrix& rows) {
  const Matrix centred = rows.rowwise() - rows.colwise().mean();
  return centred.transpose() * centred / static_cast<double>(rows.rows());
}

// PCA: the kept directions are the leading eigenvectors, up to sign.
TEST(FaissBlas, PcaFindsTheLeadingEigenvectors) {
  constexpr int64_t kRows = 6000;
  constexpr int kKept = 12;
  const std::vector<float> rows = make_rows(kRows, 1);
  faiss::PCAMatrix pca(kWidth, kKept);
  pca.train(kRows, rows.data());

  const Eigen::SelfAdjointEigenSolver<Matrix> oracle(covariance(as_matrix(rows, kRows, kWidth)));
  const Matrix directions = as_matrix(pca.A, kKept, kWidth);
  for (int i = 0; i < kKept; ++i) {
    const Eigen::VectorXd expected = oracle.eigenvectors().col(kWidth - 1 - i);
    EXPECT_NEAR(std::abs(directions.row(i).dot(expected.transpose())), 1.0, 1e-3)
        << "direction " << i;
  }
}

// OPQ: the rotation is orthonormal (it comes from an SVD in every iteration).
TEST(FaissBlas, OpqIsARotation) {
  constexpr int64_t kRows = 3000;
  const std::vector<float> rows = make_rows(kRows, 2);
  faiss::OPQMatrix opq(kWidth, 8);
  opq.niter = 4;
  opq.niter_pq_0 = opq.niter_pq = 3;
  opq.train(kRows, rows.data());
  const Matrix rotation = as_matrix(opq.A, kWidth, kWidth);
  EXPECT_LT(
      (rotation * rotation.transpose() - Matrix::Identity(kWidth, kWidth)).cwiseAbs().maxCoeff(),
      1e-5);
}

// The random rotation goes through QR.
TEST(FaissBlas, RandomRotationIsOrthonormal) {
  faiss::RandomRotationMatrix rotation(kWidth, kWidth);
  rotation.init(5);
  const Matrix matrix = as_matrix(rotation.A, kWidth, kWidth);
  EXPECT_LT((matrix * matrix.transpose() - Matrix::Identity(kWidth, kWidth)).cwiseAbs().maxCoeff(),
            1e-5);
}

// Exact search in blocks (GEMM) finds Eigen's distances.
TEST(FaissBlas, ExactSearchHasEigensDistances) {
  constexpr int64_t kRows = 3001;
  constexpr int64_t kQueries = 65;
  const std::vector<float> rows = make_rows(kRows, 3);
  const std::vector<float> queries = make_rows(kQueries, 4);
  faiss::IndexFlatL2 index(kWidth);
  index.add(kRows, rows.data());
  std::vector<float> distances(kQueries);
  std::vector<faiss::Index::idx_t> ids(kQueries);
  index.search(kQueries, queries.data(), 1, distances.data(), ids.data());

  const Matrix rows_64 = as_matrix(rows, kRows, kWidth);
  const Matrix queries_64 = as_matrix(queries, kQueries, kWidth);
  for (int64_t i = 0; i < kQueries; ++i) {
    const double expected =
        (rows_64.rowwise() - queries_64.row(i)).rowwise().squaredNorm().minCoeff();
    EXPECT_NEAR(distances[static_cast<size_t>(i)], expected, 1e-4 * (1.0 + expected));
  }
}

// IVF: after training every centroid is near the mean of the rows assigned to it (k-means is at
// rest), and each row is filed under its nearest centroid.
TEST(FaissBlas, IvfTrainsAndFilesRowsUnderTheNearestCentroid) {
  constexpr int64_t kRows = 4000;
  constexpr int64_t kLists = 16;
  const std::vector<float> rows = make_rows(kRows, 5);
  faiss::IndexFlatL2 quantizer(kWidth);
  faiss::IndexIVFFlat index(&quantizer, kWidth, kLists);
  index.cp.niter = 40;
  index.train(kRows, rows.data());
  index.add(kRows, rows.data());

  std::vector<float> centroids(kLists * kWidth);
  quantizer.reconstruct_n(0, kLists, centroids.data());
  const Matrix centroids_64 = as_matrix(centroids, kLists, kWidth);
  const Matrix rows_64 = as_matrix(rows, kRows, kWidth);
  int64_t filed = 0;
  for (int64_t list = 0; list < kLists; ++list) {
    Eigen::RowVectorXd mean = Eigen::RowVectorXd::Zero(kWidth);
    const auto size = static_cast<int64_t>(index.invlists->list_size(static_cast<size_t>(list)));
    for (int64_t i = 0; i < size; ++i) {
      const auto row =
          index.invlists->get_single_id(static_cast<size_t>(list), static_cast<size_t>(i));
      Eigen::Index nearest = 0;
      (centroids_64.rowwise() - rows_64.row(row)).rowwise().squaredNorm().minCoeff(&nearest);
      EXPECT_EQ(nearest, list);
      mean += rows_64.row(row) / static_cast<double>(size);
    }
    filed += size;
    EXPECT_LT((mean - centroids_64.row(list)).norm(), 0.2)
        << "list " << list << " of " << size << " rows";
  }
  EXPECT_EQ(filed, kRows);
}

}  // namespace
