// What is measured of one state of a model after another beside what its evaluation program says:
// of what it answers, on the host.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/storage/slices.h"
#include "model/train_step/report.h"

namespace smelt {

class Watchdog;

class StateMeasures {
 public:
  virtual ~StateMeasures() = default;
  // `where` begins the message where the state lacks a value. Stopped by a StopSignal. The
  // watchdog, if any, watches each batch.
  virtual std::vector<MeasuredValue> measure(const SlicedTensors& tensors, const std::string& where,
                                             Watchdog* watchdog) = 0;
};

}  // namespace smelt
