#include "cli/commands/commands.h"
#include "io/credentials/credential_file.h"
#include "pjrt/client.h"

int main(int argc, char** argv) {
  smelt::io::lead_google_client_to_gcloud();  // before any thread: it sets a variable
  const smelt::pjrt::ClientCache clients;
  return smelt::cli::run_command_line(argc, argv);
}
