// Flags as the originals' programs take them, and those of smelt's own that the originals' programs
// of training have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>

#include "base/str.h"
#include "cli/options/pod_flags.h"

namespace smelt {

// Adds flags by the originals' names; those of true or false have a --no<name>, too, as absl's.
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

// Of a flag that is given several times the last counts, as absl and argparse have it. For the
// flags that the command has so far.
void take_the_last(CLI::App& command);

struct OriginalRunFlags {
  double hang_minutes = 30;
  std::string replay;  // a bad-batch folder; empty: none
  PodWords pod;
};

void add_original_run_flags(CLI::App& command, OriginalRunFlags& flags);

// UsageError for --replay where the command does not train; `how` makes it. One process runs it.
void check_replays(const OriginalRunFlags& flags, bool trains, const std::string& how);

}  // namespace smelt
