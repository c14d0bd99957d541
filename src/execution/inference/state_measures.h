// Metrics of a training run's evaluations that are computed on the host from predictions, such as
// those of generated texts, in addition to the metrics of the evaluation program.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/storage/slices.h"
#include "model/train_step/report.h"

namespace smelt {
class Watchdog;
}  // namespace smelt

namespace smelt::execution {

class StateMeasures {
 public:
  virtual ~StateMeasures() = default;
  // Returns the metrics of a state. `where` begins the error message if a tensor is missing. Throws
  // Stopped if a StopSignal is raised. The watchdog, if any, watches each batch.
  virtual std::vector<model::MeasuredValue> measure(const checkpoint::SlicedTensors& tensors,
                                                    const std::string& where,
                                                    smelt::Watchdog* watchdog) = 0;
};

}  // namespace smelt::execution
