// The batches of consecutive steps, read ahead on other threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "data/input_pipeline/example_source.h"

namespace smelt {

struct PrefetchOptions {
  HostShare share;
  // Batches read or being read beyond the one in use; 0: 2, for files that are not local 16.
  int depth = 0;
  int threads = 0;  // 0: as many as the depth
};

// The same batches for any depth and number of threads. The source must outlive it. SystemError
// when the threads cannot be started.
class Prefetch {
 public:
  Prefetch(const ExampleSource& source, std::int64_t batch_size, std::uint64_t first_step,
           PrefetchOptions options = {});
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // Of the next step, throwing what its reading threw.
  Batch next();

 private:
  using Result = std::variant<Batch, std::exception_ptr>;
  void work();
  void stop();
  Result read(std::uint64_t step) const;

  const ExampleSource& source_;
  std::int64_t batch_size_;
  PrefetchOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_, claimed_;  // steps: to be handed out, to be read
  std::map<std::uint64_t, Result> ready_;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace smelt
