#include "model/train_step/held_model.h"

#include "base/error.h"

namespace smelt {
namespace {

void check_held_values(const StateLayout& held, const FrozenModel& model) {
  for (const StateTensor& tensor : held.tensors)
    for (const std::string& name : tensor.stored_names()) {
      const auto found = model.values->find(name);
      if (found == model.values->end())
        throw UsageError(str(model.where, ": no tensor ", name),
                         "give a teacher with all of its weights");
      if (found->second.shape.dims != tensor.shape_of_one().dims)
        throw UsageError(str(model.where, ": ", name, " is ", found->second.shape,
                             ", by its configuration it is ", tensor.shape_of_one()),
                         "give a teacher with the configuration that it was made with");
    }
}

}  // namespace

std::int64_t take_held(const Task& task, const Scope& root, const Parameters& parameters,
                       StepProgram& out) {
  if (parameters.held() == nullptr) return 0;
  CHECK(task.holds.has_value(), task.name);
  PartitionRules partition = *root.compute().partition;
  partition.names = task.holds->dim_names;
  out.held = values_layout(*parameters.held(), partition);
  out.holds = task.holds;
  check_held_values(out.held, *task.holds);
  const Tensor last = parameters.held()->all().back().tensor;
  for (const Parameter& p : parameters.all())
    CHECK(p.tensor.node().id > last.node().id, p.name, " precedes what is held");
  return std::ssize(out.held.tensors);
}

}  // namespace smelt
