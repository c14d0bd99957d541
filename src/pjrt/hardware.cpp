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

namespace smelt::pjrt {
namespace {

namespace fs = std::filesystem;

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return '0' <= c && c <= '9'; });
}

// Returns whether the folder contains a file named by the prefix and a number.
bool has_numbered_file(const fs::path& folder, std::string_view prefix) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && is_number(std::string_view(name).substr(prefix.size())))
      return true;
  }
  return false;
}

// The CUDA libraries that the plugin needs, each after the libraries it depends on. JAX loads the
// same list for this plugin.
constexpr std::array kCudaLibraries{
    "cu13/lib/libcudart.so.13",   "cu13/lib/libnvrtc.so.13",          "cu13/lib/libnvJitLink.so.13",
    "cu13/lib/libcublasLt.so.13", "cu13/lib/libcublas.so.13",         "cu13/lib/libcusparse.so.12",
    "cu13/lib/libcusolver.so.12", "cu13/lib/libcufft.so.12",          "cu13/lib/libcupti.so.13",
    "nccl/lib/libnccl.so.2",      "nvshmem/lib/libnvshmem_host.so.3", "cudnn/lib/libcudnn.so.9"};

// Returns whether the plugin has the default file name of the device's plugin. `chosen` is nullopt
// if the user named no plugin.
bool is_default_plugin(const std::optional<std::string>& chosen, std::string_view device) {
  return !chosen || fs::path(*chosen).filename() == fs::path(plugin_file(device)).filename();
}

bool has_tpu(const std::string& dev) {
  return has_numbered_file(dev, "accel") || has_numbered_file(fs::path(dev) / "vfio", "");
}

// Returns whether both an NVIDIA device file and the driver library exist: a container without a
// GPU may still have the library.
bool has_gpu(const Machine& machine) {
  return has_numbered_file(machine.dev, "nvidia") &&
         ::dlopen(machine.driver.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
}

}  // namespace

bool is_here(const std::string& device, const Machine& machine) {
  if (!is_default_plugin(chosen_plugin(device), device)) return true;
  return device == "tpu" ? has_tpu(machine.dev) : has_gpu(machine);
}

std::string chosen_device(const std::string& name, const Machine& machine) {
  if (name != "auto") return name;
  for (const std::string device : {"tpu", "gpu"}) {
    if (!is_here(device, machine)) continue;
    try {
      log_info("device {}: found, using plugin {} (--device cpu to use the CPU)", device,
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
  throw UsageError(str("device tpu: no TPU on this machine; searched ", dev,
                       "/accel0, accel1 … and ", dev, "/vfio/0, 1 …"),
                   "run on a TPU VM, or use --device cpu");
}

void require_nvidia_driver(const std::string& library) {
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return;
  throw UsageError(str("device gpu: no NVIDIA driver on this machine: ", ::dlerror()),
                   "install the NVIDIA driver 580 or newer, or use --device cpu");
}

void enable_launch_barrier() {
  constexpr const char* kVariable = "LIBTPU_INIT_ARGS";
  const std::string option = "--xla_tpu_use_enhanced_launch_barrier";
  const char* current = std::getenv(kVariable);
  std::string arguments = current == nullptr ? "" : current;
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
    log_warning("device {}: {} contains {}; run `smelt setup {}` to update it", device, *folder,
                *other, device);
}

std::string ready_plugin(std::string_view device) {
  const bool is_default = is_default_plugin(chosen_plugin(device), device);
  // checked first: without a TPU, installing libtpu would not help
  if (is_default && device == "tpu") require_tpu();
  const std::string path = find_plugin(device);
  if (is_default) warn_of_other_version(device, path);
  if (is_default && device == "gpu") {
    require_nvidia_driver();
    const fs::path folder = fs::absolute(path).parent_path().parent_path().parent_path();
    load_cuda_libraries(folder.string());
  }
  return path;
}

}  // namespace smelt::pjrt
