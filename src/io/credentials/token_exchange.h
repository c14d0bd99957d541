// Token requests (RFC 6749, RFC 8693; IAM Credentials API).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/credentials/credentials.h"
#include "io/http/url.h"

namespace smelt::io {

using FormFields = std::vector<std::pair<std::string, std::string>>;

// Posts the form to a token server. `secrets` are redacted in error messages. Throws UsageError
// "credentials: <where>: … are not accepted: …" if the server rejects the request, with a note if
// this machine's clock is wrong.
Token token_for_form(HttpClient& http, const Url& server, const FormFields& form,
                     const std::vector<Secret>& secrets, const std::string& where,
                     const Secret& basic = {});

// Returns a token of the service account in the URL …/serviceAccounts/EMAIL:generateAccessToken.
Token impersonated_token(HttpClient& http, const Url& url, const Secret& own_token,
                         const Json& delegates, const std::string& where);
// Returns the EMAIL in a URL …/serviceAccounts/EMAIL:generateAccessToken.
std::string impersonated_account(const Url& url);

// Parses {"access_token": …, "expires_in": …}. Throws SystemError for anything else.
Token token_in(const HttpAnswer& answer, const std::string& where);

}  // namespace smelt::io
