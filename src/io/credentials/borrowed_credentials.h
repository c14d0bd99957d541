// Credentials that are exchanged for others': acting as a service account, and identities of other
// clouds (workload identity federation; RFC 8693).
#pragma once

#include <memory>

#include "io/credentials/credentials.h"

namespace smelt {

// type "impersonated_service_account", of 'gcloud auth application-default login
// --impersonate-service-account'.
std::unique_ptr<Credentials> impersonated_credentials(const CredentialFields& file);

// Credentials of type "external_account". Their token is in a file or comes from a known server:
// GitHub's, Azure's, this machine, or a trusted one (base/host.h). Programs are not run.
std::unique_ptr<Credentials> external_credentials(const CredentialFields& file);

}  // namespace smelt
