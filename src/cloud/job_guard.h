// The dead man's switch of a job's machine: a script that deletes only this machine when the
// deadline set by the last supervisor has passed. Also the commands with which a supervisor
// controls the job there.
#pragma once

#include <cstdint>
#include <string>

#include "cloud/job.h"

namespace smelt::cloud {

// Addresses that the script uses.
struct GuardAddresses {
  std::string api;             // "https://tpu.googleapis.com"
  std::string home = "$HOME";  // home folder of the login user, expanded by the shell
  std::string storage = {};    // "https://storage.googleapis.com"
  std::string projects = {};   // "https://cloudresourcemanager.googleapis.com"
};

// Returns a shell script that deletes the machine after a deadline, initially `seconds` after its
// start. At the deadline it asks the job to end, waits up to a minute, copies the job's log to the
// bucket, and deletes the machine, unless it is already being deleted, with the token of the
// machine's service account (needs roles/tpu.admin). It runs on every worker; each worker waits 15
// seconds longer than the one before it. Requires curl.
std::string guard_script(const JobSpec& spec, const std::string& zone, double seconds,
                         const GuardAddresses& place);
// Returns the same script for the machine's startup, run as root in the background.
std::string startup_guard(const JobSpec& spec, const std::string& zone, double seconds,
                          const GuardAddresses& place);

// Returns a shell command that stores the script in ~/.smelt-guard and starts it unless it is
// running.
std::string guard_command(const std::string& script);
// Returns a shell command that moves the deadline to `seconds` from now and prints a line with
// "none", "running" or "ended STATUS" (137 if the process vanished) and the size of the output,
// followed by the output after byte `log_from`.
std::string look_command(double seconds, std::uint64_t log_from);
// Returns a shell command that sends TERM to all processes of the job, once.
std::string end_command();

}  // namespace smelt::cloud
