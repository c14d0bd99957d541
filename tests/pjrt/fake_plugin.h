// Controls the fake plugin and reports its live objects.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pjrt/pjrt_abi.h"

namespace smelt::pjrt {

struct FakeControl {
  // The `fail_at`-th call (from 1) of this function since reset() fails with the text; "": no call
  // fails.
  std::string fail_function;
  int fail_at = 1;
  // Like above, but the call succeeds, and awaiting the event that it creates fails.
  bool fail_late = false;
  std::string fail_text;
  pjrt_abi::ErrorCode fail_code = pjrt_abi::ErrorCode::unknown;
  bool donate_first = false;  // execute() donates argument 0
  // Number of processes; new clients belong to the last one. Ids alternate among the processes, and
  // a program lists its devices in reverse order.
  int processes = 1;

  std::vector<int> launches;  // launch numbers
  // what a client read from its store during and after its creation
  std::string stored, stored_after;
  std::string compile_options;  // of the latest program

  std::map<std::string, int> calls;  // by function name
  std::map<std::string, int> made;   // events by the function that created them
  std::map<std::string, int> live;   // objects by kind

  void reset() { *this = FakeControl(); }
};

// Exported by the fake plugin in addition to GetPjrtApi.
using FakeControlFunction = FakeControl* (*)();
using FakeApiFunction = pjrt_abi::Api* (*)();

}  // namespace smelt::pjrt
