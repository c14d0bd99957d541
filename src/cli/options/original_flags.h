// Flags in the form of the original programs, and smelt's own flags that all commands for the
// original training programs share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>

#include "base/str.h"
#include "cli/options/pod_flags.h"

namespace smelt::cli {

// Adds flags with the originals' names. A boolean flag also gets --no<name>, as in absl.
class OriginalFlags {
 public:
  explicit OriginalFlags(CLI::App& command, std::string prefix = "--")
      : command_(command), prefix_(std::move(prefix)) {}

  template <class Value>
  CLI::Option* operator()(const std::string& name, Value& value, const std::string& help) {
    CLI::Option* option = command_.add_option(prefix_ + name, value, help);
    if constexpr (std::is_arithmetic_v<Value>) option->capture_default_str();
    return option;
  }
  void operator()(const std::string& name, bool& value, const std::string& help) {
    command_.add_flag(str("--", name, ",!--no", name), value, help);
  }

 private:
  CLI::App& command_;
  std::string prefix_;
};

// Makes the last value count if a flag is given several times, as in absl and argparse. Affects
// only the flags that the command has at this point.
void take_the_last(CLI::App& command);

struct OriginalRunFlags {
  double hang_minutes = 30;
  std::string replay;  // folder bad-batch-<step> of a step to run again; empty: none
  distributed::PodSettings pod;
};

void add_original_run_flags(CLI::App& command, OriginalRunFlags& flags);

// Throws UsageError if --replay is given and the command does not train (`how`, the hint, names the
// flag that trains), or if the job has several processes.
void check_replays(const OriginalRunFlags& flags, bool trains, const std::string& how);

}  // namespace smelt::cli
