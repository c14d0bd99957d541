// Credentials that are exchanged for others: service account impersonation and identities of other
// clouds (workload identity federation; RFC 8693).
#pragma once

#include <memory>

#include "io/credentials/credentials.h"

namespace smelt::io {

// Reads credentials of type "impersonated_service_account", which 'gcloud auth application-default
// login --impersonate-service-account' writes.
std::unique_ptr<Credentials> impersonated_credentials(const CredentialFields& file);

// Reads credentials of type "external_account". Their identity token may come from a file or from a
// known server: GitHub, Azure, this machine or a trusted host (base/host.h). Throws UsageError if
// it comes from another server or from a program.
std::unique_ptr<Credentials> external_credentials(const CredentialFields& file);

}  // namespace smelt::io
