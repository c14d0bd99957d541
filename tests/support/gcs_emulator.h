// Google Cloud Storage on this machine, in memory, with one empty bucket called "bucket".
#pragma once

#include <string>
#include <string_view>

#include "support/paths.h"
#include "support/server_process.h"

namespace smelt {

// Needs the oracles: REQUIRE_ORACLE() first.
class GcsEmulator {
 public:
  GcsEmulator();
  std::string endpoint()
      const;  // "127.0.0.1:<port>"; "http://" before it for CLOUD_STORAGE_EMULATOR_ENDPOINT
  // A path of the emulator that works without any environment.
  std::string path(std::string_view key, std::string_view bucket = "bucket") const;
  // From now on the requests that the rules of gcs_emulator.py match go wrong; "[]" ends that.
  void fault(const std::string& rules) const;
  // What Google's own client answers to the arguments of tests/support/gcs_client.py after the
  // bucket.
  std::string client(const std::string& arguments) const;

 private:
  TempDir dir_;
  int port_;
  ServerProcess server_;
};

}  // namespace smelt
