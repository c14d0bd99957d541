// The Google identity and project that smelt uses, and where they come from.
#pragma once

#include <chrono>
#include <string>

#include "cloud/google_api.h"

namespace smelt::cloud {

// A Google Cloud project.
struct Project {
  std::string name;    // "" if none is known
  std::string source;  // such as "GOOGLE_CLOUD_PROJECT"
};

// Finds the project in the order of Google's libraries: GOOGLE_CLOUD_PROJECT,
// CLOUDSDK_CORE_PROJECT, the credentials' project, gcloud's active configuration, the quota
// project.
Project google_project(const io::Account& who);

// Returns `given`, or else google_project(). Throws UsageError without a project.
std::string project_of(const std::string& given, const GoogleApi& api);

// Returns gcloud's default zone: CLOUDSDK_COMPUTE_ZONE, or compute/zone of its active
// configuration; "" if neither is set.
std::string gcloud_zone();

// The result of whoami().
struct Whoami {
  io::Account who;  // the identity, with a user's account if Google reports it
  Project project;
  std::chrono::seconds token_lasts;
};

// Returns the identity. Requests a token, so that refused credentials are noticed. Throws like
// Credentials::fetch().
Whoami whoami(GoogleApi& api);

}  // namespace smelt::cloud
