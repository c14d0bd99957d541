#include "support/gcs_emulator.h"

#include "base/error.h"
#include "io/filesystem/file.h"
#include "support/oracle.h"

namespace smelt {

GcsEmulator::GcsEmulator()
    : port_(free_port()),
      server_({oracle_python(), source_path("tests/support/gcs_emulator.py"), std::to_string(port_),
               dir_.file("faults")},
              port_, dir_.file("log")) {}

void GcsEmulator::fault(const std::string& rules) const {
  io::write_file(dir_.file("faults"), rules);
}

std::string GcsEmulator::endpoint() const { return str("127.0.0.1:", port_); }

std::string GcsEmulator::path(std::string_view key, std::string_view bucket) const {
  return str("gs://anonymous@", bucket, "/", key, "?scheme=http&endpoint_override=", endpoint());
}

std::string GcsEmulator::client(const std::string& arguments) const {
  const CommandOutput output = run_oracle(str(source_path("tests/support/gcs_client.py"),
                                              " http://", endpoint(), " bucket ", arguments));
  CHECK(output.status == 0, output.text);
  return output.text;
}

}  // namespace smelt
