#include "io/credentials/metadata.h"

#include "base/error.h"
#include "base/host.h"
#include "io/credentials/credential_file.h"
#include "io/http/http.h"

namespace smelt::io {
namespace {

using std::chrono::milliseconds;

// The IP address of the metadata server. Resolving its host name can be slow.
constexpr const char* kAddress = "169.254.169.254";

std::string metadata_host() {
  for (const char* variable : {"GCE_METADATA_HOST", "GCE_METADATA_ROOT"})
    if (const std::string host = environment(variable); !host.empty()) {
      if (!is_host(host))
        throw UsageError(str(variable, ": '", host, "' is not HOST or HOST:PORT"),
                         str("unset ", variable));
      return host;
    }
  return kAddress;
}

// Returns short timeouts: outside of Google's cloud no machine has this address, and some networks
// drop packets to it.
HttpOptions hasty() {
  HttpOptions options{.to_connect = milliseconds(1000), .to_answer = milliseconds(5000)};
  options.redirects = 0;
  options.retry = {.first = milliseconds(200),
                   .most = milliseconds(2000),
                   .whole = milliseconds(15'000),
                   .tries = 8,
                   .tries_to_connect = 3};
  return options;
}

}  // namespace

std::optional<std::string> ask_metadata(const std::string& path) {
  HttpClient http(hasty());
  HttpAnswer answer;
  const std::string host = metadata_host();
  try {
    answer = http.send({.url = str("http://", host, "/computeMetadata/v1/", path),
                        .headers = {{"Metadata-Flavor", "Google"}}});
  } catch (const SystemError&) {
    return std::nullopt;
  }
  if (answer.header("metadata-flavor") != "Google") return std::nullopt;  // not a metadata server
  if (is_passing(answer.status))
    throw SystemError(
        str("credentials: the metadata server at ", host,
            " did not return this machine's identity (HTTP status ", answer.status, ")"),
        "run the command again");
  if (answer.status != 200) return std::nullopt;
  return answer.body;
}

}  // namespace smelt::io
