// Shell commands that start, show and end a background command on a worker. The background command
// keeps running if the connection is lost. A worker has at most one, with its files in
// ~/.smelt-job.
#pragma once

#include <string>

namespace smelt::cloud {

// Defines the shell function "runs": whether the job in folder $j runs, that is, any process of its
// group exists.
inline constexpr const char* kJobRuns =
    "runs() { [ -f \"$j/pid\" ] && kill -s 0 -- \"-$(cat \"$j/pid\")\" 2>/dev/null; }\n";

// Defines the shell function "end_job", which sends TERM to all processes of the job, once: a
// second TERM would end smelt immediately, without a checkpoint. Requires "runs".
inline constexpr const char* kEndJob =
    "end_job() { if runs && { mkdir \"$j/told\" 2>/dev/null || [ ! -e \"$j/told\" ]; }; then "
    "kill -s TERM -- \"-$(cat \"$j/pid\")\"; fi; }\n";

// Returns a command that starts a job. Its exit status is 0 if it was started and 75 if one is
// running.
std::string start_job(const std::string& command);

// Returns a command that prints the last `lines` of the output and, if `follow`, what is printed
// until the job ends. Its exit status is the job's if it has ended, 0 while it runs, and 1 without
// a job.
std::string show_job(int lines, bool follow);

// Default seconds to wait until the current step ends and a large state is saved to a bucket.
inline constexpr int kSaveSeconds = 600;

// Returns a command that sends TERM to the job unless that was done before, prints that it waits,
// and sends KILL after `seconds`.
std::string stop_job(int seconds = kSaveSeconds);

}  // namespace smelt::cloud
