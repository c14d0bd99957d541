#include "model/tasks/task.h"

#include <algorithm>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/packing_features.h"

namespace smelt::model {

using compiler::Compare;
using compiler::compare;
using compiler::ones_like;
using compiler::reshape;
using compiler::rsqrt;
using compiler::select;
using compiler::Tensor;
using compiler::transpose;
using compiler::zeros_like;

Tensor norm_factor(Norm norm, Tensor weight) {
  // Without items the sum and the loss are 0.
  const Tensor some =
      select(compare(weight, zeros_like(weight), Compare::gt), weight, ones_like(weight));
  switch (norm) {
    case Norm::mean:
      return 1.0 / some;
    case Norm::mean_epsilon:
      return 1.0 / (weight + 1e-5);
    case Norm::mean_tiny_epsilon:
      return 1.0 / (weight + 1e-6);
    case Norm::root:
      return rsqrt(some);
  }
  throw BugError("norm_factor: unknown norm");
}

Tensor in_micro_batches(Tensor x, std::int64_t count) {
  Dims dims = x.dims(), order;
  dims[0] /= count;
  dims.insert(dims.begin() + 1, count);
  for (std::int64_t axis = 0; axis < std::ssize(dims); ++axis) order.push_back(axis);
  std::swap(order[0], order[1]);
  return transpose(reshape(x, dims), order);
}

Task with_length(Task task, std::int64_t length) {
  CHECK(!task.lengths.empty(), task.name);
  for (io::Feature& feature : task.features)
    if (io::has_tokens(feature, task.lengths.back())) feature.row.back() = length;
  return task;
}

Inputs::Inputs(const io::Features& features, std::span<const Tensor> tensors)
    : features_(features), tensors_(tensors) {
  CHECK(features.size() == tensors.size(), tensors.size(), " tensors");
}

Task packed_task(Task task, std::int64_t slots) {
  CHECK(task.can_be_packed && !task.frozen, task.name);
  for (io::Feature& feature : io::packing_features(slots)) task.features.push_back(feature);
  task.objective = [objective = task.objective](const Scope& root, const Inputs& in) {
    return objective(root.with_rows(in[io::kPackedRows]), in);
  };
  return task;
}

bool Inputs::has(std::string_view name) const {
  return std::ranges::find(features_, name, &io::Feature::name) != features_.end();
}

Tensor Inputs::operator[](std::string_view name) const {
  for (std::size_t i = 0; i < features_.size(); ++i)
    if (features_[i].name == name) return tensors_[i];
  throw BugError(str("no feature ", name));
}

}  // namespace smelt::model
