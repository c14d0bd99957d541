// How a test steers the fake plugin and sees what is alive in it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pjrt/pjrt_abi.h"

namespace smelt {

struct FakeControl {
  // The `fail_at`-th call (from 1) of this function since reset() fails with the text; "" = none
  // does.
  std::string fail_function;
  int fail_at = 1;
  // The same for the event that the call makes: the call succeeds, awaiting the event fails.
  bool fail_late = false;
  std::string fail_text;
  pjrt::ErrorCode fail_code = pjrt::ErrorCode::unknown;
  bool donate_first = false;  // execute() consumes argument 0
  // Clients made from now on are the last of so many processes. Ids go round among the processes,
  // and a program lists its devices backwards.
  int processes = 1;

  std::vector<int> launches;         // their numbers
  std::string stored, stored_after;  // what a client read of its store when it was made, and then
  std::string compile_options;       // of the last program

  std::map<std::string, int> calls;  // by function
  std::map<std::string, int> made;   // events, by the function that made them
  std::map<std::string, int> live;   // objects, by kind

  void reset() { *this = FakeControl(); }
};

// Exported by the fake plugin beside GetPjrtApi.
using FakeControlFunction = FakeControl* (*)();
using FakeApiFunction = pjrt::Api* (*)();

}  // namespace smelt
