#include "io/credentials/redact.h"

#include <regex>

#include "base/plural.h"
#include "io/http/url.h"

namespace smelt::io {
namespace {

constexpr std::size_t kMostCharacters = 300;
constexpr std::string_view kHidden = "[secret]";
constexpr std::size_t kFewestCharacters =
    6;  // minimum length of a secret; Google's are longer than 20

void hide(std::string& text, const std::string& secret) {
  if (secret.size() < kFewestCharacters) return;  // it would also match parts of other words
  for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos; at += kHidden.size())
    text.replace(at, secret.size(), kHidden);
}

}  // namespace

std::string fit_for_message(const std::string& text, const std::vector<Secret>& secrets) {
  // Access and refresh tokens of Google, and any JWT.
  static const std::regex tokens(R"(ya29\.[\w.-]+|1//[\w-]+|eyJ[\w-]{8,}(\.[\w-]*){0,2})");
  std::string out = text;
  for (const Secret& secret : secrets) {
    const std::string plain = secret.reveal(), encoded = percent_encoded(plain);
    hide(out, plain);
    if (encoded != plain) hide(out, encoded);
  }
  out = shortened(out, 4 * kMostCharacters);  // limits the recursion of std::regex
  out = std::regex_replace(out, tokens, std::string(kHidden));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  return shortened(trim(out), kMostCharacters);
}

}  // namespace smelt::io
