// Where the PJRT plugin of a kind of device lies.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smelt {

// `device`: cpu, gpu or tpu. The variable SMELT_CPU_PLUGIN (…GPU…, …TPU…) first, then the .venv
// folders beside and above the running program. UsageError with a hint when there is none, or no
// such device.
std::string find_plugin(std::string_view device);

// The search of .venv folders alone: `folder` and all above it. nullopt when the plugin is in none.
std::optional<std::string> find_plugin_above(const std::string& folder, std::string_view device);

}  // namespace smelt
