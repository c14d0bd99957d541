// The pinned wheels of a device's plugin with versions, hashes and sizes. They come from
// requirements/gpu.lock, tpu.lock and wheel_sizes.txt at build time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::pjrt {

// The contents of files in requirements/. CMake generates their definitions from
// plugin_locks.cpp.in.
extern const std::string_view kGpuLock, kTpuLock, kWheelSizes;

// One pinned Python wheel.
struct Wheel {
  std::string name, version;                            // "libtpu", "0.0.51"
  std::string requirement;                              // its lines in the lock, with pip's hashes
  std::int64_t download_bytes = 0, unpacked_bytes = 0;  // on x86_64
};

// Parses a lock file into its wheels, in file order. `sizes` must have an entry for every wheel.
std::vector<Wheel> parse_plugin_lock(std::string_view lock, std::string_view sizes);

// The file in a folder of `smelt setup` that lists the requirements of its wheels.
inline constexpr std::string_view kWheelsFile = ".wheels";

// Compares the content of a kWheelsFile with the pinned wheels. Returns the first difference, for
// example "libtpu 0.0.40, expected 0.0.51", or nullopt if there is none.
std::optional<std::string> other_version(const std::vector<Wheel>& wheels, std::string_view file);

// Returns the pinned wheels for "gpu" or "tpu". Throws UsageError for another device.
std::vector<Wheel> plugin_wheels(std::string_view device);

}  // namespace smelt::pjrt
