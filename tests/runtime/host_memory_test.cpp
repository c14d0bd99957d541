// Freed memory is reused without asking the system, and returned when a program no longer needs it.
#include "runtime/host_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace smelt {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Block = std::unique_ptr<void, Free>;

Block block_of(std::size_t bytes) {
  Block block(std::aligned_alloc(64, bytes));  // as the CPU plugin allocates
  std::memset(block.get(), 1, bytes);
  return block;
}

// Page faults of allocating, filling and freeing a block.
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
    GTEST_SKIP() << "sanitizers have an allocator of their own";
#endif
    keep_freed_memory();
  }
};

TEST_F(HostMemory, KeepsFreedBlocksOfEverySize) {
  // jemalloc by itself returns blocks of 8 MB and more, and gives the largest to an arena that purges.
  for (const std::size_t megabytes : {9, 20, 40, 100, 256}) {
    SCOPED_TRACE(megabytes);
    faults_of_block(megabytes * kMegabyte);
    // Smaller blocks are not cut out of it.
    std::vector<std::vector<char>> others;
    for (int i = 0; i < 8; ++i) others.emplace_back(kMegabyte, 'x');
    EXPECT_LE(faults_of_block(megabytes * kMegabyte), megabytes * kMegabyte / 4096 / 100 + 2);
  }
}

TEST_F(HostMemory, ReturnsFreedMemoryOnRequest) {
  faults_of_block(256 * kMegabyte);
  const std::size_t kept = resident_bytes();
  release_freed_memory();
  EXPECT_LT(resident_bytes(), kept - 200 * kMegabyte);
}

TEST_F(HostMemory, CountsLargeBlocksThatAreInUse) {
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
  EXPECT_GT(await_freed_blocks(before), before);  // gives up after 10 ms
  std::jthread freeing([&] { block.reset(); });
  std::size_t left = before + 1;
  for (int i = 0; i < 1000 && left > before; ++i) left = await_freed_blocks(before);
  EXPECT_EQ(left, before);
}

}  // namespace
}  // namespace smelt
