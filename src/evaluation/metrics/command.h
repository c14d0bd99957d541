// A metric of one's own: a command that reads predictions and references.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "evaluation/metrics/named.h"

namespace smelt {

struct CommandMetric {
  std::string name;
  ScoreOf score;
  // Of each example by itself, so that resampling them asks nobody; else the command is run for
  // each set of examples.
  bool is_of_each = false;
};

// The shell's command line reads {"prediction": …, "reference": …} a line and prints one JSON
// value: a number, whose name is "command", a list of a number for each example, whose mean it is,
// or an object of several such by their names. UsageError where it fails or prints anything else.
std::vector<CommandMetric> command_metrics(const std::string& command, const JsonValues& predicted,
                                           const JsonValues& wanted);

}  // namespace smelt
