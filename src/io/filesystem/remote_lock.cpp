#include "io/filesystem/remote_lock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <random>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::io {
namespace {

constexpr std::string_view kHeld = "held\n", kMade = "claimed\n";

std::string random_name() {
  std::random_device random;
  std::array<char, 17> name{};
  std::snprintf(name.data(), name.size(), "%08x%08x", random(), random());
  return name.data();
}

LockOwner owner_in(std::string_view text) {
  return LockOwner::parse(text.substr(text.find('\n') + 1));
}

// Returns the content of a claim (remote_lock.h), or "" if another process has removed it.
std::string text_of_claim(const std::string& path) try {
  return read_file(path, kSmallFileBytes);
} catch (const UsageError&) {
  if (exists(path)) throw;
  return "";
}

}  // namespace

std::optional<std::string> remote_worker(const std::string& folder, const LockTimes& times) {
  const std::string claims = join_path(folder, kLockName);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const std::string& name : list_folder(claims)) {
    const std::string path = join_path(claims, name), text = text_of_claim(path);
    const auto status = file_status(path);
    if (!status || !text.starts_with(kHeld)) continue;
    const auto age = now - std::chrono::nanoseconds(status->modified);
    const LockOwner owner = owner_in(text);
    if (age < std::chrono::duration<double>(times.stale_seconds) && !owner.has_ended())
      return owner.words;
  }
  return std::nullopt;
}

RemoteLock::RemoteLock(const std::string& folder, const std::string& where, LockTimes times)
    : folder_(join_path(folder, kLockName)),
      where_(str(where, ": ", folder)),
      name_(random_name()),
      path_(join_path(folder_, name_)),
      times_(times) {
  write(Claim::made);
  remove_file(path_);  // checks the permission to remove objects, which training needs too
  write(Claim::made);
  try {
    wait_for_others();
    write(Claim::held);
    renewing_ = std::jthread([this] { renew(); });
  } catch (...) {
    give_up();
    throw;
  }
}

RemoteLock::~RemoteLock() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  renewing_.join();
  give_up();
}

void RemoteLock::write(Claim claim) const {
  write_file(path_, str(claim == Claim::held ? kHeld : kMade, owner_.text()));
}

void RemoteLock::give_up() const try { remove_file(path_); } catch (const std::exception& error) {
  log_warning("{}", error.what());
}

// Returns the other processes' claims with their age relative to this process's claim, which was
// just written.
std::vector<RemoteLock::OtherClaim> RemoteLock::other_claims() const {
  const auto now = file_status(path_);
  std::vector<OtherClaim> out;
  for (const std::string& name : list_folder(folder_)) {
    if (name == name_) continue;
    const std::string path = join_path(folder_, name);
    const auto status = file_status(path);
    if (!status) continue;  // removed since it was listed
    const std::int64_t age = now ? now->modified - status->modified : 0;
    out.push_back({name, path, status->modified, static_cast<double>(age) * 1e-9});
  }
  return out;
}

void RemoteLock::wait_for_others() {
  const auto start = Clock::now();
  while (read_other_locks() == Others::undecided) {
    if (seconds_since(start) > 2 * times_.stale_seconds)
      throw UsageError(str(where_, " is being locked by another process"),
                       "stop one of the two, or choose another folder");
    std::this_thread::sleep_for(std::chrono::duration<double>(times_.look_seconds));
    write(Claim::made);
  }
}

// Returns whether the other process takes precedence. If neither holds the lock yet, the claim with
// the lower name wins. A holder on another machine is alive if it renews its lock while this
// process waits.
bool RemoteLock::is_alive(const OtherClaim& other, const LockOwner& owner, bool held) {
  if (!held) return other.name < name_;
  if (owner.is_of_this_machine()) return true;
  const auto [first, is_new] = first_renewed_.emplace(other.name, other.renewed);
  if (is_new)
    log_info("{} is in use by {}: waiting until it renews its lock, or has not renewed it for {} s",
             where_, owner.words, times_.stale_seconds);
  return first->second != other.renewed;
}

RemoteLock::Others RemoteLock::read_other_locks() {
  Others found = Others::none;
  for (const OtherClaim& other : other_claims()) {
    const std::string text = text_of_claim(other.path);
    if (text.empty()) continue;
    const LockOwner owner = owner_in(text);
    if (owner.has_ended() || other.age > times_.stale_seconds) {
      log_warning("{}: removing the lock of {}, {}", where_, owner.words,
                  owner.has_ended() ? std::string("which has ended")
                                    : str("not renewed for ", static_cast<int>(other.age), " s"));
      remove_file(other.path);
      continue;
    }
    if (is_alive(other, owner, text.starts_with(kHeld))) refuse(owner, other.age);
    found = Others::undecided;
  }
  return found;
}

void RemoteLock::refuse(const LockOwner& owner, double age) {
  throw UsageError(str(where_, " is in use by ", owner.words, ", whose lock was renewed ",
                       static_cast<int>(std::max(0.0, age)), " s ago"),
                   "wait for it, stop it, or choose another folder");
}

// Returns whether another process took over the lock, for example just when this one renewed it.
bool RemoteLock::is_held_by_another() const {
  return std::ranges::any_of(other_claims(), [](const OtherClaim& other) {
    return text_of_claim(other.path).starts_with(kHeld);
  });
}

void RemoteLock::look() {
  if (!exists(path_) || is_held_by_another()) lost_ = true;
}

void RemoteLock::renew() {
  const auto pause = std::chrono::duration<double>(times_.renew_seconds);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, pause, [this] { return ended_; })) {
    lock.unlock();
    try {
      look();
      if (!lost_) write(Claim::held);
    } catch (const std::exception& error) {
      log_warning("{}: the lock could not be renewed: {}", where_, error.what());
    }
    if (lost_) return;
    lock.lock();
  }
}

void RemoteLock::require_held_now() {
  look();
  require_held();
}

void RemoteLock::require_held() const {
  if (lost_)
    throw SystemError(str(where_,
                          ": another process has locked this folder, because this one did not "
                          "renew its lock for more than ",
                          times_.stale_seconds, " s"),
                      "stop one of the two processes; checkpoints saved before are valid");
}

}  // namespace smelt::io
