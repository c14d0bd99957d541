// Signed claims of a service account (RFC 7519, RFC 7515; RS256 of RFC 7518).
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "io/http/secret.h"

namespace smelt::io {

// Encode bytes by RFC 4648: base64() by section 4, with padding, and base64url() by section 5,
// without padding.
std::string base64(std::string_view bytes);
std::string base64url(std::string_view bytes);

// Returns a signed token "HEADER.CLAIMS.SIGNATURE". `key` is an RSA key in PEM format; `key_id` may
// be empty. Throws UsageError "<what>: …", which does not show the key, if it is invalid.
Secret signed_claims(const Json& claims, const Secret& key, const std::string& key_id,
                     std::string_view what);

}  // namespace smelt::io
