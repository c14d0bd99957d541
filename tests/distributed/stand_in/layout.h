// Assigns devices to processes as a real pod does: the ids of a process's devices are not
// consecutive, and the runtime's index of a process differs from the number that it was started
// with.
#pragma once

#include <string_view>
#include <vector>

namespace smelt::stand_in {

struct PodLayout {
  int processes = 1, devices_each = 1;
  // If true, each process has consecutive device ids. If false, the layout is that of a v2-32
  // (libtpu's topology v2:4x4), in which two processes share a row of trays: one has devices 0-3
  // and 8-11, the other 4-7 and 12-15.
  bool in_rows = false;

  int devices() const { return processes * devices_each; }
  // Returns the runtime's index of the process that was started with this number.
  int index_of(int started_as) const { return processes - 1 - started_as; }
  // Returns the runtime's index of the process that owns this device.
  int process_of(int id) const {
    if (in_rows) return id / devices_each;
    const int pair = id / (2 * devices_each), in_pair = id % (2 * devices_each);
    if (2 * pair + 1 >= processes) return 2 * pair;  // the last process of an odd number
    const int block = devices_each % 2 == 0 ? devices_each / 2 : 1;
    return 2 * pair + in_pair / block % 2;
  }
  std::vector<int> ids_of(int process) const {
    std::vector<int> ids;
    for (int id = 0; id < devices(); ++id)
      if (process_of(id) == process) ids.push_back(id);
    return ids;
  }
};

}  // namespace smelt::stand_in
