// What a machine must have before the plugin of a device is loaded, and what such a plugin needs
// loaded before it. Without it libtpu and CUDA wait for minutes or end with words of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// find_plugin(device), checked and ready to be loaded. A plugin that a SMELT_…_PLUGIN variable
// names and that is not called as libtpu or the CUDA plugin knows what it needs: nothing is done
// for it.
std::string ready_plugin(std::string_view device);

// Where to look for a machine's devices.
struct Machine {
  std::string dev = "/dev";
  std::string driver = "libcuda.so.1";  // NVIDIA's
};

// Whether a TPU or GPU, or a plugin of another name that stands for one, is on this machine.
bool is_here(const std::string& device, const Machine& machine = {});

// The device that a user's word names. `auto` is the TPU, else the GPU, that is on this machine,
// else the CPU. Which is logged in one line if it is not the CPU; one without its plugin is warned
// of and not taken. A plugin of another name in a SMELT_…_PLUGIN variable counts as its device.
std::string chosen_device(const std::string& word, const Machine& machine = {});

// A warning when the plugin is one that an earlier `smelt setup` has fetched, by other pins than
// this program's.
void warn_of_other_version(std::string_view device, const std::string& plugin);

// UsageError unless `dev` holds a TPU: accel0, accel1 …, or vfio/0, vfio/1 ….
void require_tpu(const std::string& dev = "/dev");

// UsageError unless the NVIDIA driver's library can be loaded.
void require_nvidia_driver(const std::string& library = "libcuda.so.1");

// Adds to LIBTPU_INIT_ARGS, which libtpu reads when it is loaded, that launches which differ
// between devices end with an error that says so instead of a halted core. Whoever chose already,
// chose.
void ask_for_launch_barrier();

// Loads the CUDA libraries that lie in `folder`, laid out as site-packages, so that the plugin and
// cuDNN, which open them by name, find these. Those of a list that are there, in its order; returns
// their paths. One that cannot be loaded is warned of.
std::vector<std::string> load_cuda_libraries(const std::string& folder);

}  // namespace smelt
