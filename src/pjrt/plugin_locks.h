// Files of requirements/, as text; CMake writes plugin_locks.cpp from plugin_locks.cpp.in.
#pragma once

#include <string_view>

namespace smelt {

extern const std::string_view kGpuLock, kTpuLock, kWheelSizes;

}  // namespace smelt
