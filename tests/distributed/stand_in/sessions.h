// Tracks which processes of the pod are connected. A generation begins when all have joined.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <vector>

#include "distributed/stand_in/gangs.h"

namespace smelt::stand_in {

class Sessions {
 public:
  // `fail_after`: seconds from the death of a process until all calls of the others fail; if
  // negative, these calls never end.
  Sessions(const PodLayout& layout, Gangs& gangs, int fail_after)
      : layout_(layout), gangs_(gangs), fail_after_(fail_after) {}

  // Waits until all processes have joined and those of the previous generation are gone. Returns
  // the number of the new generation. Throws Failed if the number of processes is wrong, if this
  // process is already waiting, or if it disconnects while it waits.
  std::uint64_t come(int started_as, int processes, const std::function<bool()>& is_gone);
  // `well`: the process has sent bye.
  void go(int started_as, std::uint64_t generation, bool well);
  void require(std::uint64_t generation);

 private:
  void begin_if_all_came();

  PodLayout layout_;
  Gangs& gangs_;
  int fail_after_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> coming_, here_;
  std::uint64_t generation_ = 0;
};

}  // namespace smelt::stand_in
