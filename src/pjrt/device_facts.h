// Properties of a device in a client or a topology.
#pragma once

#include <tuple>

#include "pjrt/plugin.h"

namespace smelt::pjrt {

// Identifies a device among those of all processes.
struct DeviceFacts {
  int id = 0, process = 0, slice = 0;

  // Sort key for an order on which all processes agree. Ids alone are not enough: on a slice of
  // four hosts the first host may have ids 0 to 3 and 8 to 11.
  auto order() const { return std::tuple(slice, process, id); }
};

// Reads the properties from the plugin.
DeviceFacts facts_of(const Plugin& plugin, pjrt_abi::DeviceDescription* description);

}  // namespace smelt::pjrt
