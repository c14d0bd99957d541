// Where the PJRT plugin of a kind of device lies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// `device`: cpu, gpu or tpu. The variable SMELT_CPU_PLUGIN (…GPU…, …TPU…) first, then
// plugin_folders(). UsageError with a hint when there is none, or no such device.
std::string find_plugin(std::string_view device);

// What the variable says; nullopt when it is unset or empty. UsageError when there is no such file.
std::optional<std::string> chosen_plugin(std::string_view device);

// The folders, laid out as Python's site-packages, that may hold the plugin for a program in
// `folder`, in the order in which they are searched: lib/smelt beside an installed program, what
// `smelt setup` made, the site-packages of which the program is part, the .venv folders at and
// above the program.
std::vector<std::string> plugin_folders(const std::string& folder, std::string_view device);

// What the variable of the XDG base directories says, if that is absolute, else ~/<below_home>;
// nullopt when the environment names neither.
std::optional<std::string> user_folder(const char* variable, std::string_view below_home);

// What `smelt setup` makes: $XDG_DATA_HOME/smelt/<device>, or ~/.local/share/smelt/<device>.
// nullopt when the environment names neither folder.
std::optional<std::string> setup_folder(std::string_view device);

// The plugin's path in such a folder, e.g. "libtpu/libtpu.so". UsageError for an unknown device.
std::string plugin_file(std::string_view device);

}  // namespace smelt
