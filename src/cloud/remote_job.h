// A command that goes on by itself on a worker, whoever is connected or not: commands of the shell
// there that start it, show what it printed, and end it. One at a time, in ~/.smelt-job.
#pragma once

#include <string>

namespace smelt {

// Defines "runs", whether the job of the folder $j does: its group lives as long as one of its
// processes.
inline constexpr const char* kJobRuns =
    "runs() { [ -f \"$j/pid\" ] && kill -s 0 -- \"-$(cat \"$j/pid\")\" 2>/dev/null; }\n";

// Defines "end_job": sends TERM to all that the job started, once. A second TERM would end smelt at
// once, without a checkpoint. Needs "runs".
inline constexpr const char* kEndJob =
    "end_job() { if runs && { mkdir \"$j/told\" 2>/dev/null || [ ! -e \"$j/told\" ]; }; then "
    "kill -s TERM -- \"-$(cat \"$j/pid\")\"; fi; }\n";

// Exit status 0 once it runs; 75 when one runs there already.
std::string start_job(const std::string& command);

// The last `lines` of what it printed, and what comes until it ends where `follow`. The exit status
// is the job's where it has ended, 0 while it runs, 1 where there is none.
std::string show_job(int lines, bool follow);

// Seconds to wait until the current step has ended and a large state is saved to a bucket.
inline constexpr int kSaveSeconds = 600;

// Sends TERM to all that it started unless that was done before, waits for its end and prints that
// it waits, and sends KILL after `seconds`.
std::string stop_job(int seconds = kSaveSeconds);

}  // namespace smelt
