#include "cli/options/original_flags.h"

#include "base/error.h"
#include "cli/options/number_check.h"
#include "train/process_group.h"

namespace smelt::cli {

void take_the_last(CLI::App& command) {
  for (CLI::Option* option : command.get_options())
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_original_run_flags(CLI::App& command, OriginalRunFlags& flags) {
  command
      .add_option("--hang-minutes", flags.hang_minutes,
                  "abort if a training step takes longer than this many minutes; 0: never")
      ->check(number_from(0))
      ->capture_default_str();
  command.add_option(
      "--replay", flags.replay,
      "instead of training: run the batch of a step with a non-finite loss again, from "
      "its folder bad-batch-<step>, and print the norm of each gradient");
  add_pod_flags(command, flags.pod);
}

void check_replays(const OriginalRunFlags& flags, bool trains, const std::string& how) {
  if (!flags.replay.empty()) train::require_single_process("--replay");
  if (!flags.replay.empty() && !trains)
    throw UsageError(str("--replay ", flags.replay,
                         ": only valid for training, and this command does not train"),
                     str("add ", how, " and the flags of the training run"));
}

}  // namespace smelt::cli
