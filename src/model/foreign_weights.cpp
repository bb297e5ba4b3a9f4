#include "retro/model/foreign_weights.h"

#include <memory>
#include <set>
#include <utility>

#include <ATen/ops/cat.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include "retro/core/error.h"

namespace retro {
namespace {

/// Rows (0, F, 1, F+1, ...) of each head back to (0, 1, ..., F, F+1, ...).
at::Tensor halves_of_pairs(const at::Tensor& rows, int64_t heads) {
  std::vector<int64_t> shape = rows.sizes().vec();
  shape.insert(shape.begin() + 1, {shape[0] / heads / 2, 2});
  shape[0] = heads;
  return rows.view(shape).transpose(1, 2).reshape(rows.sizes());
}

std::vector<int64_t> shape_of_theirs(const std::vector<at::Tensor>& parts, bool is_transposed) {
  std::vector<int64_t> shape = parts.front().sizes().vec();
  shape[0] = 0;
  for (const at::Tensor& part : parts) shape[0] += part.size(0);
  if (is_transposed && shape.size() == 2) std::swap(shape[0], shape[1]);
  return shape;
}

std::vector<at::Tensor> our_parts(const RetroModel& model, const WeightRule& rule) {
  const auto parameters = model->named_parameters();
  std::vector<at::Tensor> parts;
  for (const std::string& name : rule.ours) {
    const at::Tensor* found = parameters.find(name);
    RETRO_CHECK(found != nullptr, "import: the model has no tensor `{}`", name);
    parts.push_back(*found);
  }
  return parts;
}

void check_rule(const RetroModel& model, const ForeignTensors& source, const WeightRule& rule) {
  const auto found = source.shapes.find(rule.theirs);
  RETRO_CHECK(found != source.shapes.end(), "{}: tensor `{}` is missing", source.where,
              rule.theirs);
  const auto expected = shape_of_theirs(our_parts(model, rule), rule.is_transposed);
  RETRO_CHECK(found->second == expected,
              "{}: tensor `{}` has shape [{}], its configuration asks for [{}]", source.where,
              rule.theirs, fmt::join(found->second, ", "), fmt::join(expected, ", "));
}

void copy_rule(RetroModel& model, const ForeignTensors& source, const WeightRule& rule) {
  at::Tensor theirs = source.read(rule.theirs);
  if (rule.is_transposed) theirs = theirs.t();
  if (rule.interleaved_heads > 0) theirs = halves_of_pairs(theirs, rule.interleaved_heads);
  int64_t begin = 0;
  for (at::Tensor& part : our_parts(model, rule)) {
    part.copy_(theirs.narrow(0, begin, part.size(0)));
    begin += part.size(0);
  }
}

}  // namespace

ForeignTensors foreign_tensors(TensorSource source) {
  const auto open = std::make_shared<TensorSource>(std::move(source));
  ForeignTensors foreign;
  foreign.where = open->path().string();
  for (const auto& [name, view] : open->tensors()) foreign.shapes[name] = view.shape;
  foreign.read = [open](const std::string& name) {
    const at::Tensor values = torch::empty(open->tensor(name).shape, torch::kFloat32);
    open->read(name, {values.data_ptr<float>(), static_cast<size_t>(values.numel())});
    return values;
  };
  return foreign;
}

void copy_foreign_weights(RetroModel& model, const ForeignTensors& source,
                          const std::vector<WeightRule>& rules,
                          const std::function<bool(const std::string&)>& is_ignorable) {
  const torch::NoGradGuard no_gradients;
  std::set<std::string> known;
  size_t filled = 0;
  for (const WeightRule& rule : rules) {
    check_rule(model, source, rule);
    known.insert(rule.theirs);
    filled += rule.ours.size();
  }
  for (const auto& [name, shape] : source.shapes) {
    RETRO_CHECK(known.contains(name) || is_ignorable(name),
                "{}: tensor `{}` does not belong to this architecture as its configuration "
                "describes it; it is not imported, since leaving it out would change the model",
                source.where, name);
  }
  RETRO_CHECK(filled == model->named_parameters().size(), "{}: gives {} of the model's {} tensors",
              source.where, filled, model->named_parameters().size());
  for (const WeightRule& rule : rules) copy_rule(model, source, rule);
}

at::Tensor foreign_weight(const RetroModel& model, const WeightRule& rule) {
  const at::Tensor rows = at::cat(our_parts(model, rule)).detach().to(at::kFloat);
  return (rule.is_transposed ? rows.t() : rows).contiguous();
}

}  // namespace retro
