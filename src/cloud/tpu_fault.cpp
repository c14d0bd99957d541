#include "cloud/tpu_fault.h"

namespace smelt::cloud {
namespace {

bool says(const ApiFault& fault, std::string_view words) {
  return fault.message.find(words) != std::string::npos;
}

// Returns whether the call was counted against gcloud's own project, whose API is disabled, because
// the user's credentials have no quota project.
bool is_for_quota_project(const ApiFault& fault) {
  return fault.lacks_quota_project &&
         (fault.reason == "SERVICE_DISABLED" || says(fault, "quota project"));
}

std::string hint_of(const ApiFault& fault, const std::string& project) {
  if (is_for_quota_project(fault))
    return str(
        io::quota_project_command(project),
        ", because these credentials have no quota project; if that does not help: gcloud services "
        "enable tpu.googleapis.com --project=",
        project);
  if (fault.reason == "USER_PROJECT_DENIED")
    return str(
        "gcloud projects add-iam-policy-binding ", project,
        " --member=WHO --role=roles/serviceusage.serviceUsageConsumer, for the quota project "
        "of the credentials; smelt cloud whoami shows both");
  switch (kind_of(fault)) {
    case TpuFault::capacity:
      return "try another zone or type, or wait for one in the queue";
    case TpuFault::quota:
      return "see the project's quota of TPUs and request more at "
             "https://console.cloud.google.com/iam-admin/quotas; spot TPUs have a separate quota";
    case TpuFault::rate:
    case TpuFault::passing:
      return "try again in a minute";
    case TpuFault::disabled:
      return str("gcloud services enable tpu.googleapis.com --project=", project);
    case TpuFault::denied:
      return str("gcloud projects add-iam-policy-binding ", project,
                 " --member=WHO --role=roles/tpu.admin, with WHO as shown by smelt cloud whoami");
    case TpuFault::not_found:
      return "list zones with smelt cloud locations, types of a zone with smelt cloud types, and "
             "machines with smelt cloud list";
    case TpuFault::exists:
      return "choose another name, or delete the existing resource";
    case TpuFault::other:
      return {};
  }
  return {};
}

}  // namespace

TpuFault kind_of(const ApiFault& fault) {
  if (fault.reason == "SERVICE_DISABLED") return TpuFault::disabled;
  if (fault.code == "RESOURCE_EXHAUSTED" || fault.status == 429) {
    if (says(fault, "capacity")) return TpuFault::capacity;
    const bool by_time = says(fault, "per minute") || says(fault, "per day");
    return by_time || fault.reason == "RATE_LIMIT_EXCEEDED" ? TpuFault::rate : TpuFault::quota;
  }
  if (fault.code == "PERMISSION_DENIED" || fault.status == 403) return TpuFault::denied;
  if (fault.code == "NOT_FOUND" || fault.status == 404) return TpuFault::not_found;
  if (fault.code == "ALREADY_EXISTS" || fault.status == 409) return TpuFault::exists;
  for (const char* code :
       {"CANCELLED", "UNKNOWN", "DEADLINE_EXCEEDED", "ABORTED", "INTERNAL", "UNAVAILABLE"})
    if (fault.code == code) return TpuFault::passing;
  if (says(fault, "preempted")) return TpuFault::passing;
  return TpuFault::other;
}

void throw_fault(const ApiFault& fault, const std::string& what, const std::string& project) {
  const TpuFault kind = kind_of(fault);
  const std::string text = str("cloud: ", what, ": ", fault.message);
  const std::string hint = hint_of(fault, project);
  if (kind == TpuFault::capacity || kind == TpuFault::rate || kind == TpuFault::passing ||
      fault.status >= 500)
    throw SystemError(text, hint);
  if (kind == TpuFault::other) throw OtherRefusal(text, hint);
  throw UsageError(text, hint);
}

}  // namespace smelt::cloud
