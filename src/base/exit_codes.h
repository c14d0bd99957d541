// All exit codes of smelt. docs/reference/exit_codes.md lists the same codes.
#pragma once

#include <array>
#include <string_view>

namespace smelt {

inline constexpr int kSuccessExit = 0;
inline constexpr int kSystemExit = 1;
inline constexpr int kUsageExit = 2;
inline constexpr int kBelowThresholdExit = 3;
inline constexpr int kBugExit = 70;
inline constexpr int kStoppedExit = 75;
inline constexpr int kPodExit = 76;
inline constexpr int kTaskErrorExit = 99;
inline constexpr int kTimeLimitExit = 124;
inline constexpr int kUnreachedExit = 255;

struct ExitCode {
  int code;
  std::string_view name;     // "kind" in the JSON form of an error
  std::string_view meaning;  // one sentence
};

inline constexpr std::array<ExitCode, 10> kExitCodes{{
    {kSuccessExit, "success", "The command succeeded."},
    {kSystemExit, "system",
     "The disk, the network, memory, a device or a cloud service failed. Try again later."},
    {kUsageExit, "usage",
     "A flag, a recipe field, a file or a model is wrong. Correct it: trying again does not help."},
    {kBelowThresholdExit, "below_threshold",
     "A metric is below the threshold of `smelt metrics --at-least`."},
    {kBugExit, "bug", "A bug in smelt. Please report it."},
    {kStoppedExit, "stopped",
     "A signal (SIGINT, SIGTERM or SIGHUP) stopped the command. Run it again: a run resumes."},
    {kPodExit, "lost_peer",
     "Another process of a multi-host run failed or could not be reached. Start all of them "
     "again."},
    {kTaskErrorExit, "task_error",
     "A task of a job script from `smelt pod manifest` failed and is not started again."},
    {kTimeLimitExit, "time_limit", "A command on a remote machine ran into its time limit."},
    {kUnreachedExit, "unreached", "A remote machine could not be reached by ssh."},
}};

}  // namespace smelt
