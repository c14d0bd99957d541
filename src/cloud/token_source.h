// A token that is always fresh.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "cloud/credentials.h"

namespace smelt {

// Before a token's end: Google's libraries, too, take a new one 3 minutes and 45 seconds earlier,
// as the metadata server has a new one only then.
inline constexpr std::chrono::seconds kRefreshBefore(225);

// Copies share one token. For any number of threads.
class TokenSource {
 public:
  using Now = std::function<std::chrono::system_clock::time_point()>;
  explicit TokenSource(std::unique_ptr<Credentials> credentials,
                       Now now = &std::chrono::system_clock::now)
      : shared_(std::make_shared<Shared>(std::move(credentials), std::move(now))) {}

  const Who& who() const { return shared_->credentials->who(); }
  // One that lasts for kRefreshBefore more, or is new. As Credentials::fetch().
  Token token(HttpClient& http) {
    const std::lock_guard lock(shared_->mutex);
    auto& token = shared_->token;
    if (!token || token->expires - shared_->now() < kRefreshBefore)
      token = shared_->credentials->fetch(http);
    return *token;
  }
  // It was not accepted: the next is a new one, unless another thread has that already.
  void drop(const Secret& refused) {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->token && shared_->token->text.reveal() == refused.reveal()) shared_->token.reset();
  }

 private:
  struct Shared {
    Shared(std::unique_ptr<Credentials> of, Now clock)
        : credentials(std::move(of)), now(std::move(clock)) {}
    const std::unique_ptr<Credentials> credentials;
    const Now now;
    std::mutex mutex;
    std::optional<Token> token;
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace smelt
