#include "cli/options/original_flags.h"

#include "base/error.h"
#include "cli/options/number_check.h"
#include "train/process_group.h"

namespace smelt {

void take_the_last(CLI::App& command) {
  for (CLI::Option* option : command.get_options())
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_original_run_flags(CLI::App& command, OriginalRunFlags& flags) {
  command
      .add_option("--hang-minutes", flags.hang_minutes,
                  "a step that has not ended after so many minutes ends the command; 0: never")
      ->check(number_from(0))
      ->capture_default_str();
  command.add_option("--replay", flags.replay,
                     "instead of training: run the batch of a step that was not finite again, from "
                     "its folder bad-batch-<step>, and print the norm of each gradient");
  add_pod_flags(command, flags.pod);
}

void check_replays(const OriginalRunFlags& flags, bool trains, const std::string& how) {
  if (!flags.replay.empty()) require_alone("--replay");
  if (!flags.replay.empty() && !trains)
    throw UsageError(str("--replay ", flags.replay, ": is of a training, and none is asked for"),
                     str("give ", how, ", with the training's other flags"));
}

}  // namespace smelt
