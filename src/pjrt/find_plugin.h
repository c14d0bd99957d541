// Finds the PJRT plugin of a device.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::pjrt {

// Returns the path of the plugin for `device` (cpu, gpu or tpu): the value of the environment
// variable SMELT_CPU_PLUGIN, SMELT_GPU_PLUGIN or SMELT_TPU_PLUGIN if it is set, otherwise the first
// plugin found in plugin_folders(). Throws UsageError if the device is unknown or its plugin is not
// installed.
std::string find_plugin(std::string_view device);

// Returns the value of the device's variable, such as SMELT_CPU_PLUGIN, or nullopt if it is unset
// or empty. Throws UsageError if the file does not exist.
std::optional<std::string> chosen_plugin(std::string_view device);

// Returns the folders, laid out like Python's site-packages, that are searched for the plugin of a
// program in `folder`: lib/smelt of an installed program, the folder of `smelt setup`, the
// site-packages that contain the program, and the .venv folders at and above the program, in this
// order.
std::vector<std::string> plugin_folders(const std::string& folder, std::string_view device);

// Returns the folder in an XDG base directory variable if it is absolute, otherwise ~/<below_home>.
// Returns nullopt if neither is known.
std::optional<std::string> user_folder(const char* variable, std::string_view below_home);

// Returns the folder of `smelt setup`: $XDG_DATA_HOME/smelt/<device> or
// ~/.local/share/smelt/<device>. Returns nullopt if neither is known.
std::optional<std::string> setup_folder(std::string_view device);

// Returns the plugin's path relative to one of plugin_folders(), for example "libtpu/libtpu.so".
// Throws UsageError if the device is unknown.
std::string plugin_file(std::string_view device);

}  // namespace smelt::pjrt
