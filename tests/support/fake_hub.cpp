#include "support/fake_hub.h"

#include <algorithm>
#include <filesystem>

#include "base/str.h"
#include "io/filesystem/file.h"
#include "io/hub/hub_files.h"

namespace smelt {
namespace {

constexpr const char* kHome = "home";

std::string made_folder(const std::string& path) {
  std::filesystem::create_directories(path);
  return path;
}

}  // namespace

FakeHub::FakeHub()
    : port_(free_port()),
      cdn_port_(free_port()),
      server_({"python3", source_path("tests/support/fake_hub.py"), std::to_string(port_),
               std::to_string(cdn_port_), made_folder(dir_.file("seed")), dir_.file("requests"),
               dir_.file("faults")},
              port_, dir_.file("log")),
      endpoint_("HF_ENDPOINT", endpoint()),
      home_("HF_HOME", dir_.file(kHome)),
      no_token_("HF_TOKEN"),
      no_old_token_("HUGGING_FACE_HUB_TOKEN"),
      no_token_path_("HF_TOKEN_PATH"),
      no_cache_("HF_HUB_CACHE"),
      no_old_cache_("HUGGINGFACE_HUB_CACHE"),
      no_offline_("HF_HUB_OFFLINE"),
      no_old_offline_("TRANSFORMERS_OFFLINE"),
      no_xet_("HF_HUB_DISABLE_XET", "1") {
  io::forget_hub_commits();
}

std::string FakeHub::endpoint() const { return str("http://127.0.0.1:", port_); }
std::string FakeHub::cdn() const { return str("http://127.0.0.1:", cdn_port_); }

void FakeHub::add(std::string_view repo, std::string_view path, std::string_view content) const {
  io::write_file(dir_.file(str("seed/", repo, "/", path)), content);
}

void FakeHub::fault(const std::string& rules) const { io::write_file(dir_.file("faults"), rules); }

std::vector<std::string> FakeHub::requests() const {
  std::vector<std::string> lines;
  if (!std::filesystem::exists(dir_.file("requests"))) return lines;
  const std::string text = io::read_file(dir_.file("requests"));
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) lines.emplace_back(line);
  return lines;
}

void FakeHub::forget_requests() const { std::filesystem::remove(dir_.file("requests")); }

int FakeHub::count(std::string_view text) const {
  return static_cast<int>(std::ranges::count_if(
      requests(), [&](const std::string& line) { return line.find(text) != std::string::npos; }));
}

}  // namespace smelt
