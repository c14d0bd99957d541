#include "runtime/find_plugin.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/nearest_name.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string_view device;
  const char* variable;
  std::string_view relative;  // to site-packages
  std::string_view hint;
};

constexpr std::array<Place, 3> kPlaces{{
    {"cpu", "SMELT_CPU_PLUGIN", "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
     "run scripts/build, which installs it into .venv, or set SMELT_CPU_PLUGIN to its path"},
    {"gpu", "SMELT_GPU_PLUGIN", "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
     "run .venv/bin/pip install 'jax-cuda13-plugin[with-cuda]', or set SMELT_GPU_PLUGIN to its "
     "path"},
    {"tpu", "SMELT_TPU_PLUGIN", "libtpu/libtpu.so",
     "run .venv/bin/pip install libtpu, or set SMELT_TPU_PLUGIN to its path"},
}};

const Place& place_of(std::string_view device) {
  std::vector<std::string> known;
  for (const Place& place : kPlaces) {
    if (place.device == device) return place;
    known.emplace_back(place.device);
  }
  throw UsageError(str("device: '", device, "' is unknown"), did_you_mean(device, known));
}

// The newest Python's site-packages that holds the plugin; sorted so that the choice is stable.
std::optional<std::string> in_venv(const fs::path& venv, std::string_view relative) {
  std::error_code ignored;
  std::optional<std::string> best;
  for (const auto& entry : fs::directory_iterator(venv / "lib", ignored)) {
    if (!entry.path().filename().string().starts_with("python3")) continue;
    const fs::path file = entry.path() / "site-packages" / relative;
    if (fs::exists(file, ignored) && (!best || file.string() > *best)) best = file.string();
  }
  return best;
}

}  // namespace

std::optional<std::string> find_plugin_above(const std::string& folder, std::string_view device) {
  const Place& place = place_of(device);
  for (fs::path at = fs::absolute(folder);; at = at.parent_path()) {
    if (auto found = in_venv(at / ".venv", place.relative)) return found;
    if (at == at.root_path()) return std::nullopt;
  }
}

std::string find_plugin(std::string_view device) {
  const Place& place = place_of(device);
  const char* path = std::getenv(place.variable);
  if (path != nullptr && *path != '\0') {
    if (fs::exists(path)) return path;
    throw UsageError(str(place.variable, ": there is no file '", path, "'"),
                     "correct the variable, or unset it to search .venv");
  }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (auto found = find_plugin_above(program.parent_path().string(), device)) return *found;
  throw UsageError(str("device ", device, ": no .venv at or above ", program.parent_path().string(),
                       " holds ", place.relative),
                   place.hint);
}

}  // namespace smelt
