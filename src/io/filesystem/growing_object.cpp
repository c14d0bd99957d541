#include "io/filesystem/growing_object.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "io/filesystem/file.h"

namespace smelt::io {
namespace {

constexpr double kShareOfTime =
    10;  // pauses are at least this many times as long as the last write took
constexpr double kLeastPause = 1;  // seconds, after a failure

}  // namespace

GrowingObject::GrowingObject(std::string path, std::string_view begin)
    : path_(std::move(path)),
      whole_(begin),
      written_(begin.size()),
      last_(begin.empty() ? Clock::time_point() : Clock::now()),
      writing_([this] { run(); }) {}

GrowingObject::~GrowingObject() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  writing_.join();
  if (written_ < whole_.size()) tell("is incomplete: its last bytes were not written");
}

void GrowingObject::write_every(double seconds) {
  const std::lock_guard lock(mutex_);
  every_ = seconds;
}

double GrowingObject::every() const {
  const std::lock_guard lock(mutex_);
  return every_;
}

std::size_t GrowingObject::bytes() const {
  const std::lock_guard lock(mutex_);
  return whole_.size();
}

void GrowingObject::add(std::string_view bytes) {
  {
    const std::lock_guard lock(mutex_);
    whole_ += bytes;
  }
  changed_.notify_all();
}

void GrowingObject::complete() {
  {
    const std::lock_guard lock(mutex_);
    complete_ = true;
    asked_ = begun_ + 1;
  }
  changed_.notify_all();
}

void GrowingObject::flush() {
  std::unique_lock lock(mutex_);
  const std::size_t wanted = whole_.size();
  const std::uint64_t next = asked_ = begun_ + 1;  // the current write may lack the latest bytes
  changed_.notify_all();
  changed_.wait(lock, [&] { return written_ >= wanted || (begun_ >= next && failure_); });
  if (written_ < wanted) std::rethrow_exception(failure_);
}

Clock::time_point GrowingObject::due() const {
  const double every = complete_ ? 0 : every_;
  const double pause = std::max({every, kShareOfTime * took_, failure_ ? kLeastPause : 0.0});
  return last_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(pause));
}

void GrowingObject::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ended_ || complete_ || written_ < whole_.size(); });
    if (written_ == whole_.size()) break;
    if (last_ != Clock::time_point())
      changed_.wait_until(lock, due(), [&] { return ended_ || asked_ > begun_; });
    const bool is_last = ended_;
    write(lock);
    if (is_last) return;
  }
  whole_ = std::string();  // frees its memory
}

void GrowingObject::write(std::unique_lock<std::mutex>& lock) {
  const std::string whole = whole_;
  ++begun_;
  failure_ = nullptr;
  lock.unlock();
  const auto start = Clock::now();
  std::exception_ptr failure;
  try {
    write_file(path_, whole);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  took_ = seconds_since(start);
  last_ = Clock::now();
  failure_ = failure;
  if (!failure) {
    written_ = whole.size();
    told_ = false;
  } else if (asked_ != begun_ && !ended_ && !std::exchange(told_, true)) {
    tell("will be written again later");
  }
  changed_.notify_all();
}

void GrowingObject::tell(std::string_view what_follows) const try {
  std::rethrow_exception(failure_);
} catch (const std::exception& error) {
  log_warning("{}\n  {} {}", error.what(), path_, what_follows);
}

}  // namespace smelt::io
