// Checks of the machine before a plugin is loaded, and libraries that must be loaded before it.
// Without the checks libtpu and CUDA wait for minutes or fail with unhelpful messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt::pjrt {

// Returns find_plugin(device) after checking the machine and loading the libraries that the plugin
// needs. Skips the checks and the loading if SMELT_TPU_PLUGIN or SMELT_GPU_PLUGIN is the path of a
// file that does not have the plugin's default file name. Throws UsageError if the hardware, the
// driver or the plugin is missing.
std::string ready_plugin(std::string_view device);

// Paths that are searched for devices.
struct Machine {
  std::string dev = "/dev";
  std::string driver = "libcuda.so.1";  // NVIDIA driver
};

// Returns whether this machine has the device, a TPU or GPU. Also returns true if the device's
// SMELT_…_PLUGIN variable is the path of a file that does not have the plugin's default file name,
// because smelt does not know what hardware such a plugin needs.
bool is_here(const std::string& device, const Machine& machine = {});

// Returns the device for a value of --device. "auto" selects the TPU of this machine, else its GPU,
// else the CPU; it logs a chosen TPU or GPU, and skips a device with a warning if its plugin is not
// installed.
std::string chosen_device(const std::string& name, const Machine& machine = {});

// Logs a warning if `smelt setup` installed the plugin and one of its wheels has another version
// than this program expects.
void warn_of_other_version(std::string_view device, const std::string& plugin);

// Throws UsageError unless `dev` contains a TPU device: accel0, accel1 …, or vfio/0, vfio/1 ….
void require_tpu(const std::string& dev = "/dev");

// Throws UsageError unless the library of the NVIDIA driver can be loaded.
void require_nvidia_driver(const std::string& library = "libcuda.so.1");

// Sets an option in LIBTPU_INIT_ARGS that makes mismatched launches on several devices fail with an
// error instead of a halted core. Call it before libtpu is loaded. An existing setting is kept.
void enable_launch_barrier();

// Loads the CUDA libraries in `folder`, laid out like site-packages, so that the plugin and cuDNN,
// which open them by name, find these versions. Returns the paths of the loaded libraries. Logs a
// warning if one cannot be loaded.
std::vector<std::string> load_cuda_libraries(const std::string& folder);

}  // namespace smelt::pjrt
