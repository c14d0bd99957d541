// Freed memory is reused without asking the system, and returned when a program no longer needs it.
#include "pjrt/host_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace smelt::pjrt {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Block = std::unique_ptr<void, Free>;

Block block_of(std::size_t bytes) {
  Block block(std::aligned_alloc(64, bytes));  // as the CPU plugin allocates memory
  std::memset(block.get(), 1, bytes);
  return block;
}

// Returns the page faults of allocating, filling and freeing a block.
std::size_t faults_of_block(std::size_t bytes) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  block_of(bytes);
  getrusage(RUSAGE_SELF, &after);
  return static_cast<std::size_t>(after.ru_minflt - before.ru_minflt);
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * 4096;
}

class HostMemory : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers use a different allocator";
#endif
    keep_freed_memory();
  }
};

// Returns the accepted page faults when a block of this size is reused: 1 % of its pages.
std::size_t few_faults(std::size_t bytes) { return bytes / 4096 / 100 + 2; }

TEST_F(HostMemory, KeepsFreedBlocksOfEverySize) {
  // By default jemalloc unmaps freed blocks of 8 MB and more.
  for (const std::size_t bytes : {9 * kMegabyte, 20 * kMegabyte, 40 * kMegabyte, 256 * kMegabyte}) {
    SCOPED_TRACE(bytes);
    faults_of_block(bytes);
    EXPECT_LE(faults_of_block(bytes), few_faults(bytes));
  }
}

TEST_F(HostMemory, DoesNotSplitLargeBlocksForSmallOnes) {
  faults_of_block(256 * kMegabyte);
  std::vector<std::vector<char>> others;
  for (int i = 0; i < 40; ++i) others.emplace_back(kMegabyte, 'x');
  EXPECT_LE(faults_of_block(256 * kMegabyte), few_faults(256 * kMegabyte));
}

TEST_F(HostMemory, ReturnsFreedMemoryOnRequest) {
  faults_of_block(256 * kMegabyte);
  const std::size_t kept = resident_bytes();
  release_freed_memory();
  EXPECT_LT(resident_bytes(), kept - 200 * kMegabyte);
}

TEST_F(HostMemory, CountsLargeBlocksInUse) {
  const std::size_t before = large_block_bytes();
  {
    const Block large = block_of(2 * kLargeBlockBytes);
    EXPECT_GE(large_block_bytes(), before + 2 * kLargeBlockBytes);
    const Block small = block_of(kLargeBlockBytes / 4);
    EXPECT_LT(large_block_bytes(), before + 3 * kLargeBlockBytes);
  }
  EXPECT_EQ(large_block_bytes(), before);
}

TEST_F(HostMemory, WaitsForBlocksThatAnotherThreadFrees) {
  const std::size_t before = large_block_bytes();
  Block block = block_of(kLargeBlockBytes);
  EXPECT_GT(await_freed_blocks(before, std::chrono::milliseconds(1)), before);
  std::jthread freeing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    block.reset();
  });
  EXPECT_EQ(await_freed_blocks(before, std::chrono::minutes(1)), before);
}

TEST_F(HostMemory, StopsWaitingForLargeBlocksThatAreNeverFreed) {
  using std::chrono::steady_clock;
  TemporariesGuard guard;
  guard.await_freed();
  const Block block = block_of(kLargeBlockBytes);
  const auto begin = steady_clock::now();
  for (int i = 0; i < 3; ++i) guard.await_freed();
  EXPECT_GE(steady_clock::now() - begin, std::chrono::milliseconds(30));
  const auto accepted = steady_clock::now();
  for (int i = 0; i < 1000; ++i) guard.await_freed();
  // no longer waits 10 ms each time
  EXPECT_LT(steady_clock::now() - accepted, std::chrono::seconds(8));
}

}  // namespace
}  // namespace smelt::pjrt
