// Who is there: the processes of a pod come, all of them, and go.
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
  // `fail_after`: so many seconds after one has died all calls of the others fail; negative: they
  // never end.
  Sessions(const PodLayout& layout, Gangs& gangs, int fail_after)
      : layout_(layout), gangs_(gangs), fail_after_(fail_after) {}

  // Waits until all of them have come, those of before being gone, and gives the generation's
  // number. Failed when the number of processes is another, this one is here already, or has gone
  // while it waited.
  std::uint64_t come(int started_as, int processes, const std::function<bool()>& is_gone);
  // `well`: it has said so before.
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
