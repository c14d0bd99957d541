#include "model/tasks/fake_quant.h"

namespace smelt::model {

Task fake_quantized(Task task) {
  task.settings[kFakeQuant] = true;
  task.objective = [own = std::move(task.objective)](const Scope& root, const Inputs& in) {
    return own(root.fake_quantized(), in);
  };
  if (task.tells)
    task.tells->objective = [own = std::move(task.tells->objective)](
                                const Scope& root, const Inputs& in, ForwardOutputs& outputs) {
      return own(root.fake_quantized(), in, outputs);
    };
  return task;
}

}  // namespace smelt::model
