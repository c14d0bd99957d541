#include "data/input_pipeline/prefetch.h"

#include <algorithm>
#include <exception>

#include "base/error.h"
#include "io/filesystem/path.h"

namespace smelt::data {
namespace {

// A remote read has a long latency but needs little CPU.
constexpr int kLocalDepth = 2, kRemoteDepth = 16;

bool is_local(const ExampleSource& source) {
  return std::ranges::none_of(source.files(), io::is_remote);
}

}  // namespace

Prefetch::Prefetch(const ExampleSource& source, std::int64_t batch_size, std::uint64_t first_step,
                   PrefetchOptions options)
    : source_(source),
      batch_size_(batch_size),
      options_(options),
      next_(first_step),
      claimed_(first_step) {
  CHECK(options.depth >= 0 && options.threads >= 0, options.depth);
  if (options_.depth == 0) options_.depth = is_local(source) ? kLocalDepth : kRemoteDepth;
  if (options_.threads == 0) options_.threads = options_.depth;
  try {
    for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::exception& error) {
    stop();  // waits for the threads that were started
    throw SystemError(str("prefetch: thread ", threads_.size() + 1, " of ", options_.threads,
                          " cannot be started: ", error.what()),
                      "raise the limits on threads and memory (ulimit -u, ulimit -v)");
  }
}

Prefetch::~Prefetch() { stop(); }

void Prefetch::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void Prefetch::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] {
      return stopped_ || claimed_ < next_ + static_cast<std::uint64_t>(options_.depth);
    });
    if (stopped_) return;
    const std::uint64_t step = claimed_++;
    lock.unlock();
    Result result = read(step);
    lock.lock();
    ready_.emplace(step, std::move(result));
    changed_.notify_all();
  }
}

Prefetch::Result Prefetch::read(std::uint64_t step) const {
  try {
    if (!options_.packing) return source_.batch(step, batch_size_, options_.share);
    return packed_part(source_.batch(step, batch_size_), source_.features(), *options_.packing,
                       options_.share);
  } catch (...) {
    return std::current_exception();
  }
}

Batch Prefetch::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ready_.contains(next_); });
  Result result = std::move(ready_.extract(next_).mapped());
  ++next_;
  changed_.notify_all();
  lock.unlock();
  if (const auto* error = std::get_if<std::exception_ptr>(&result)) std::rethrow_exception(*error);
  return std::get<Batch>(std::move(result));
}

}  // namespace smelt::data
