// What a worker's shell does at Google with the account of its machine, by curl alone: nothing of
// smelt's need be there yet. All that is returned are commands of that shell.
#pragma once

#include <string>

#include "cloud/job_journal.h"

namespace smelt {

// Defines "told PATH", what the machine's metadata say, and "call", curl with a token. The token is
// on no command line, where every user could read it.
std::string machine_calls();

// Defines "keep_log": what the job in $j has printed goes to the job's folder, as
// log/START-worker-$n.txt. `storage`: "https://storage.googleapis.com".
std::string keep_log_function(const JobSpec& spec, const std::string& storage);

// That of one worker, once; its exit status is curl's.
std::string keep_log_command(const JobSpec& spec, const std::string& storage, int worker);

// Prints Google's answer, in JSON, to the question whether the machine's account may delete nodes
// of the project: "permissions" has that right, or nothing. `projects`:
// "https://cloudresourcemanager.googleapis.com".
std::string ask_rights_command(const std::string& project, const std::string& projects);

// Brings an object, "gs://bucket/name", into a file of the folder where the shell is; fails for
// another SHA-256 than this one.
std::string fetch_command(const std::string& object, const std::string& storage,
                          const std::string& file, const std::string& sha256);

}  // namespace smelt
