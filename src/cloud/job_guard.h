// The dead man's switch of a job's machine: a script on it that deletes it, and it alone, once the
// time has come that the last supervisor has written there; and what a supervisor does there.
#pragma once

#include <cstdint>
#include <string>

#include "cloud/job.h"

namespace smelt {

struct GuardPlace {
  std::string api;             // "https://tpu.googleapis.com"
  std::string home = "$HOME";  // of the user who signs in, as the shell reads it
  std::string storage = {};    // "https://storage.googleapis.com"
  std::string projects = {};   // "https://cloudresourcemanager.googleapis.com"
};

// A shell script that runs until the machine is gone, which is `seconds` after its start unless it
// is told anew: it tells the job to end, waits for it a minute, puts its log into the bucket, and
// deletes the machine with the token of the machine's own service account (roles/tpu.admin), unless
// that is under way. It runs on each worker; those behind the first give the ones before them 15
// seconds each. Needs curl.
std::string guard_script(const JobSpec& spec, const std::string& zone, double seconds,
                         const GuardPlace& place);
// The same as a machine runs it from its start, as root, and does not wait for it.
std::string startup_guard(const JobSpec& spec, const std::string& zone, double seconds,
                          const GuardPlace& place);

// Commands of the worker's shell. The first leaves the script in ~/.smelt-guard and starts it where
// it does not run.
std::string guard_command(const std::string& script);
// Prints "none", "running" or "ended STATUS" (137 where nothing is left of it), a space and the
// size of the output, on a line; then what the job has printed behind `log_from`. The machine is
// there for `seconds` more.
std::string look_command(double seconds, std::uint64_t log_from);
// TERM to all that the job started, once.
std::string end_command();

}  // namespace smelt
