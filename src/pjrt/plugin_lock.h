// The wheels that make up a device's plugin, by version, hash and size: requirements/gpu.lock and
// tpu.lock with requirements/wheel_sizes.txt, as they were when the program was built.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

struct Wheel {
  std::string name, version;                            // "libtpu", "0.0.51"
  std::string requirement;                              // pip's text for it, with its hashes
  std::int64_t download_bytes = 0, unpacked_bytes = 0;  // on x86_64
};

// In the order of the lock. BugError when a size is missing.
std::vector<Wheel> parse_plugin_lock(std::string_view lock, std::string_view sizes);

// The file in a folder of `smelt setup` that holds the requirements of its wheels.
inline constexpr std::string_view kWheelsFile = ".wheels";

// The first of the wheels that such a file has not in this version: "libtpu 0.0.40, not 0.0.51".
std::optional<std::string> other_version(const std::vector<Wheel>& wheels, std::string_view file);

// Of "gpu" or "tpu". UsageError for another device.
std::vector<Wheel> plugin_wheels(std::string_view device);

}  // namespace smelt
