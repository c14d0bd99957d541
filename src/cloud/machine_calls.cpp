#include "cloud/machine_calls.h"

#include "base/run_program.h"
#include "base/str.h"
#include "io/filesystem/path.h"
#include "io/http/url.h"

namespace smelt::cloud {

std::string machine_calls() {
  return "metadata() { curl -sf -m 20 -H 'Metadata-Flavor: Google' "
         "\"http://${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1/instance/"
         "$1\"; "
         "}\n"
         "call() { metadata service-accounts/default/token |\n"
         "  sed -n 's/.*\"access_token\" *: *\"\\([^\"]*\\)\".*/Authorization: Bearer \\1/p' |\n"
         "  curl -sS -m 60 -H @- \"$@\"; }\n";
}

// Each start has a separate object, named by its start time.
std::string keep_log_function(const JobSpec& spec, const std::string& storage) {
  const io::RemotePath place = io::parse_remote(io::join_path(spec.folder, "log"));
  const std::string url = str(storage, "/upload/storage/v1/b/", io::percent_encoded(place.bucket),
                              "/o?uploadType=media&name=", io::percent_encoded(place.key + "/"));
  return str(
      "keep_log() {\n  [ -s \"$j/log\" ] || return 0\n"
      "  s=$(date -u -r \"$j/command\" +%Y%m%dT%H%M%SZ)\n"
      "  call -f -o /dev/null -X POST -H 'Content-Type: text/plain' -T \"$j/log\" ",
      shell_word(url), "\"$s-worker-$n.txt\"\n}\n");
}

std::string keep_log_command(const JobSpec& spec, const std::string& storage, int worker) {
  return str("j=$HOME/.smelt-job; n=", worker, "\n", machine_calls(),
             keep_log_function(spec, storage), "keep_log\n");
}

std::string ask_rights_command(const std::string& project, const std::string& projects) {
  return str(machine_calls(),
             "call -f -X POST -H 'Content-Type: application/json' "
             "-d '{\"permissions\": [\"tpu.nodes.delete\"]}' ",
             shell_word(str(projects, "/v1/projects/", project, ":testIamPermissions")), "\n");
}

// Gives up early on a slow or silent server, because the package can be copied by scp instead.
std::string fetch_command(const std::string& object, const std::string& storage,
                          const std::string& file, const std::string& sha256) {
  const io::RemotePath place = io::parse_remote(object);
  const std::string url = str(storage, "/storage/v1/b/", io::percent_encoded(place.bucket), "/o/",
                              io::percent_encoded(place.key), "?alt=media");
  return str(machine_calls(),
             "call -f -m 1500 --connect-timeout 20 --speed-limit 1000 --speed-time 60 -o ", file,
             " ", shell_word(url), " && echo '", sha256, "  ", file,
             "' | sha256sum -c --quiet -\n");
}

}  // namespace smelt::cloud
