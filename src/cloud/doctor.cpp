#include "cloud/doctor.h"

#include <algorithm>

#include "base/error.h"
#include "base/plural.h"
#include "base/run_program.h"
#include "cloud/file_hash.h"
#include "cloud/ssh.h"
#include "cloud/storage_api.h"
#include "cloud/tpu_api.h"
#include "cloud/tpu_fault.h"
#include "io/credentials/json_text.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::cloud {
namespace {

// Returns the identity. Requests a token, so that an expired sign-in is noticed.
std::string who_text(GoogleApi& api) {
  (void)api.token();
  const io::Account& who = api.who();
  return str(who.account.empty() ? who.kind : who.account, ", ", who.source);
}

std::string zone_text(TpuApi& tpu, const std::vector<std::string>& known, const std::string& zone,
                      const std::string& type) {
  require_known(zone, known);
  if (type.empty()) return "has TPUs";
  const auto types = tpu.accelerator_types(zone);
  if (std::ranges::find(types, type) == types.end())
    throw UsageError(str(zone, " has no ", type),
                     types.empty() ? "list other zones: smelt cloud locations"
                                   : str("--type with one of ", join(types, ", ")));
  return str("has ", type, "; capacity and quota are checked when it is requested");
}

// Returns Cloud Storage's description of the bucket, or an empty object if the user may not read
// it; the user may still be allowed to write to the bucket. Throws UsageError if the bucket does
// not exist.
Json about_bucket(GoogleApi& api, const std::string& project, const std::string& bucket,
                  const std::string& zone) {
  const ApiAnswer answer = api.call({.service = "storage", .path = bucket_path(bucket)});
  if (!answer.fault) return answer.body;
  if (answer.fault->status == 404)
    throw UsageError(str("there is no bucket ", bucket),
                     str("smelt storage mb -p ", project,
                         zone.empty() ? "" : " -l " + region_of(zone), " gs://", bucket));
  if (answer.fault->status == 403) return Json::object();
  throw SystemError(str("bucket ", bucket, ": ", answer.fault->message), "try again");
}

bool lists(const Json& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), Json(text)) != texts.end();
}

// Throws UsageError if the user lacks rights for objects of the bucket.
void require_rights(GoogleApi& api, const std::string& bucket) {
  ApiCall call{.service = "storage", .path = bucket_path(bucket) + "/iam/testPermissions"};
  for (const char* action : {"create", "delete", "get", "list"})
    call.query.emplace_back("permissions", str("storage.objects.", action));
  const ApiAnswer answer = api.call(call);
  if (answer.fault) return;  // the next check writes to the bucket
  const auto given = io::array_in(answer.body, "permissions");
  std::vector<std::string> missing;
  for (const auto& [name, permission] : call.query)
    if (!lists(given, permission)) missing.push_back(permission);
  if (!missing.empty())
    throw UsageError(str("bucket ", bucket, ": you lack ", join(missing, ", ")),
                     str("gcloud storage buckets add-iam-policy-binding gs://", bucket,
                         " --member=WHO --role=roles/storage.objectUser, with WHO as shown by "
                         "smelt cloud whoami"));
}

std::string bucket_name(const std::string& bucket) {
  if (!io::is_remote(bucket) || io::parse_remote(bucket).scheme != "gs")
    throw UsageError(str("'", bucket, "' is not a Google Cloud Storage bucket"),
                     "--bucket gs://NAME");
  return io::parse_remote(bucket).bucket;
}

std::vector<std::string> far_zones(const std::string& location,
                                   const std::vector<std::string>& zones) {
  std::vector<std::string> far;
  for (const std::string& zone : zones)
    if (!is_near(location, zone)) far.push_back(zone);
  return far;
}

// Returns the project's number as listed with its buckets; "" if it has no buckets or they may not
// be listed.
std::string project_number(GoogleApi& api, const std::string& project) {
  const ApiAnswer answer = api.call({.service = "storage",
                                     .path = "/storage/v1/b",
                                     .query = {{"project", project}, {"maxResults", "1"}}});
  const auto buckets = io::array_in(answer.body, "items");
  return answer.fault || buckets.empty() ? "" : io::text_in(buckets.front(), "projectNumber");
}

std::string bucket_text(GoogleApi& api, const std::string& project, const DoctorRequest& ask) {
  const std::string name = bucket_name(ask.bucket);
  const std::string zone = ask.zones.empty() ? "" : ask.zones.front();
  const Json about = about_bucket(api, project, name, zone);
  const std::string location = io::text_in(about, "location");
  const auto far = far_zones(location, ask.zones);
  if (!far.empty() && far.size() == ask.zones.size() && !ask.far_bucket)
    throw UsageError(str("bucket ", name, " is in ", lower_case(location), ", the machine in ",
                         join(far, ", "), ": traffic between them is slow and costs money"),
                     str("smelt storage mb -p ", project, " -l ", region_of(zone),
                         " gs://NAME, and --bucket gs://NAME; or --far-bucket to use it anyway"));
  require_rights(api, name);
  io::check_writable(ask.bucket);
  return str(name, location.empty() ? "" : " in " + lower_case(location), ", is writable",
             location.empty() ? "; its location is not visible: roles/storage.bucketViewer" : "",
             far.empty() ? ""
                         : str("; far from ", join(far, ", "), ": traffic is slow and costs money",
                               far.size() < ask.zones.size() ? "; remove them from --zone" : ""));
}

// Returns a sentence on the role of the machine's service account in the bucket's own policy. Roles
// granted by a project, a folder or a group are not visible, so a missing role is not an error.
std::string account_text(GoogleApi& api, const std::string& bucket, const std::string& account) {
  const std::string member = "serviceAccount:" + account;
  const std::string unknown = "; its project or a group may still let it write there";
  const ApiAnswer policy = api.call({.service = "storage", .path = bucket_path(bucket) + "/iam"});
  if (policy.fault) return str(account, ": you cannot see the access policy of ", bucket, unknown);
  for (const Json& binding : io::array_in(policy.body, "bindings")) {
    const std::string role = io::text_in(binding, "role");
    const bool writes = role == "roles/storage.objectUser" || role == "roles/storage.objectAdmin" ||
                        role == "roles/storage.admin";
    if (writes && lists(io::array_in(binding, "members"), member))
      return str(account, " has ", role, " on ", bucket);
  }
  return str(account, " has no direct role on ", bucket, unknown,
             ": gcloud storage buckets add-iam-policy-binding gs://", bucket, " --member=", member,
             " --role=roles/storage.objectUser");
}

// Returns a sentence on whether the machine may delete itself, as far as the project's policy
// shows.
std::string rights_text(GoogleApi& api, const std::string& project, const std::string& account) {
  const auto unseen = [&] {
    return str(account, ": you cannot see its roles in ", project,
               "; whether its machine may delete itself is checked on the machine");
  };
  ApiAnswer policy;
  try {
    policy = api.call({.method = "POST",
                       .service = "cloudresourcemanager",
                       .path = str("/v1/projects/", io::percent_encoded(project), ":getIamPolicy"),
                       .body = Json::object(),
                       .repeat = io::Repeat::safe});
  } catch (const SystemError&) {
    return unseen();
  }
  if (policy.fault && policy.fault->reason == "SERVICE_DISABLED")
    return str("cannot check the roles of ", account,
               " because the Cloud Resource Manager API is disabled: gcloud services enable "
               "cloudresourcemanager.googleapis.com --project=",
               project);
  if (policy.fault) return unseen();
  for (const Json& binding : io::array_in(policy.body, "bindings")) {
    const std::string role = io::text_in(binding, "role");
    const bool deletes =
        role == "roles/tpu.admin" || role == "roles/editor" || role == "roles/owner";
    if (deletes && lists(io::array_in(binding, "members"), "serviceAccount:" + account))
      return str(account, " has ", role, ", and its machine may delete itself");
  }
  return str(account, " has no direct role in ", project,
             " that lets its machine delete itself if no supervisor is left; roles from a group or "
             "a folder are checked on the machine: "
             "gcloud projects add-iam-policy-binding ",
             project, " --member=serviceAccount:", account, " --role=roles/tpu.admin");
}

// Adds checks of the syntax of zone and bucket names, for use without credentials.
void add_forms(const DoctorRequest& ask, std::vector<DoctorCheck>& out) {
  std::vector<DoctorCheck> all;
  for (const std::string& zone : ask.zones)
    all.push_back(run_check("zone " + zone, [&] {
      require_zone(zone);
      return "";
    }));
  if (!ask.bucket.empty())
    all.push_back(run_check("bucket", [&] { return bucket_name(ask.bucket); }));
  for (DoctorCheck& check : all)
    if (!check.good) out.push_back(std::move(check));
}

std::string ssh_text() {
  const ShellOutput found =
      run_shell("for p in ssh scp ssh-keygen; do command -v $p >/dev/null || echo $p; done", "");
  const std::string missing = join(split(trim(found.text), '\n'), ", ");
  if (!missing.empty())
    throw UsageError(str("not installed: ", missing), "apt-get install openssh-client");
  const std::string key = ssh_key_file();
  if (!io::exists(key)) return "ssh, scp and ssh-keygen are installed";
  require_usable_key(key);
  return str("ssh, scp and ssh-keygen are installed, and the key ", key, " is usable");
}

}  // namespace

DoctorCheck run_check(const std::string& what, const std::function<std::string()>& look) {
  try {
    return {what, true, look(), ""};
  } catch (const Stopped&) {
    throw;
  } catch (const Error& error) {
    const auto [said, hint] = error_parts(error.what());
    return {what, false, said, hint};
  }
}

bool is_near(const std::string& location, const std::string& zone) {
  const std::string place = lower_case(location), region = region_of(zone);
  const std::string continent = region.substr(0, region.find('-'));
  if (place == "us") return continent == "us";
  if (place == "eu") return continent == "europe";
  if (place == "asia") return continent == "asia";
  // A dual-region such as EUR4: smelt does not know its regions.
  if (place.find('-') == std::string::npos) return true;
  return place == region;
}

namespace {

// Runs the checks that need valid credentials.
void ask_google(GoogleApi& api, const DoctorRequest& ask, std::vector<DoctorCheck>& out) {
  std::string project;
  out.push_back(run_check("project", [&] { return project = project_of(ask.project, api); }));
  if (!project.empty() && api.who().lacks_quota_project())
    out.push_back({"quota project", true,
                   "the credentials have none: calls are counted against gcloud's own project, "
                   "where some APIs are disabled",
                   io::quota_project_command(project)});
  if (project.empty()) return add_forms(ask, out);
  TpuApi tpu(api, project);
  std::vector<std::string> known;
  out.push_back(run_check("TPU API", [&] {
    known = tpu.zones();
    return counted(known.size(), "zone");
  }));
  if (out.back().good)
    for (const std::string& zone : ask.zones)
      out.push_back(
          run_check("zone " + zone, [&] { return zone_text(tpu, known, zone, ask.type); }));
  if (ask.bucket.empty()) return;
  out.push_back(run_check("bucket", [&] { return bucket_text(api, project, ask); }));
  if (!out.back().good) return;
  std::string account = ask.service_account;
  if (account.empty())
    if (const std::string number = project_number(api, project); !number.empty())
      account = number + "-compute@developer.gserviceaccount.com";
  if (account.empty()) return;
  out.push_back(run_check("machine's account", [&] {
    return account_text(api, io::parse_remote(ask.bucket).bucket, account);
  }));
  out.push_back(run_check("machine's rights", [&] { return rights_text(api, project, account); }));
}

}  // namespace

std::vector<DoctorCheck> examine(const DoctorRequest& ask,
                                 const std::function<GoogleApi()>& connect) {
  std::vector<DoctorCheck> out;
  std::optional<GoogleApi> api;
  out.push_back(run_check("credentials", [&] {
    api.emplace(connect());
    return who_text(*api);
  }));
  out.back().good ? ask_google(*api, ask, out) : add_forms(ask, out);
  out.push_back(run_check("OpenSSH", &ssh_text));
  const std::string user = ask.user.empty() ? local_user() : ask.user;
  if (!user.empty())
    out.push_back(run_check("user", [&] {
      require_user(user);
      return user + " signs in to the machine";
    }));
  if (!ask.package.empty())
    out.push_back(run_check("package", [&] { return package_text(ask.package); }));
  return out;
}

}  // namespace smelt::cloud
