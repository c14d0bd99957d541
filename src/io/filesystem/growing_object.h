// A log on an object store. Objects cannot be appended to, so a separate thread rewrites the whole
// object, and add() never waits for the store.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"

namespace smelt::io {

// Thread-safe.
class GrowingObject {
 public:
  // Creates an object with the content `begin`. An empty object is not created until bytes are
  // added.
  GrowingObject(std::string path, std::string_view begin);
  // Writes the pending bytes. A failure is logged.
  ~GrowingObject();
  GrowingObject(const GrowingObject&) = delete;
  GrowingObject& operator=(const GrowingObject&) = delete;

  // Sets the minimum interval between writes in seconds. The interval is also at least ten times as
  // long as the last write took, to limit network use.
  void write_every(double seconds);
  double every() const;
  // Returns the number of bytes added so far.
  std::size_t bytes() const;
  // Adds bytes. Failed writes are logged once and retried.
  void add(std::string_view bytes);
  // Completes the object: writes pending bytes at once and retries until that succeeds or the
  // destructor makes its last attempt. Returns immediately. The memory is freed once everything is
  // written.
  void complete();
  // Waits until all added bytes are in the object. Throws if they cannot be written.
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
  std::size_t written_;  // bytes that the stored object has
  double every_ = 0, took_ = 0;
  Clock::time_point last_;      // when the last write ended
  std::exception_ptr failure_;  // error of the last write
  std::uint64_t begun_ = 0;     // number of the latest write
  std::uint64_t asked_ = 0;     // number of the latest write that flush() requested
  bool told_ = false, complete_ = false, ended_ = false;
  std::jthread writing_;  // declared last, because it uses the other members
};

}  // namespace smelt::io
