// Reads the batches of consecutive steps in background threads.
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
#include "data/input_pipeline/pack.h"

namespace smelt::data {

struct PrefetchOptions {
  HostShare share;
  // Number of batches to read ahead of the current one. 0 means 2 for local files and 16 otherwise.
  int depth = 0;
  int threads = 0;  // 0: same as depth
  // If set, each host reads whole batches and returns its part, packed if possible (Batch::packed).
  std::optional<PackingPlan> packing = {};
};

// Prefetches batches. The result does not depend on depth and threads. The source must outlive this
// object. Throws SystemError if the threads cannot be started.
class Prefetch {
 public:
  Prefetch(const ExampleSource& source, std::int64_t batch_size, std::uint64_t first_step,
           PrefetchOptions options = {});
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // Returns the batch of the next step. Rethrows errors of the reading thread.
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
  std::uint64_t next_, claimed_;  // the next step to return, and the next step to read
  std::map<std::uint64_t, Result> ready_;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace smelt::data
