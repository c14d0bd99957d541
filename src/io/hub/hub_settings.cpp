#include "io/hub/hub_settings.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "io/hub/hub_digest.h"

namespace smelt::io {
namespace {

std::string hub_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : std::string(trim(value));
}

bool is_true(const char* name) {
  const std::string value = lower_case(hub_variable(name));
  return value == "1" || value == "on" || value == "yes" || value == "true";
}

// Expands "~/" and $NAME, ${NAME} as Python's expanduser and expandvars do. Unknown variables stay.
std::string expanded(const std::string& path) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i == 0 && path[0] == '~' && (path.size() == 1 || path[1] == '/')) {
      out += hub_variable("HOME");
      continue;
    }
    if (path[i] != '$') {
      out += path[i];
      continue;
    }
    const bool braces = i + 1 < path.size() && path[i + 1] == '{';
    const std::size_t begin = i + (braces ? 2 : 1);
    std::size_t end = begin;
    while (end < path.size() &&
           (std::isalnum(static_cast<unsigned char>(path[end])) != 0 || path[end] == '_'))
      ++end;
    const std::string name = path.substr(begin, end - begin);
    const bool closed = !braces || (end < path.size() && path[end] == '}');
    const char* value = name.empty() || !closed ? nullptr : std::getenv(name.c_str());
    if (value == nullptr) {
      out += path[i];
      continue;
    }
    out += value;
    i = end - (braces ? 0 : 1);
  }
  return out;
}

std::string home_of_hub() {
  if (const std::string home = hub_variable("HF_HOME"); !home.empty()) return expanded(home);
  const std::string cache = hub_variable("XDG_CACHE_HOME");
  return expanded(str(cache.empty() ? "~/.cache" : cache, "/huggingface"));
}

std::string cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const std::string folder = hub_variable(name); !folder.empty()) return expanded(folder);
  return home_of_hub() + "/hub";
}

// Returns the path of the file with the token, which need not exist.
std::string token_path() {
  const std::string named = hub_variable("HF_TOKEN_PATH");
  return named.empty() ? home_of_hub() + "/token" : expanded(named);
}

void read_token(HubSettings& out) {
  std::string token;
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
    if (token.empty() && !(token = hub_variable(name)).empty()) out.token_source = name;
  if (token.empty()) {
    const std::string path = token_path();
    std::ifstream file(path);
    std::stringstream content;
    if (file && content << file.rdbuf()) token = trim(content.str());
    if (!token.empty()) out.token_source = path;
  }
  if (std::ranges::any_of(token, [](unsigned char c) { return c <= ' ' || c >= 127; }))
    throw UsageError(str("hub: ", out.token_source, ": the access token contains white space"),
                     "copy the token again from your settings on the Hub");
  out.token = Secret(token);
  if (out.token.empty() || out.endpoint.scheme == "https" || is_loopback(out.endpoint.host)) return;
  log_warning("hub: {}: the access token is not sent over plain http", out.endpoint_text());
  out.token = Secret();
}

// Returns a digest of the environment variables and the token file's metadata, which changes if one
// of them changes. Returns a digest because the text itself contains the token.
std::string state_of_environment() {
  std::string out;
  for (const char* name :
       {"HF_ENDPOINT", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HOME",
        "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN",
        "HF_TOKEN_PATH", "HF_HUB_DISABLE_IMPLICIT_TOKEN"})
    out += str(hub_variable(name), "\n");
  struct ::stat file{};
  if (const std::string path = token_path(); ::stat(path.c_str(), &file) == 0)
    out += str(path, " ", file.st_ino, " ", file.st_size, " ", file.st_mtim.tv_sec, " ",
               file.st_mtim.tv_nsec);
  return digest_of_text(out + cache_folder(), true).hex;  // $NAME in a path is expanded
}

HubSettings read_settings() {
  HubSettings out;
  std::string endpoint = hub_variable("HF_ENDPOINT");
  if (endpoint.empty()) endpoint = "https://huggingface.co";
  while (endpoint.ends_with('/')) endpoint.pop_back();
  out.endpoint = parse_url(endpoint, "HF_ENDPOINT");
  if (out.endpoint.path == "/") out.endpoint.path.clear();
  out.cache = cache_folder();
  out.offline = !offline_variable().empty();
  out.token_only_if_asked = is_true("HF_HUB_DISABLE_IMPLICIT_TOKEN");
  read_token(out);
  return out;
}

}  // namespace

std::string offline_variable() {
  for (const char* name : {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"})
    if (is_true(name)) return name;
  return {};
}

HubSettings hub_settings() {
  static std::mutex mutex;
  static std::string state;
  static std::optional<HubSettings> read;
  const std::lock_guard lock(mutex);
  std::string now = state_of_environment();
  if (read && state == now) return *read;
  read = read_settings();
  state = std::move(now);
  return *read;
}

}  // namespace smelt::io
