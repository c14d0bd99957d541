#include "cli/commands.h"
#include "runtime/client.h"

int main(int argc, char** argv) {
  const smelt::KeptClients clients;
  return smelt::run_command_line(argc, argv);
}
