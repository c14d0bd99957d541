#include "pjrt/hardware.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "pjrt/find_plugin.h"
#include "pjrt/plugin_lock.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return '0' <= c && c <= '9'; });
}

// Whether a file of the folder is named by the prefix and a number.
bool has_numbered(const fs::path& folder, std::string_view prefix) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && is_number(std::string_view(name).substr(prefix.size())))
      return true;
  }
  return false;
}

// Each after those that it needs; the list is that of JAX's own start with this plugin.
constexpr std::array kCudaLibraries{
    "cu13/lib/libcudart.so.13",   "cu13/lib/libnvrtc.so.13",          "cu13/lib/libnvJitLink.so.13",
    "cu13/lib/libcublasLt.so.13", "cu13/lib/libcublas.so.13",         "cu13/lib/libcusparse.so.12",
    "cu13/lib/libcusolver.so.12", "cu13/lib/libcufft.so.12",          "cu13/lib/libcupti.so.13",
    "nccl/lib/libnccl.so.2",      "nvshmem/lib/libnvshmem_host.so.3", "cudnn/lib/libcudnn.so.9"};

// Whether it is the plugin that smelt itself looks for.
bool is_usual(const std::optional<std::string>& chosen, std::string_view device) {
  return !chosen || fs::path(*chosen).filename() == fs::path(plugin_file(device)).filename();
}

bool has_tpu(const std::string& dev) {
  return has_numbered(dev, "accel") || has_numbered(fs::path(dev) / "vfio", "");
}

// The driver alone may be in a container without a GPU.
bool has_gpu(const Machine& machine) {
  return has_numbered(machine.dev, "nvidia") &&
         ::dlopen(machine.driver.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
}

}  // namespace

bool is_here(const std::string& device, const Machine& machine) {
  if (!is_usual(chosen_plugin(device), device)) return true;
  return device == "tpu" ? has_tpu(machine.dev) : has_gpu(machine);
}

std::string chosen_device(const std::string& word, const Machine& machine) {
  if (word != "auto") return word;
  for (const std::string device : {"tpu", "gpu"}) {
    if (!is_here(device, machine)) continue;
    try {
      log_info("device {}: it is on this machine, by {} (--device cpu: not)", device,
               find_plugin(device));
      return device;
    } catch (const UsageError& error) {
      log_warning("{}", error.what());
    }
  }
  return "cpu";
}

void require_tpu(const std::string& dev) {
  if (has_tpu(dev)) return;
  throw UsageError(str("device tpu: no TPU on this machine: looked for ", dev,
                       "/accel0, accel1 … and ", dev, "/vfio/0, 1 …"),
                   "run on a TPU VM, or choose the device cpu");
}

void require_nvidia_driver(const std::string& library) {
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return;
  throw UsageError(str("device gpu: no NVIDIA driver on this machine: ", ::dlerror()),
                   "install NVIDIA's driver, 580 or newer, or choose the device cpu");
}

void ask_for_launch_barrier() {
  constexpr const char* kVariable = "LIBTPU_INIT_ARGS";
  const std::string option = "--xla_tpu_use_enhanced_launch_barrier";
  const char* said = std::getenv(kVariable);
  std::string arguments = said == nullptr ? "" : said;
  if (arguments.find(option) != arguments.npos) return;
  if (!arguments.empty()) arguments += ' ';
  ::setenv(kVariable, (arguments + option + "=true").c_str(), 1);
}

std::vector<std::string> load_cuda_libraries(const std::string& folder) {
  std::vector<std::string> loaded;
  for (const char* library : kCudaLibraries) {
    const fs::path path = fs::path(folder) / "nvidia" / library;
    if (!fs::exists(path)) continue;
    if (::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr)
      loaded.push_back(path.string());
    else
      log_warning("device gpu: {}", ::dlerror());
  }
  return loaded;
}

void warn_of_other_version(std::string_view device, const std::string& plugin) {
  const auto folder = setup_folder(device);
  if (!folder || !plugin.starts_with(*folder + "/")) return;
  std::ifstream file(fs::path(*folder) / kWheelsFile, std::ios::binary);
  if (!file) return;
  const std::string wheels{std::istreambuf_iterator<char>(file), {}};
  if (const auto other = other_version(plugin_wheels(device), wheels))
    log_warning("device {}: {} holds {}, which this smelt was made for; `smelt setup {}` renews it",
                device, *folder, *other, device);
}

std::string ready_plugin(std::string_view device) {
  const bool usual = is_usual(chosen_plugin(device), device);
  if (usual && device == "tpu") require_tpu();  // first: where none is, fetching libtpu is no help
  const std::string path = find_plugin(device);
  if (usual) warn_of_other_version(device, path);
  if (usual && device == "gpu") {
    require_nvidia_driver();
    const fs::path folder = fs::absolute(path).parent_path().parent_path().parent_path();
    load_cuda_libraries(folder.string());
  }
  return path;
}

}  // namespace smelt
