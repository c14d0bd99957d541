#include "model/train_step/step_guard.h"

#include "base/str.h"
#include "compiler/ops/ops.h"
#include "model/nn/state_names.h"

namespace smelt::model {

using compiler::bitwise_and;
using compiler::Compare;
using compiler::compare;
using compiler::DType;
using compiler::is_finite;
using compiler::optimization_barrier;
using compiler::select;
using compiler::Tensor;
using compiler::zeros_like;

StateTensor step_flag() {
  return {.name = str(kRunPrefix, "good"),
          .shape = {DType::f32, {}},
          .init = {.kind = Init::constant, .value = 1},
          .saved = false};
}

StepVerdict judge_step(Tensor flag, Tensor loss, Tensor norm, Tensor spike) {
  const Tensor finite = bitwise_and(is_finite(loss), is_finite(norm));
  const Tensor good = bitwise_and(compare(flag, zeros_like(flag), Compare::gt), finite);
  const Tensor never = compare(flag, flag, Compare::ne);
  // Without the barrier, XLA would recompute this condition in the fusion of each update.
  return {.good = good, .apply = optimization_barrier(spike ? select(spike, never, good) : good)};
}

Tensor next_flag(const StepVerdict& verdict, Tensor flag) {
  return select(verdict.good, flag, zeros_like(flag));
}

}  // namespace smelt::model
