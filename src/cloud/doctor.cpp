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

namespace smelt {
namespace {

// Takes a token, so that a sign-in that is no longer accepted is said.
std::string who_text(GoogleApi& api) {
  (void)api.token();
  const Who& who = api.who();
  return str(who.account.empty() ? who.kind : who.account, ", ", who.source);
}

std::string zone_text(TpuApi& tpu, const std::vector<std::string>& known, const std::string& zone,
                      const std::string& type) {
  require_known(zone, known);
  if (type.empty()) return "has TPUs";
  const auto types = tpu.accelerator_types(zone);
  if (std::ranges::find(types, type) == types.end())
    throw UsageError(str(zone, " has no ", type),
                     types.empty() ? "smelt cloud locations names other zones"
                                   : str("--type with one of ", join(types, ", ")));
  return str("has ", type, "; whether one is free, and in the quota, is said when it is asked for");
}

// What Cloud Storage says of the bucket; nothing where one may not see it, who may write to it
// still.
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

// Of whoever asks.
void require_rights(GoogleApi& api, const std::string& bucket) {
  ApiCall call{.service = "storage", .path = bucket_path(bucket) + "/iam/testPermissions"};
  for (const char* action : {"create", "delete", "get", "list"})
    call.query.emplace_back("permissions", str("storage.objects.", action));
  const ApiAnswer answer = api.call(call);
  if (answer.fault) return;  // whether it can be written to is tried next
  const auto given = array_in(answer.body, "permissions");
  std::vector<std::string> missing;
  for (const auto& [name, permission] : call.query)
    if (!lists(given, permission)) missing.push_back(permission);
  if (!missing.empty())
    throw UsageError(
        str("bucket ", bucket, ": you lack ", join(missing, ", ")),
        str("gcloud storage buckets add-iam-policy-binding gs://", bucket,
            " --member=WHO --role=roles/storage.objectUser; smelt cloud whoami says who"));
}

std::string bucket_name(const std::string& bucket) {
  if (!is_remote(bucket) || parse_remote(bucket).scheme != "gs")
    throw UsageError(str("'", bucket, "' is no bucket of Google's"), "--bucket gs://NAME");
  return parse_remote(bucket).bucket;
}

std::vector<std::string> far_zones(const std::string& location,
                                   const std::vector<std::string>& zones) {
  std::vector<std::string> far;
  for (const std::string& zone : zones)
    if (!is_near(location, zone)) far.push_back(zone);
  return far;
}

// As its own buckets tell it; "" where it has none, or they may not be seen.
std::string project_number(GoogleApi& api, const std::string& project) {
  const ApiAnswer answer = api.call({.service = "storage",
                                     .path = "/storage/v1/b",
                                     .query = {{"project", project}, {"maxResults", "1"}}});
  const auto buckets = array_in(answer.body, "items");
  return answer.fault || buckets.empty() ? "" : text_in(buckets.front(), "projectNumber");
}

std::string bucket_text(GoogleApi& api, const std::string& project, const DoctorAsk& ask) {
  const std::string name = bucket_name(ask.bucket);
  const std::string zone = ask.zones.empty() ? "" : ask.zones.front();
  const Json about = about_bucket(api, project, name, zone);
  const std::string location = text_in(about, "location");
  const auto far = far_zones(location, ask.zones);
  if (!far.empty() && far.size() == ask.zones.size() && !ask.far_bucket)
    throw UsageError(str("bucket ", name, " is in ", lower_case(location), ", the machine in ",
                         join(far, ", "), ": each byte between them is slow and is paid for"),
                     str("smelt storage mb -p ", project, " -l ", region_of(zone),
                         " gs://NAME, and --bucket gs://NAME; or --far-bucket, which takes it"));
  require_rights(api, name);
  check_writable(ask.bucket);
  return str(name, location.empty() ? "" : " in " + lower_case(location), ", can be written to",
             location.empty() ? "; where it lies may not be seen: roles/storage.bucketViewer" : "",
             far.empty()
                 ? ""
                 : str("; far from ", join(far, ", "), ": slow, and its traffic is paid for",
                       far.size() < ask.zones.size() ? "; --zone without them" : ""));
}

// What the machine's account may do in the bucket is told by the bucket's own policy; what its
// project, a folder or a group gives it is not seen from here, and so it is never called wrong.
std::string account_text(GoogleApi& api, const std::string& bucket, const std::string& account) {
  const std::string member = "serviceAccount:" + account;
  const std::string unknown = "; whether its project or a group lets it write there is not known";
  const ApiAnswer policy = api.call({.service = "storage", .path = bucket_path(bucket) + "/iam"});
  if (policy.fault) return str(account, ": you may not see who may use ", bucket, unknown);
  for (const Json& binding : array_in(policy.body, "bindings")) {
    const std::string role = text_in(binding, "role");
    const bool writes = role == "roles/storage.objectUser" || role == "roles/storage.objectAdmin" ||
                        role == "roles/storage.admin";
    if (writes && lists(array_in(binding, "members"), member))
      return str(account, " has ", role, " on ", bucket);
  }
  return str(account, " has no role of its own on ", bucket, unknown,
             ": gcloud storage buckets add-iam-policy-binding gs://", bucket, " --member=", member,
             " --role=roles/storage.objectUser");
}

// Whether the machine may delete itself, as far as the project's own policy tells.
std::string rights_text(GoogleApi& api, const std::string& project, const std::string& account) {
  const auto unseen = [&] {
    return str(account, ": you may not see what it may do in ", project,
               "; whether its machine may delete itself is asked once it is there");
  };
  ApiAnswer policy;
  try {
    policy = api.call({.method = "POST",
                       .service = "cloudresourcemanager",
                       .path = str("/v1/projects/", percent_encoded(project), ":getIamPolicy"),
                       .body = Json::object(),
                       .repeat = Repeat::safe});
  } catch (const SystemError&) {
    return unseen();
  }
  if (policy.fault && policy.fault->reason == "SERVICE_DISABLED")
    return str("cannot check the roles of ", account,
               " because the Cloud Resource Manager API is disabled: gcloud services enable "
               "cloudresourcemanager.googleapis.com --project=",
               project);
  if (policy.fault) return unseen();
  for (const Json& binding : array_in(policy.body, "bindings")) {
    const std::string role = text_in(binding, "role");
    const bool deletes =
        role == "roles/tpu.admin" || role == "roles/editor" || role == "roles/owner";
    if (deletes && lists(array_in(binding, "members"), "serviceAccount:" + account))
      return str(account, " has ", role, ", and its machine may delete itself");
  }
  return str(account, " has no role of its own in ", project,
             " by which its machine may delete itself where nobody leads it; whether a group or a "
             "folder gives it one is asked once the machine is there: "
             "gcloud projects add-iam-policy-binding ",
             project, " --member=serviceAccount:", account, " --role=roles/tpu.admin");
}

// What is wrong with the words alone, of what cannot be looked up.
void add_forms(const DoctorAsk& ask, std::vector<DoctorCheck>& out) {
  std::vector<DoctorCheck> all;
  for (const std::string& zone : ask.zones)
    all.push_back(looked_at("zone " + zone, [&] {
      require_zone(zone);
      return "";
    }));
  if (!ask.bucket.empty())
    all.push_back(looked_at("bucket", [&] { return bucket_name(ask.bucket); }));
  for (DoctorCheck& check : all)
    if (!check.good) out.push_back(std::move(check));
}

std::string ssh_text() {
  const ShellOutput found =
      run_shell("for p in ssh scp ssh-keygen; do command -v $p >/dev/null || echo $p; done", "");
  const std::string missing = join(split(trim(found.text), '\n'), ", ");
  if (!missing.empty())
    throw UsageError(str("no ", missing, " here"), "apt-get install openssh-client");
  const std::string key = ssh_key_file();
  if (!exists(key)) return "ssh, scp and ssh-keygen are here";
  require_usable_key(key);
  return str("ssh, scp and ssh-keygen are here, and the key ", key, " can be used");
}

}  // namespace

DoctorCheck looked_at(const std::string& what, const std::function<std::string()>& look) {
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
  if (place.find('-') == std::string::npos) return true;  // a pair of regions with a name
  return place == region;
}

namespace {

// Of one whose credentials are good.
void ask_google(GoogleApi& api, const DoctorAsk& ask, std::vector<DoctorCheck>& out) {
  std::string project;
  out.push_back(looked_at("project", [&] { return project = project_of(ask.project, api); }));
  if (!project.empty() && api.who().lacks_quota_project())
    out.push_back({"quota project", true,
                   "the credentials name none: calls are counted on gcloud's own project, where "
                   "some APIs are disabled",
                   quota_project_command(project)});
  if (project.empty()) return add_forms(ask, out);
  TpuApi tpu(api, project);
  std::vector<std::string> known;
  out.push_back(looked_at("TPU API", [&] {
    known = tpu.zones();
    return counted(known.size(), "zone");
  }));
  if (out.back().good)
    for (const std::string& zone : ask.zones)
      out.push_back(
          looked_at("zone " + zone, [&] { return zone_text(tpu, known, zone, ask.type); }));
  if (ask.bucket.empty()) return;
  out.push_back(looked_at("bucket", [&] { return bucket_text(api, project, ask); }));
  if (!out.back().good) return;
  std::string account = ask.service_account;
  if (account.empty())
    if (const std::string number = project_number(api, project); !number.empty())
      account = number + "-compute@developer.gserviceaccount.com";
  if (account.empty()) return;
  out.push_back(looked_at("machine's account", [&] {
    return account_text(api, parse_remote(ask.bucket).bucket, account);
  }));
  out.push_back(looked_at("machine's rights", [&] { return rights_text(api, project, account); }));
}

}  // namespace

std::vector<DoctorCheck> examine(const DoctorAsk& ask, const std::function<GoogleApi()>& connect) {
  std::vector<DoctorCheck> out;
  std::optional<GoogleApi> api;
  out.push_back(looked_at("credentials", [&] {
    api.emplace(connect());
    return who_text(*api);
  }));
  out.back().good ? ask_google(*api, ask, out) : add_forms(ask, out);
  out.push_back(looked_at("OpenSSH", &ssh_text));
  const std::string user = ask.user.empty() ? local_user() : ask.user;
  if (!user.empty())
    out.push_back(looked_at("user", [&] {
      require_user(user);
      return user + " signs in to the machine";
    }));
  if (!ask.package.empty())
    out.push_back(looked_at("package", [&] { return package_text(ask.package); }));
  return out;
}

}  // namespace smelt
