// A stand-in for the Hugging Face Hub and its CDN on the loopback interface (fake_hub.py), and the
// environment variables that make smelt and Python use it with an empty cache.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/environment.h"
#include "support/paths.h"
#include "support/server_process.h"

namespace smelt {

class FakeHub {
 public:
  FakeHub();
  std::string endpoint() const;  // "http://127.0.0.1:PORT"
  std::string cdn() const;
  std::string cache() const { return dir_.file("home/hub"); }

  // Adds or replaces a file of a repository, "models/ORG/NAME" or "datasets/ORG/NAME". Changed
  // files become a new commit with the next request.
  void add(std::string_view repo, std::string_view path, std::string_view content) const;
  // From now on, requests that match the rules (see fake_hub.py) fail; "[]" stops that.
  void fault(const std::string& rules) const;
  // Returns the requests since the last call of forget_requests().
  std::vector<std::string> requests() const;
  void forget_requests() const;
  // Returns the number of requests that contain this text.
  int count(std::string_view text) const;

 private:
  TempDir dir_;
  int port_, cdn_port_;
  ServerProcess server_;
  ScopedVariable endpoint_, home_, no_token_, no_old_token_, no_token_path_, no_cache_,
      no_old_cache_, no_offline_, no_old_offline_, no_xet_;
};

}  // namespace smelt
