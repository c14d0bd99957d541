// Settings of the Hugging Face Hub from the environment, with the names and rules of
// huggingface_hub.
#pragma once

#include <string>

#include "io/http/secret.h"
#include "io/http/url.h"

namespace smelt::io {

struct HubSettings {
  Url endpoint;          // HF_ENDPOINT, default https://huggingface.co; its path has no final '/'
  std::string cache;     // HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE or $HF_HOME/hub
  bool offline = false;  // HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is true
  Secret token = {};     // "" without a token
  std::string token_source = {};     // "HF_TOKEN", or the path of the file with the token
  bool token_only_if_asked = false;  // HF_HUB_DISABLE_IMPLICIT_TOKEN is true

  std::string endpoint_text() const { return endpoint.shown(); }
};

// Returns the settings. Reads the token's file and logs warnings only if the environment or that
// file has changed since the last call. Throws UsageError if HF_ENDPOINT is not a URL or the token
// contains white space. No token is used if the endpoint has the scheme http and is not this
// machine. Thread-safe.
HubSettings hub_settings();

// Returns the name of the environment variable that makes the program work offline.
std::string offline_variable();

}  // namespace smelt::io
