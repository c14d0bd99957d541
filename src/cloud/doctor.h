// Checks all prerequisites of a job on Google Cloud at once, before anything costs money.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cloud/whoami.h"

namespace smelt::cloud {

// The result of one check.
struct DoctorCheck {
  std::string what;  // name of the check, such as "bucket"
  bool good = true;
  std::string said;    // what was found, or what is wrong
  std::string remedy;  // one action that solves the problem; "" if none is known or needed
};

// The checks to run. Empty fields skip their checks.
struct DoctorRequest {
  std::string project;
  std::string type;  // "v3-8"
  std::vector<std::string> zones;
  std::string bucket;                // gs://bucket, or a folder in it
  std::string package;               // path of the package to install on the machine
  std::string service_account = {};  // the machine's account; "" for the Compute Engine default
  std::string user = {};             // login name on the machine; "" for the local user name
  bool far_bucket = false;           // allow a bucket in another region than the machine
};

// Runs `look` and returns the check with its result as `said`. If it throws, the check has failed;
// `said` is then the error message, and `remedy` the error's hint.
DoctorCheck run_check(const std::string& what, const std::function<std::string()>& look);

// Returns whether a bucket in `location` (Cloud Storage's name, such as US-CENTRAL1, US or EUR4) is
// near machines in the zone. Returns true for locations that smelt does not know.
bool is_near(const std::string& location, const std::string& zone);

// Checks credentials, the TPU API, zones and type, the bucket, the machine's rights, OpenSSH, the
// login name and the package. Skips checks that depend on a failed one; without credentials, only
// the syntax of zone and bucket names is checked. If `connect` throws, the credentials check fails.
std::vector<DoctorCheck> examine(const DoctorRequest& ask,
                                 const std::function<GoogleApi()>& connect);

}  // namespace smelt::cloud
