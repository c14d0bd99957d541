// What stands in the way of a job at Google, looked at all at once and before anything costs money.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cloud/whoami.h"

namespace smelt {

struct DoctorCheck {
  std::string what;  // "bucket"
  bool good = true;
  std::string said;    // what there is, or what is wrong
  std::string remedy;  // one action; "" = none is known, or needed
};

// What is looked at; "" and empty = not at that.
struct DoctorAsk {
  std::string project;
  std::string type;  // "v3-8"
  std::vector<std::string> zones;
  std::string bucket;                // gs://bucket, or a folder in it
  std::string package;               // what is to be installed there, a file
  std::string service_account = {};  // the machine's; "" = Compute Engine's of the project
  std::string user = {};             // who signs in to it; "" = who one is here
  bool far_bucket = false;           // it may lie in another region than the machine
};

// Runs `look`, whose text is what there is; what it throws is what is wrong, its hint the remedy.
DoctorCheck looked_at(const std::string& what, const std::function<std::string()>& look);

// Whether a bucket in `location`, as Cloud Storage names it (US-CENTRAL1, US, EUR4), has the
// zone's machines near; true where the place of a name is not known here.
bool is_near(const std::string& location, const std::string& zone);

// Credentials, the TPU API, zones and type, bucket, the machine's rights there, OpenSSH and who
// signs in, package: each that is asked for and that another's failure does not hide. Where nobody
// may ask Google, what is no zone and no bucket is said all the same. `connect` may throw.
std::vector<DoctorCheck> examine(const DoctorAsk& ask, const std::function<GoogleApi()>& connect);

}  // namespace smelt
