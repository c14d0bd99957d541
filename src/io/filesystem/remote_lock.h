// A lock on a folder of an object store. Arrow offers no "create if absent", but stores are
// strongly consistent: each process writes its own object into <folder>/smelt.lock/, and holds the
// lock if it sees no other object there.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/filesystem/lock_owner.h"

namespace smelt {

inline constexpr const char* kLockName = "smelt.lock";

// How long a holder goes without renewing its object; without which it counts as gone, by the
// store's clock, which dates them all; and how often others look at it.
struct LockTimes {
  double renew_seconds = 30, stale_seconds = 120, look_seconds = 0.5;
};

// Who holds the lock of a folder, by the words that it is written with; nothing where nobody does
// or the holder was not heard of for `times.stale_seconds` by this machine's clock.
std::optional<std::string> remote_worker(const std::string& folder, const LockTimes& times = {});

class RemoteLock {
 public:
  // UsageError beginning with `where` when another process holds it, and when the folder may not be
  // written to. What is stale is removed with a warning; a holder of another machine is waited for
  // until it renews its object or is stale, so that a job is not refused for its own killed one.
  RemoteLock(const std::string& folder, const std::string& where, LockTimes times);
  ~RemoteLock();
  RemoteLock(const RemoteLock&) = delete;
  RemoteLock& operator=(const RemoteLock&) = delete;

  // Checks the lock in the store. Throws SystemError if another process has taken it over, which is
  // allowed if this process did not renew it.
  void require_held() const;
  void require_held_now();

 private:
  enum class Claim { made, held };
  enum class Others { none, undecided };
  void write(Claim claim) const;
  struct OtherClaim {
    std::string name, path;
    std::int64_t renewed = 0;  // nanoseconds by the store's clock
    double age = 0;            // seconds since then
  };
  std::vector<OtherClaim> other_claims() const;
  void wait_for_others();
  Others look_at_others();
  bool is_alive(const OtherClaim& other, const LockOwner& owner, bool held);
  [[noreturn]] void refuse(const LockOwner& owner, double age);
  void give_up() const;
  bool is_held_by_another() const;
  void look();
  void renew();

  std::string folder_, where_, name_, path_;
  LockTimes times_;
  LockOwner owner_ = LockOwner::this_process();
  std::map<std::string, std::int64_t> first_renewed_;  // of other holders, when first seen
  std::atomic<bool> lost_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::jthread renewing_;
};

}  // namespace smelt
