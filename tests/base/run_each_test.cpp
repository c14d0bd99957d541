#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "support/error_of.h"

namespace smelt {
namespace {

TEST(RunEach, CallsEachNumberOnce) {
  for (const std::size_t count : {0u, 1u, 3u, 100u})
    for (const int threads : {1, 4, 200}) {
      std::vector<std::atomic<int>> calls(count);
      run_each(count, threads, [&](std::size_t number) { ++calls[number]; });
      for (const auto& call : calls) EXPECT_EQ(call, 1);
    }
}

TEST(RunEach, RunsOneCallPerThreadInParallel) {
  std::barrier meeting(4);  // passed only by four calls at once
  run_each(8, 4, [&](std::size_t) { meeting.arrive_and_wait(); });
}

TEST(RunEach, RethrowsTheErrorOfTheLowestNumber) {
  for (int round = 0; round < 50; ++round) {
    std::barrier meeting(4);
    EXPECT_EQ(error_of<UsageError>([&] {
                run_each(100, 4, [&](std::size_t number) {
                  if (number < 4) meeting.arrive_and_wait();
                  if (number % 3 == 2) throw UsageError(str("number ", number));
                });
              }),
              "number 2");
  }
}

}  // namespace
}  // namespace smelt
