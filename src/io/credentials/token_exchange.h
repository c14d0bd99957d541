// Requests to servers that give tokens (RFC 6749, RFC 8693; IAM Credentials API).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/credentials/credentials.h"
#include "io/http/url.h"

namespace smelt {

using FormFields = std::vector<std::pair<std::string, std::string>>;

// POSTs the form. `secrets` are hidden in what the server answers. UsageError "credentials:
// <where>: … are not accepted: …" for a refusal, with a word where this machine's clock is the
// reason.
Token token_for_form(HttpClient& http, const Url& server, const FormFields& form,
                     const std::vector<Secret>& secrets, const std::string& where,
                     const Secret& basic = {});

// One of the service account in the URL …/serviceAccounts/EMAIL:generateAccessToken.
Token impersonated_token(HttpClient& http, const Url& url, const Secret& own_token,
                         const Json& delegates, const std::string& where);
// "EMAIL"
std::string impersonated_account(const Url& url);

// {"access_token": …, "expires_in": …}. SystemError for anything else.
Token token_in(const HttpAnswer& answer, const std::string& where);

}  // namespace smelt
