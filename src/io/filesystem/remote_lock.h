// A lock on a folder of an object store. Arrow offers no conditional writes, but writes are
// immediately visible. So each process writes its own object, its claim, to <folder>/smelt.lock/,
// and holds the lock if it sees no other claim there.
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

namespace smelt::io {

inline constexpr const char* kLockName = "smelt.lock";

// Timing of a lock: the renewal interval, the age after which a lock that was not renewed is stale
// (by the store's clock), and the polling interval of other processes.
struct LockTimes {
  double renew_seconds = 30, stale_seconds = 120, look_seconds = 0.5;
};

// Returns a description of the holder of a folder's lock, or nullopt if it is free or was not
// renewed for `times.stale_seconds` by this machine's clock.
std::optional<std::string> remote_worker(const std::string& folder, const LockTimes& times = {});

class RemoteLock {
 public:
  // Acquires the lock. Throws UsageError, whose message begins with `where`, if another process
  // holds it or the folder is not writable. Removes a stale lock with a warning. Waits until a
  // holder on another machine either renews its lock or becomes stale, so that a restarted job is
  // not refused because of its killed predecessor.
  RemoteLock(const std::string& folder, const std::string& where, LockTimes times);
  ~RemoteLock();
  RemoteLock(const RemoteLock&) = delete;
  RemoteLock& operator=(const RemoteLock&) = delete;

  // Throw SystemError if another process has taken the lock, which can happen if this one did not
  // renew it in time. require_held() does not access the store.
  void require_held() const;
  void require_held_now();

 private:
  enum class Claim { made, held };
  enum class Others { none, undecided };
  void write(Claim claim) const;
  struct OtherClaim {
    std::string name, path;
    std::int64_t renewed = 0;  // in nanoseconds of the store's clock
    double age = 0;            // seconds since the renewal
  };
  std::vector<OtherClaim> other_claims() const;
  void wait_for_others();
  Others read_other_locks();
  bool is_alive(const OtherClaim& other, const LockOwner& owner, bool held);
  [[noreturn]] void refuse(const LockOwner& owner, double age);
  void give_up() const;
  bool is_held_by_another() const;
  void look();
  void renew();

  std::string folder_, where_, name_, path_;
  LockTimes times_;
  LockOwner owner_ = LockOwner::this_process();
  std::map<std::string, std::int64_t>
      first_renewed_;  // renewal times of other holders when first seen
  std::atomic<bool> lost_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::jthread renewing_;
};

}  // namespace smelt::io
