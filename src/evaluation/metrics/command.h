// A user-defined metric: a command that reads predictions and references.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "evaluation/metrics/named.h"

namespace smelt::evaluation {

struct CommandMetric {
  std::string name;
  ScoreOf score;
  // Whether the command prints a score for each example. If so, their mean is the metric, and
  // resampling does not run the command again. If not, the command runs for each resampled set.
  bool is_of_each = false;
};

// Returns the metrics that a shell command computes. The command reads lines {"prediction": …,
// "reference": …} and prints one JSON value: a number; a list with a number for each example, whose
// mean is the metric; or an object of such numbers and lists by metric name. A metric without a
// name is called "command". Throws UsageError if the command fails or prints anything else.
std::vector<CommandMetric> command_metrics(const std::string& command, const JsonValues& predicted,
                                           const JsonValues& wanted);

}  // namespace smelt::evaluation
