#include "retro/model/recompute.h"

#include <cassert>
#include <memory>
#include <mutex>
#include <utility>

#include <ATen/Context.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace retro {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What backward needs besides tensors.
struct Recipe final : torch::CustomClassHolder {
  LayerPart part;
  size_t num_inputs = 0;
  at::Tensor random_state;  ///< of the device's generator; a host tensor in any case
};

at::Tensor random_state(at::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void set_random_state(at::Device device, const at::Tensor& state) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

/// The generator as it was at some time, and afterwards as it is now.
class RandomStateGuard {
 public:
  RandomStateGuard(at::Device device, const at::Tensor& state)
      : device_(device), now_(random_state(device)) {
    set_random_state(device, state);
  }
  ~RandomStateGuard() { set_random_state(device_, now_); }
  RandomStateGuard(const RandomStateGuard&) = delete;
  RandomStateGuard& operator=(const RandomStateGuard&) = delete;

 private:
  at::Device device_;
  at::Tensor now_;
};

/// Leaves of a graph of their own in the place of the first `count` tensors.
variable_list detached_inputs(const variable_list& tensors, size_t count) {
  variable_list inputs;
  for (size_t i = 0; i < count; ++i) {
    inputs.push_back(tensors[i].detach());
    inputs.back().set_requires_grad(tensors[i].requires_grad());
  }
  return inputs;
}

struct Recomputation : torch::autograd::Function<Recomputation> {
  static at::Tensor forward(AutogradContext* context, c10::intrusive_ptr<Recipe> recipe,
                            at::TensorList tensors) {
    recipe->random_state = random_state(tensors[0].device());
    context->save_for_backward(tensors.vec());
    at::Tensor result = recipe->part(tensors.slice(0, recipe->num_inputs).vec());
    context->saved_data["recipe"] = at::IValue::make_capsule(std::move(recipe));
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto recipe =
        c10::static_intrusive_pointer_cast<Recipe>(context->saved_data["recipe"].toCapsule());
    const variable_list saved = context->get_saved_variables();
    const at::AutoGradMode with_gradients(true);
    const RandomStateGuard as_in_forward(saved[0].device(), recipe->random_state);
    variable_list tensors = detached_inputs(saved, recipe->num_inputs);
    const at::Tensor result = recipe->part(tensors);
    tensors.insert(tensors.end(), saved.begin() + static_cast<std::ptrdiff_t>(recipe->num_inputs),
                   saved.end());
    return with_gaps(tensors, torch::autograd::grad({result}, wanted(tensors), gradients,
                                                    /*retain_graph=*/false, /*create_graph=*/false,
                                                    /*allow_unused=*/true));
  }

 private:
  static variable_list wanted(const variable_list& tensors) {
    variable_list some;
    for (const at::Tensor& tensor : tensors) {
      if (tensor.requires_grad()) some.push_back(tensor);
    }
    return some;
  }

  /// One gradient for each argument of forward; the recipe comes first and has none.
  static variable_list with_gaps(const variable_list& tensors, const variable_list& gradients) {
    variable_list all{{}};
    size_t next = 0;
    for (const at::Tensor& tensor : tensors)
      all.push_back(tensor.requires_grad() ? gradients[next++] : at::Tensor());
    assert(next == gradients.size());
    return all;
  }
};

}  // namespace

at::Tensor run_part(Recompute recompute, const LayerPart& part,
                    const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& weights) {
  if (recompute == Recompute::kNone || !at::GradMode::is_enabled()) return part(inputs);
  auto recipe = c10::make_intrusive<Recipe>();
  recipe->part = part;
  recipe->num_inputs = inputs.size();
  variable_list tensors = inputs;
  tensors.insert(tensors.end(), weights.begin(), weights.end());
  return Recomputation::apply(std::move(recipe), at::TensorList(tensors));
}

}  // namespace retro
