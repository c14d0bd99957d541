// If threads fail, stop early or cannot be started, no other thread waits forever and the error is
// thrown.
#include "base/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/error_of.h"
#include "support/thread_limit.h"

namespace smelt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RunParallel, CallsTheBodyOncePerWorker) {
  std::vector<std::atomic<int>> calls(7);
  run_parallel(7, [&](int worker) { ++calls[static_cast<std::size_t>(worker)]; });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
  run_parallel(0, [](int) { FAIL(); });
}

TEST(RunParallel, WaitsForAllWorkersAndRethrowsTheFirstError) {
  std::atomic<int> ended = 0;
  std::latch failed(1);
  const auto body = [&](int worker) {
    if (worker == 2) {
      failed.count_down();
      throw UsageError("the first");
    }
    failed.wait();
    ++ended;
  };
  EXPECT_EQ(error_of<UsageError>([&] { run_parallel(4, body); }), "the first");
  EXPECT_EQ(ended, 3);
}

TEST(RunParallel, CallsTheStopFunctionIfAWorkerFails) {
  BoundedQueue<int> queue(1);
  const auto body = [&](int worker) {
    if (worker == 0) throw std::runtime_error("no more");
    while (queue.pop()) {
    }
  };
  EXPECT_THROW(run_parallel(3, body, [&] { queue.close(); }), std::runtime_error);
}

TEST(RunParallel, ThrowsIfAThreadCannotBeStarted) {
  BoundedQueue<int> queue(1);
  std::atomic<int> began = 0;
  const auto body = [&](int worker) {
    ++began;
    if (worker == 3) return queue.close();  // never started, so it cannot release the others
    while (queue.pop()) {
    }
  };
  const ThreadLimit limit(2);
  EXPECT_THAT(error_of<SystemError>([&] { run_parallel(4, body, [&] { queue.close(); }); }),
              HasSubstr("threads: no more can be started: Resource temporarily unavailable\n"
                        "  hint: raise the limit of processes"));
  EXPECT_EQ(began, 2);
}

TEST(RunAsync, ReturnsTheResultOrThrowsIfNoThreadCanBeStarted) {
  EXPECT_EQ(run_async([text = std::string("moved")] { return text; }).get(), "moved");
  const ThreadLimit none(0);
  EXPECT_THAT(error_of<SystemError>([] { run_async([] {}); }),
              HasSubstr("threads: no more can be started"));
}

TEST(BoundedQueue, ReturnsItemsInOrderThenNothingOnceClosed) {
  BoundedQueue<std::unique_ptr<int>> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.push(std::make_unique<int>(i)));
  queue.close();
  EXPECT_FALSE(queue.push(std::make_unique<int>(3)));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(**queue.pop(), i);
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, HoldsNoMoreThanItsCapacity) {
  BoundedQueue<int> queue(2);
  std::atomic<int> pushed = 0, most = 0;
  int popped = 0;
  std::jthread pusher([&] {
    for (int i = 0; i < 1000; ++i) {
      queue.push(i);
      ++pushed;
    }
    queue.close();
  });
  for (std::optional<int> item; (item = queue.pop()); ++popped) {
    EXPECT_EQ(*item, popped);
    most = std::max(most.load(), pushed - popped);
  }
  EXPECT_EQ(popped, 1000);
  EXPECT_LE(most, 3);  // two in the queue and the one just popped
}

TEST(BoundedQueue, CloseWakesWaitingReadersAndWriters) {
  BoundedQueue<int> full(1), empty(1);
  full.push(0);
  std::vector<std::jthread> waiting;
  std::atomic<int> refused = 0, ended = 0;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back([&] { refused += full.push(1) ? 0 : 1; });
    waiting.emplace_back([&] { ended += empty.pop() ? 0 : 1; });
  }
  full.close();
  empty.close();
  waiting.clear();
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(full.pop(), 0);  // a closed queue still returns its items
  EXPECT_EQ(full.pop(), std::nullopt);
}

TEST(BoundedQueue, CloseByTheReaderStopsTheWriter) {
  BoundedQueue<int> queue(2);
  int pushed = 0;
  run_parallel(2, [&](int worker) {
    if (worker == 0) {
      while (queue.push(pushed)) ++pushed;
      return;
    }
    for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.pop(), i);
    queue.close();
  });
  EXPECT_GE(pushed, 5);
  EXPECT_LE(pushed, 7);
}

TEST(OrderedGate, AdmitsThreadsInOrder) {
  OrderedGate turnstile;
  std::atomic<std::size_t> next = 0;
  std::vector<std::size_t> passed;
  run_parallel(4, [&](int) {
    for (std::size_t i; (i = next++) < 200;) {
      ASSERT_TRUE(turnstile.wait(i));
      passed.push_back(i);
      turnstile.leave(i);
    }
  });
  ASSERT_EQ(passed.size(), 200u);
  EXPECT_TRUE(std::ranges::is_sorted(passed));
}

TEST(OrderedGate, StopWakesWaitingThreads) {
  OrderedGate turnstile;
  std::atomic<int> stopped = 0;
  const auto body = [&](int worker) {
    if (worker == 0) throw UsageError("the piece of work before all others");
    stopped += turnstile.wait(static_cast<std::size_t>(worker)) ? 0 : 1;
  };
  EXPECT_THAT(error_of([&] { run_parallel(4, body, [&] { turnstile.stop(); }); }),
              HasSubstr("the piece of work"));
  EXPECT_EQ(stopped, 3);
  EXPECT_FALSE(turnstile.wait(0));
}

}  // namespace
}  // namespace smelt
