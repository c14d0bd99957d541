// The metadata server of a Google machine ("About VM metadata"), which only that machine can reach.
#include "base/error.h"
#include "io/credentials/credentials.h"
#include "io/credentials/metadata.h"
#include "io/credentials/token_exchange.h"

namespace smelt::io {
namespace {

class MachineCredentials final : public Credentials {
 public:
  MachineCredentials(const std::string& email, const std::string& project)
      : Credentials({"service account", email, "of this machine", project, ""}) {}

  Token fetch(HttpClient&) const override {
    const auto answer = ask_metadata("instance/service-accounts/default/token");
    if (!answer)
      throw SystemError(
          "credentials: this machine's metadata server returned no token",
          "check that the machine's service account still exists, then run the command again");
    return token_in({.status = 200, .body = *answer}, who().source);
  }
};

}  // namespace

std::unique_ptr<Credentials> machine_credentials() {
  const auto email = ask_metadata("instance/service-accounts/default/email");
  if (!email || email->find('@') == std::string::npos) return nullptr;
  return std::make_unique<MachineCredentials>(*email,
                                              ask_metadata("project/project-id").value_or(""));
}

}  // namespace smelt::io
