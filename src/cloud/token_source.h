// A token that is always fresh.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cloud/credentials.h"

namespace smelt {

// Before a token's end: Google's libraries, too, take a new one 3 minutes and 45 seconds earlier,
// as the metadata server has a new one only then.
inline constexpr std::chrono::seconds kRefreshBefore(225);

class TokenSource {
 public:
  using Now = std::function<std::chrono::system_clock::time_point()>;
  explicit TokenSource(std::unique_ptr<Credentials> credentials,
                       Now now = &std::chrono::system_clock::now)
      : credentials_(std::move(credentials)), now_(std::move(now)) {}

  const Who& who() const { return credentials_->who(); }
  // One that lasts for kRefreshBefore more, or is new. As Credentials::fetch().
  const Token& token(HttpClient& http) {
    if (!token_ || token_->expires - now_() < kRefreshBefore) token_ = credentials_->fetch(http);
    return *token_;
  }
  // It was not accepted: the next is a new one.
  void drop() { token_.reset(); }

 private:
  std::unique_ptr<Credentials> credentials_;
  Now now_;
  std::optional<Token> token_;
};

}  // namespace smelt
