#include "distributed/stand_in/sessions.h"

#include <chrono>
#include <thread>

namespace smelt::stand_in {

void Sessions::begin_if_all_came() {
  if (std::ssize(coming_) < layout_.processes || !here_.empty()) return;
  here_.swap(coming_);
  ++generation_;
  gangs_.begin_anew();
  changed_.notify_all();
}

std::uint64_t Sessions::come(int started_as, int processes, const std::function<bool()>& is_gone) {
  std::unique_lock lock(mutex_);
  if (processes != layout_.processes || started_as < 0 || started_as >= processes)
    throw Failed{{pjrt_abi::ErrorCode::unknown, str("process ", started_as, " of ", processes,
                                                    " came to a pod of ", layout_.processes)}};
  if (!coming_.insert(started_as).second)
    throw Failed{
        {pjrt_abi::ErrorCode::already_exists, str("process ", started_as, " is there twice")}};
  const std::uint64_t before = generation_;
  begin_if_all_came();
  while (generation_ == before) {
    changed_.wait_for(lock, std::chrono::milliseconds(50));
    if (generation_ != before || !is_gone()) continue;
    coming_.erase(started_as);
    throw Failed{{pjrt_abi::ErrorCode::unavailable, "gone"}};
  }
  return generation_;
}

void Sessions::go(int started_as, std::uint64_t generation, bool well) {
  const std::lock_guard lock(mutex_);
  if (generation != generation_) return;
  here_.erase(started_as);
  begin_if_all_came();
  if (well || here_.empty() || fail_after_ < 0) return;
  std::thread([this, started_as, generation] {
    std::this_thread::sleep_for(std::chrono::seconds(fail_after_));
    const std::lock_guard lock(mutex_);
    if (generation == generation_ && !here_.empty())
      gangs_.fail({pjrt_abi::ErrorCode::unavailable,
                   str("SliceBuilder controller missed 3 gRPC heartbeats from task ", started_as)});
  }).detach();
}

void Sessions::require(std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (generation != generation_)
    throw Failed{{pjrt_abi::ErrorCode::unavailable, "the pod began anew"}};
}

}  // namespace smelt::stand_in
