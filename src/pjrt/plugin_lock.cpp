#include "pjrt/plugin_lock.h"

#include <map>
#include <sstream>

#include "base/error.h"
#include "base/nearest_name.h"

namespace smelt::pjrt {

std::vector<Wheel> parse_plugin_lock(std::string_view lock, std::string_view sizes) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> size_of;
  std::istringstream size_lines{std::string(sizes)};
  std::string name, version;
  for (std::int64_t download = 0, unpacked = 0;
       size_lines >> name >> version >> download >> unpacked;)
    size_of[str(name, "==", version)] = {download, unpacked};

  std::vector<Wheel> wheels;
  std::istringstream lines{std::string(lock)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find("==");
    const bool begins = !line.empty() && line[0] != ' ' && line[0] != '#';
    if (begins) {
      CHECK(end != std::string::npos, "lock: ", line);
      const std::string pin = line.substr(0, line.find(' '));
      const auto size = size_of.find(pin);
      CHECK(size != size_of.end(), "no size for ", pin);
      wheels.push_back({.name = pin.substr(0, end),
                        .version = pin.substr(end + 2),
                        .requirement = {},
                        .download_bytes = size->second.first,
                        .unpacked_bytes = size->second.second});
    }
    if (!wheels.empty()) wheels.back().requirement += line + "\n";
  }
  return wheels;
}

std::optional<std::string> other_version(const std::vector<Wheel>& wheels, std::string_view file) {
  std::map<std::string, std::string> versions;
  std::istringstream lines{std::string(file)};
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t end = line.find("=="); end != std::string::npos)
      versions[line.substr(0, end)] = line.substr(end + 2, line.find(' ') - end - 2);
  for (const Wheel& wheel : wheels) {
    const std::string& found = versions[wheel.name];
    if (found != wheel.version)
      return str(wheel.name, " ", found.empty() ? "missing" : found, ", expected ", wheel.version);
  }
  return std::nullopt;
}

std::vector<Wheel> plugin_wheels(std::string_view device) {
  if (device == "gpu") return parse_plugin_lock(kGpuLock, kWheelSizes);
  if (device == "tpu") return parse_plugin_lock(kTpuLock, kWheelSizes);
  if (device == "cpu")
    throw UsageError("setup: the plugin of device cpu is installed by scripts/build",
                     "use --device cpu without smelt setup");
  const std::vector<std::string> known{"gpu", "tpu"};
  throw UsageError(str("setup: unknown device '", device, "', expected gpu or tpu"),
                   did_you_mean(device, known));
}

}  // namespace smelt::pjrt
