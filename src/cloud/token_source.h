// Access tokens that are renewed before they expire.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "io/credentials/credential_file.h"
#include "io/credentials/credentials.h"

namespace smelt::cloud {

// A token is renewed this long before it expires, as by Google's libraries, because the metadata
// server offers a new token only in the last 3 minutes and 45 seconds before the old one expires.
inline constexpr std::chrono::seconds kRefreshBefore(225);

// A source of access tokens. Thread-safe; copies share one token. If the credentials are refused,
// `again` reloads them, in case the user has signed in again.
class TokenSource {
 public:
  using Now = std::function<std::chrono::system_clock::time_point()>;
  using Again = std::function<std::unique_ptr<io::Credentials>()>;
  explicit TokenSource(std::unique_ptr<io::Credentials> credentials,
                       Now now = &std::chrono::system_clock::now, Again again = {})
      : shared_(
            std::make_shared<Shared>(std::move(credentials), std::move(now), std::move(again))) {}

  // Returns the identity of the first credentials; later ones belong to the same user or account.
  const io::Account& who() const { return shared_->credentials->who(); }
  // Returns a token that lasts for at least kRefreshBefore, or a new one. Throws like
  // Credentials::fetch().
  io::Token token(io::HttpClient& http) {
    const std::lock_guard lock(shared_->mutex);
    auto& token = shared_->token;
    if (!token || token->expires - shared_->now() < kRefreshBefore) token = fetched(http);
    return *token;
  }
  // Discards a token that was refused, unless another thread has renewed it already.
  void drop(const io::Secret& refused) {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->token && shared_->token->text.reveal() == refused.reveal()) shared_->token.reset();
  }

 private:
  io::Token fetched(io::HttpClient& http) {
    const auto& newer = shared_->newer;
    try {
      return (newer ? newer : shared_->credentials)->fetch(http);
    } catch (const io::CredentialsRefused&) {
      if (!shared_->again) throw;
    }
    shared_->newer = shared_->again();
    return shared_->newer->fetch(http);
  }

  struct Shared {
    Shared(std::unique_ptr<io::Credentials> of, Now clock, Again opened)
        : credentials(std::move(of)), now(std::move(clock)), again(std::move(opened)) {}
    const std::unique_ptr<io::Credentials> credentials;
    const Now now;
    const Again again;
    std::unique_ptr<io::Credentials> newer;
    std::mutex mutex;
    std::optional<io::Token> token;
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace smelt::cloud
