#include "pjrt/find_plugin.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/progress.h"
#include "pjrt/plugin_lock.h"

namespace smelt::pjrt {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string_view device;
  const char* variable;
  std::string_view file;  // path in a folder laid out like site-packages
  std::string_view hint;
};

constexpr std::array<Place, 3> kPlaces{{
    {"cpu", "SMELT_CPU_PLUGIN", "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
     "run scripts/build, which installs it into .venv, or set SMELT_CPU_PLUGIN to its path"},
    {"gpu", "SMELT_GPU_PLUGIN", "jax_plugins/xla_cuda13/xla_cuda_plugin.so", "run smelt setup gpu"},
    {"tpu", "SMELT_TPU_PLUGIN", "libtpu/libtpu.so", "run smelt setup tpu"},
}};

const Place& place_of(std::string_view device) {
  std::vector<std::string> known;
  for (const Place& place : kPlaces) {
    if (place.device == device) return place;
    known.emplace_back(place.device);
  }
  throw UsageError(str("device: '", device, "' is unknown"), did_you_mean(device, known));
}

// Adds the site-packages folders of a virtual environment, in descending order of their names. A
// directory listing alone would have no fixed order.
void add_venv(const fs::path& venv, std::vector<std::string>& folders) {
  std::error_code ignored;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(venv / "lib", ignored))
    if (entry.path().filename().string().starts_with("python3"))
      found.push_back((entry.path() / "site-packages").string());
  std::ranges::sort(found, std::greater{});
  folders.insert(folders.end(), found.begin(), found.end());
}

// Returns the value of the variable, or nullopt unless it is an absolute path, as the XDG
// specification requires.
std::optional<fs::path> absolute_path_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || !fs::path(value).is_absolute()) return std::nullopt;
  return value;
}

[[noreturn]] void throw_not_installed(const Place& place, const fs::path& program_folder) {
  double size = 0;
  if (place.device != "cpu")
    for (const Wheel& wheel : plugin_wheels(place.device))
      size += static_cast<double>(wheel.download_bytes);
  std::string searched = (program_folder.parent_path() / "lib/smelt").string();
  if (const auto folder = setup_folder(place.device)) searched += str(", ", *folder);
  throw UsageError(
      str("device ", place.device, ": its plugin ", place.file, " is not installed; looked in ",
          searched, " and every .venv at or above ", program_folder.string()),
      str(place.hint, size > 0 ? str(", which downloads ", bytes_text(size)) : ""));
}

}  // namespace

std::string plugin_file(std::string_view device) { return std::string(place_of(device).file); }

std::optional<std::string> user_folder(const char* variable, std::string_view below_home) {
  if (const auto folder = absolute_path_in(variable)) return folder->string();
  const auto home = absolute_path_in("HOME");
  return home ? std::optional((*home / below_home).string()) : std::nullopt;
}

std::optional<std::string> setup_folder(std::string_view device) {
  const auto data = user_folder("XDG_DATA_HOME", ".local/share");
  return data ? std::optional((fs::path(*data) / "smelt" / device).string()) : std::nullopt;
}

std::vector<std::string> plugin_folders(const std::string& folder, std::string_view device) {
  const fs::path program_folder = fs::absolute(folder);
  std::vector<std::string> out{(program_folder.parent_path() / "lib/smelt").string()};
  if (const auto made = setup_folder(device)) out.push_back(*made);
  const fs::path packages = program_folder.parent_path().parent_path();
  if (packages.filename().string().ends_with("-packages")) out.push_back(packages.string());
  for (fs::path at = program_folder;; at = at.parent_path()) {
    add_venv(at / ".venv", out);
    if (at == at.root_path()) return out;
  }
}

std::optional<std::string> chosen_plugin(std::string_view device) {
  const Place& place = place_of(device);
  const char* path = std::getenv(place.variable);
  if (path == nullptr || *path == '\0') return std::nullopt;
  if (fs::exists(path)) return path;
  throw UsageError(str(place.variable, ": there is no file '", path, "'"),
                   "correct the variable, or unset it to search the usual folders");
}

std::string find_plugin(std::string_view device) {
  if (const auto chosen = chosen_plugin(device)) return *chosen;
  const Place& place = place_of(device);
  std::error_code ignored;
  const fs::path program_folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const std::string& candidate : plugin_folders(program_folder.string(), device)) {
    const fs::path file = fs::path(candidate) / place.file;
    if (fs::exists(file, ignored)) return file.string();
  }
  throw_not_installed(place, program_folder);
}

}  // namespace smelt::pjrt
