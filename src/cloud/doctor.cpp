#include "cloud/doctor.h"

#include <algorithm>

#include "base/error.h"
#include "base/run_program.h"
#include "base/words.h"
#include "cloud/file_hash.h"
#include "cloud/json_text.h"
#include "cloud/tpu_api.h"
#include "cloud/tpu_fault.h"
#include "store/folder.h"
#include "store/path.h"

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

// Where the bucket lies, by Cloud Storage; "" where one may not see it, who may write to it still.
std::string bucket_location(GoogleApi& api, const std::string& project, const std::string& bucket,
                            const std::string& zone) {
  const ApiAnswer answer =
      api.call({.service = "storage", .path = "/storage/v1/b/" + percent_encoded(bucket)});
  if (!answer.fault) return text_in(answer.body, "location");
  if (answer.fault->status == 404)
    throw UsageError(str("there is no bucket ", bucket),
                     str("smelt storage mb -p ", project,
                         zone.empty() ? "" : " -l " + region_of(zone), " gs://", bucket));
  if (answer.fault->status == 403) return "";
  throw SystemError(str("bucket ", bucket, ": ", answer.fault->message), "try again");
}

std::string bucket_text(GoogleApi& api, const std::string& project, const DoctorAsk& ask) {
  if (!is_remote(ask.bucket) || parse_remote(ask.bucket).scheme != "gs")
    throw UsageError(str("'", ask.bucket, "' is no bucket of Google's"), "--bucket gs://NAME");
  const std::string name = parse_remote(ask.bucket).bucket;
  const std::string zone = ask.zones.empty() ? "" : ask.zones.front();
  const std::string location = bucket_location(api, project, name, zone);
  for (const std::string& each : ask.zones)
    if (!is_near(location, each))
      throw UsageError(str("bucket ", name, " is in ", lower_case(location), ", the machine in ",
                           each, ": each byte between them is slow and is paid for"),
                       str("smelt storage mb -p ", project, " -l ", region_of(each),
                           " gs://NAME, and --bucket gs://NAME"));
  check_writable(ask.bucket);
  return str(name, location.empty() ? "" : " in " + lower_case(location), ", can be written to",
             location.empty() ? "; where it lies may not be seen: roles/storage.bucketViewer" : "");
}

std::string ssh_text() {
  const ShellOutput found =
      run_shell("for p in ssh scp ssh-keygen; do command -v $p >/dev/null || echo $p; done", "");
  const std::string missing = join(split(trim(found.text), '\n'), ", ");
  if (!missing.empty())
    throw UsageError(str("no ", missing, " here"), "apt-get install openssh-client");
  return "ssh, scp and ssh-keygen are here";
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

std::vector<DoctorCheck> examine(const DoctorAsk& ask, const std::function<GoogleApi()>& connect) {
  std::vector<DoctorCheck> out;
  std::optional<GoogleApi> api;
  std::string project;
  out.push_back(looked_at("credentials", [&] {
    api.emplace(connect());
    return who_text(*api);
  }));
  if (!out.back().good) api.reset();
  if (api) {
    out.push_back(looked_at("project", [&] { return project = project_of(ask.project, *api); }));
  }
  if (api && !project.empty()) {
    TpuApi tpu(*api, project);
    std::vector<std::string> known;
    out.push_back(looked_at("TPU API", [&] {
      known = tpu.zones();
      return counted(known.size(), "zone");
    }));
    if (out.back().good)
      for (const std::string& zone : ask.zones)
        out.push_back(
            looked_at("zone " + zone, [&] { return zone_text(tpu, known, zone, ask.type); }));
    if (!ask.bucket.empty())
      out.push_back(looked_at("bucket", [&] { return bucket_text(*api, project, ask); }));
  }
  out.push_back(looked_at("OpenSSH", &ssh_text));
  if (!ask.package.empty())
    out.push_back(looked_at("package", [&] { return package_text(ask.package); }));
  return out;
}

}  // namespace smelt
