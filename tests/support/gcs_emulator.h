// An in-memory emulator of Google Cloud Storage with one empty bucket named "bucket".
#pragma once

#include <string>
#include <string_view>

#include "support/paths.h"
#include "support/server_process.h"

namespace smelt {

// Requires the oracles: call REQUIRE_ORACLE() first.
class GcsEmulator {
 public:
  GcsEmulator();
  std::string endpoint()
      const;  // "127.0.0.1:<port>"; "http://" before it for CLOUD_STORAGE_EMULATOR_ENDPOINT
  // Returns the path of an object with the emulator's address, which needs no environment
  // variables.
  std::string path(std::string_view key, std::string_view bucket = "bucket") const;
  // From now on, requests that match the rules (see gcs_emulator.py) fail; "[]" stops that.
  void fault(const std::string& rules) const;
  // Runs tests/support/gcs_client.py with Google's own client on the bucket and returns its output.
  std::string client(const std::string& arguments) const;

 private:
  TempDir dir_;
  int port_;
  ServerProcess server_;
};

}  // namespace smelt
