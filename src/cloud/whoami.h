// Which identity smelt has at Google, from where, and with which project.
#pragma once

#include <chrono>
#include <string>

#include "cloud/google_api.h"

namespace smelt {

struct Project {
  std::string name;    // "" when none is known
  std::string source;  // "GOOGLE_CLOUD_PROJECT"
};

// As Google's libraries find it: GOOGLE_CLOUD_PROJECT, CLOUDSDK_CORE_PROJECT, the credentials' own,
// gcloud's active configuration, what the credentials' use is billed to.
Project google_project(const Who& who);

// `given`, or google_project(). UsageError when there is none.
std::string project_of(const std::string& given, const GoogleApi& api);

// The zone that gcloud takes where none is named: CLOUDSDK_COMPUTE_ZONE, or compute/zone of its
// active configuration; "" when there is none.
std::string gcloud_zone();

struct Whoami {
  Who who;  // a user's account as Google tells it; "" when it does not
  Project project;
  std::chrono::seconds token_lasts;
};

// Takes a token, so that credentials that are no longer accepted are said. Errors as
// Credentials::fetch().
Whoami whoami(GoogleApi& api);

}  // namespace smelt
