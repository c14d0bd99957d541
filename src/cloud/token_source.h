// A token that is always fresh.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "io/credentials/credential_file.h"
#include "io/credentials/credentials.h"

namespace smelt {

// Before a token's end: Google's libraries, too, take a new one 3 minutes and 45 seconds earlier,
// as the metadata server has a new one only then.
inline constexpr std::chrono::seconds kRefreshBefore(225);

// Copies share one token. For any number of threads. `again`: where the credentials are not
// accepted, those that may be there by now, as of who has signed in again.
class TokenSource {
 public:
  using Now = std::function<std::chrono::system_clock::time_point()>;
  using Again = std::function<std::unique_ptr<Credentials>()>;
  explicit TokenSource(std::unique_ptr<Credentials> credentials,
                       Now now = &std::chrono::system_clock::now, Again again = {})
      : shared_(
            std::make_shared<Shared>(std::move(credentials), std::move(now), std::move(again))) {}

  // Of the first, which are the same person's or account's.
  const Who& who() const { return shared_->credentials->who(); }
  // One that lasts for kRefreshBefore more, or is new. As Credentials::fetch().
  Token token(HttpClient& http) {
    const std::lock_guard lock(shared_->mutex);
    auto& token = shared_->token;
    if (!token || token->expires - shared_->now() < kRefreshBefore) token = fetched(http);
    return *token;
  }
  // It was not accepted: the next is a new one, unless another thread has that already.
  void drop(const Secret& refused) {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->token && shared_->token->text.reveal() == refused.reveal()) shared_->token.reset();
  }

 private:
  Token fetched(HttpClient& http) {
    const auto& newer = shared_->newer;
    try {
      return (newer ? newer : shared_->credentials)->fetch(http);
    } catch (const CredentialsRefused&) {
      if (!shared_->again) throw;
    }
    shared_->newer = shared_->again();
    return shared_->newer->fetch(http);
  }

  struct Shared {
    Shared(std::unique_ptr<Credentials> of, Now clock, Again opened)
        : credentials(std::move(of)), now(std::move(clock)), again(std::move(opened)) {}
    const std::unique_ptr<Credentials> credentials;
    const Now now;
    const Again again;
    std::unique_ptr<Credentials> newer;
    std::mutex mutex;
    std::optional<Token> token;
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace smelt
