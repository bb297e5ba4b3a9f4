#include "retro/eval/knn_passes.h"

#include <algorithm>
#include <functional>

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/progress.h"
#include "retro/eval/datastore_text.h"
#include "retro/eval/row_groups.h"
#include "retro/ops/linear_cross_entropy.h"

namespace retro {

namespace {

constexpr std::string_view kStatesKind = "knn-states";
constexpr std::string_view kTokensKind = "knn-tokens";
constexpr std::string_view kMakeStatesAgain = "remove it and run `retro knn` again";

/// A batch and its flattened final hidden states, on the model's device.
using BatchSink = std::function<void(const Batch& batch, const at::Tensor& hidden_TD)>;

void for_each_batch(const KnnPass& pass, const BatchSink& sink) {
  const c10::InferenceMode inference;
  RetroModel& model = *pass.model;
  model->eval();
  const int64_t total = pass.dataset->num_sequences();
  Progress progress(pass.label, total, "windows");
  for (int64_t first = 0; first < total; first += pass.batch_size) {
    const int64_t count = std::min(pass.batch_size, total - first);
    const Batch batch =
        pass.dataset->batch(first, count, pass.source, pass.source == nullptr ? 0 : pass.k);
    const at::Tensor hidden_BND = model->hidden(
        {batch.tokens_BN, batch.real_BN, batch.neighbours_BLKR, batch.document_BN, {}});
    sink(batch, hidden_BND.flatten(0, 1));
    progress.update(first + count);
  }
}

ArrayFile::Expected expected(std::string_view kind, ArrayType type, const std::string& made_from) {
  return {.kind = kind, .type = type, .source_hash = made_from, .rebuild = kMakeStatesAgain};
}

bool is_current(const std::filesystem::path& directory, const std::string& made_from) {
  if (!std::filesystem::exists(directory / "tokens.bin")) return false;
  try {
    const ArrayFile tokens(directory / "tokens.bin",
                           expected(kTokensKind, ArrayType::kInt32, made_from));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void write_datastore(const KnnPass& pass, const std::string& made_from,
                     const std::filesystem::path& directory) {
  const auto width = static_cast<uint64_t>((*pass.model)->config().width);
  ArrayFileWriter states(directory / "states.bin", {.kind = std::string(kStatesKind),
                                                    .type = ArrayType::kFloat32,
                                                    .columns = width,
                                                    .source_hash = made_from});
  ArrayFileWriter tokens(
      directory / "tokens.bin",
      {.kind = std::string(kTokensKind), .type = ArrayType::kInt32, .source_hash = made_from});
  for_each_batch(pass, [&](const Batch& batch, const at::Tensor& states_TD) {
    const at::Tensor hidden_TD = states_TD.to(at::kCPU, at::kFloat).contiguous();
    const bool* is_real = batch.target_is_real_BN.const_data_ptr<bool>();
    const int64_t* targets = batch.targets_BN.const_data_ptr<int64_t>();
    for (int64_t p = 0; p < batch.targets_BN.numel(); ++p) {
      if (!is_real[p]) continue;
      states.append(std::span<const float>(
          hidden_TD.const_data_ptr<float>() + p * static_cast<int64_t>(width), width));
      const auto token = static_cast<int32_t>(targets[p]);
      tokens.append(std::span<const int32_t>(&token, 1));
    }
  });
  states.commit();
  tokens.commit();
}

/// Looks the wanted targets of one batch after the other up.
class LookUp {
 public:
  LookUp(const Datastore& datastore, const VectorIndex& index, const KnnConfig& config,
         int num_threads)
      : datastore_(datastore), index_(index), config_(config), num_threads_(num_threads) {
    result_.neighbours = config.neighbours;
  }

  /// `wanted` are positions within the flattened batch.
  void add(const Batch& batch, const at::Tensor& hidden_TD, const at::Tensor& nats_T,
           const std::vector<int64_t>& wanted) {
    if (wanted.empty()) return;
    for (const int64_t p : wanted) {
      result_.row.push_back(batch.target_row_BN.const_data_ptr<int64_t>()[p]);
      result_.bytes.push_back(batch.target_bytes_BN.const_data_ptr<int32_t>()[p]);
      result_.nats.push_back(static_cast<double>(nats_T.const_data_ptr<float>()[p]));
    }
    const at::Tensor queries_XD =
        hidden_TD.index_select(0, at::tensor(wanted, at::kLong)).contiguous();
    const std::span<const float> queries(queries_XD.const_data_ptr<float>(),
                                         static_cast<size_t>(queries_XD.numel()));
    const int64_t* targets = batch.targets_BN.const_data_ptr<int64_t>();
    std::vector<int64_t> target_of;
    for (const int64_t p : wanted) target_of.push_back(targets[p]);
    search(queries, target_of);
  }

  KnnTokens take() { return std::move(result_); }

 private:
  void search(std::span<const float> queries, const std::vector<int64_t>& targets) {
    const size_t count = targets.size();
    const auto k = static_cast<size_t>(config_.neighbours);
    const size_t candidates = k * static_cast<size_t>(config_.rerank_factor);
    std::vector<int64_t> ids(count * candidates);
    std::vector<float> distances(count * candidates);
    index_.search(queries, static_cast<int64_t>(candidates), ids, distances, num_threads_);
    for (size_t x = 0; x < count; ++x) {
      append(std::span(ids).subspan(x * candidates, k),
             std::span(distances).subspan(x * candidates, k), targets[x], result_.approximate_TK,
             result_.approximate_is_target_TK);
    }
    std::vector<int64_t> nearest(count * k);
    std::vector<float> exact(count * k);
    rerank(datastore_.states(), queries, ids, config_.neighbours, nearest, exact, num_threads_);
    for (size_t x = 0; x < count; ++x) {
      append(std::span(nearest).subspan(x * k, k), std::span(exact).subspan(x * k, k), targets[x],
             result_.exact_TK, result_.exact_is_target_TK);
    }
  }

  void append(std::span<const int64_t> ids, std::span<const float> distances, int64_t target,
              std::vector<float>& all_distances, std::vector<uint8_t>& is_target) const {
    all_distances.insert(all_distances.end(), distances.begin(), distances.end());
    for (const int64_t id : ids)
      is_target.push_back(id >= 0 && datastore_.token(id) == target ? 1 : 0);
  }

  const Datastore& datastore_;
  const VectorIndex& index_;
  const KnnConfig& config_;
  int num_threads_;
  KnnTokens result_;
};

}  // namespace

Datastore::Datastore(const KnnPass& pass, const std::string& made_from,
                     const std::filesystem::path& directory) {
  if (!is_current(directory, made_from)) {
    std::filesystem::create_directories(directory.parent_path());
    require_free_disk(directory.parent_path(),
                      datastore_bytes(pass.dataset->grid(), (*pass.model)->config().width),
                      "the datastore of kNN-LM");
    write_directory(directory, [&](const std::filesystem::path& temporary) {
      write_datastore(pass, made_from, temporary);
    });
  }
  states_ =
      ArrayFile(directory / "states.bin", expected(kStatesKind, ArrayType::kFloat32, made_from));
  tokens_ =
      ArrayFile(directory / "tokens.bin", expected(kTokensKind, ArrayType::kInt32, made_from));
  RETRO_CHECK(states_.rows() == tokens_.rows() && states_.rows() > 0,
              "{}: {} states and {} tokens: {}", directory.string(), states_.rows(), tokens_.rows(),
              kMakeStatesAgain);
}

KnnTokens look_up(const KnnPass& pass, const Datastore& datastore, const VectorIndex& index,
                  const KnnConfig& config, int64_t max_chunks_per_document, int num_threads) {
  check_knn_config(config);
  LookUp work(datastore, index, config, num_threads);
  RetroModel& model = *pass.model;
  for_each_batch(pass, [&](const Batch& batch, const at::Tensor& hidden_TD) {
    const at::Device device = hidden_TD.device();
    const at::Tensor nats_T =
        token_losses(hidden_TD, model->output_weight(), batch.targets_BN.flatten().to(device),
                     batch.target_is_real_BN.flatten().to(device), model->precision())
            .cpu()
            .contiguous();
    std::vector<int64_t> wanted;
    const int64_t* rows = batch.target_row_BN.const_data_ptr<int64_t>();
    for (int64_t p = 0; p < batch.target_row_BN.numel(); ++p) {
      if (rows[p] >= 0 && is_row_wanted(pass.dataset->grid(), rows[p], max_chunks_per_document))
        wanted.push_back(p);
    }
    work.add(batch, hidden_TD.to(at::kCPU, at::kFloat).contiguous(), nats_T, wanted);
  });
  return work.take();
}

}  // namespace retro
