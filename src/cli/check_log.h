// The checks of a run as lines of the log and as TensorBoard's scalars.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/event_log.h"
#include "train/trainer.h"

namespace smelt {

struct CheckedFigure {
  std::string tag;   // TensorBoard's: "train/valid_loss"
  std::string name;  // the log's: "valid_loss"
  double value = 0;
};

class CheckLog {
 public:
  using Figures = std::function<std::vector<CheckedFigure>(const TrainCheck&)>;
  // Event files in `folder`; nothing is written before the first check.
  CheckLog(std::string folder, Figures figures);
  // The figures as "valid_loss at step 5: 6.25"; these and "params/<name> <shape>" as scalars.
  void add(const TrainCheck& check);

 private:
  std::string folder_;
  Figures figures_;
  std::optional<EventLog> events_;
};

}  // namespace smelt
