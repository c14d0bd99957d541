// Shell commands that a worker runs with curl and the machine's service account. They need no smelt
// on the machine.
#pragma once

#include <string>

#include "cloud/job_journal.h"

namespace smelt::cloud {

// Defines the shell functions "metadata PATH", which prints machine metadata, and "call", which is
// curl with a token. The token is not on a command line, where other users could read it.
std::string machine_calls();

// Defines the shell function "keep_log", which uploads the output of the job on worker $n to the
// job's folder in the bucket as log/START-worker-$n.txt. $j is the job's folder on the worker, and
// START the time of the job's start. `storage` is "https://storage.googleapis.com".
std::string keep_log_function(const JobSpec& spec, const std::string& storage);

// Returns a command that uploads the output of one worker once. Its exit status is curl's.
std::string keep_log_command(const JobSpec& spec, const std::string& storage, int worker);

// Returns a command that queries whether the machine's service account may delete nodes of the
// project, and prints Google's JSON response: "permissions" lists the permission, or is missing.
// `projects` is "https://cloudresourcemanager.googleapis.com".
std::string ask_rights_command(const std::string& project, const std::string& projects);

// Returns a command that downloads an object, "gs://bucket/name", to a file in the current folder.
// It fails if the SHA-256 differs.
std::string fetch_command(const std::string& object, const std::string& storage,
                          const std::string& file, const std::string& sha256);

}  // namespace smelt::cloud
