// What a plugin says of a device, be it a client's or a topology's.
#pragma once

#include <tuple>

#include "pjrt/plugin.h"

namespace smelt {

struct DeviceFacts {
  int id = 0, process = 0, slice = 0;

  // Ascending, it gives an order that all processes agree on. Ids alone do not: on a slice of four
  // hosts the first of them may have 0 to 3 and 8 to 11.
  auto order() const { return std::tuple(slice, process, id); }
};

DeviceFacts facts_of(const Plugin& plugin, pjrt::DeviceDescription* description);

}  // namespace smelt
