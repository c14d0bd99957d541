// Which process has which devices, as on a real pod: neither are a process's ids one after another,
// nor is its number to the runtime the one that it was started by.
#pragma once

#include <string_view>
#include <vector>

namespace smelt::stand_in {

struct PodLayout {
  int processes = 1, devices_each = 1;
  // In rows of ids, instead of a v2-32's (libtpu's topology v2:4x4): two processes share a row of
  // trays, 0-3 and 8-11 of the one, 4-7 and 12-15 of the other.
  bool in_rows = false;

  int devices() const { return processes * devices_each; }
  // The runtime's number of the process that was started as this one.
  int index_of(int started_as) const { return processes - 1 - started_as; }
  // By the runtime's number.
  int process_of(int id) const {
    if (in_rows) return id / devices_each;
    const int pair = id / (2 * devices_each), in_pair = id % (2 * devices_each);
    if (2 * pair + 1 >= processes) return 2 * pair;  // the last of an odd number
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
