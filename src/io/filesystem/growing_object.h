// A log on an object store, which cannot append: a separate thread rewrites the whole object, so
// that adding never waits for the store.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"

namespace smelt {

// Thread-safe.
class GrowingObject {
 public:
  // Continues an object that holds `begin`. If `begin` is empty, the object is created when bytes
  // are added.
  GrowingObject(std::string path, std::string_view begin);
  // Writes what the object lacks; a failure is logged.
  ~GrowingObject();
  GrowingObject(const GrowingObject&) = delete;
  GrowingObject& operator=(const GrowingObject&) = delete;

  // Writes the object at most once in this many seconds, and in ten times as long as the last
  // writing took, so that a growing log does not use the whole network.
  void write_every(double seconds);
  double every() const;
  // The bytes added so far.
  std::size_t bytes() const;
  // Appends bytes. A failure to write them is logged once and retried.
  void add(std::string_view bytes);
  // Nothing more is added: what the object lacks is written at once, and after a failure again,
  // until it is written or the destructor's last attempt. Returns at once; the bytes held in memory
  // go when all is written.
  void complete();
  // Returns when all that was added is in the object; throws why that could not be written.
  void flush();

 private:
  void run();
  void write(std::unique_lock<std::mutex>& lock);
  void tell(std::string_view what_follows) const;
  Clock::time_point due() const;

  const std::string path_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string whole_;
  std::size_t written_;  // bytes of it that the object holds
  double every_ = 0, took_ = 0;
  Clock::time_point last_;               // when the last writing ended; at first long ago
  std::exception_ptr failure_;           // of the last writing
  std::uint64_t begun_ = 0, asked_ = 0;  // writings: the newest; the newest that flush() waits for
  bool told_ = false, complete_ = false, ended_ = false;
  std::jthread writing_;  // last: it uses the others
};

}  // namespace smelt
