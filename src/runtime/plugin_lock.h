// The wheels that make up a device's plugin, by version, hash and size: requirements/gpu.lock and
// tpu.lock with requirements/wheel_sizes.txt, as they were when the program was built.
#pragma once

#include <cstdint>
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

// Of "gpu" or "tpu". UsageError for another device.
std::vector<Wheel> plugin_wheels(std::string_view device);

}  // namespace smelt
