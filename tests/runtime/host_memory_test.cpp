// What is freed is there again without the system being asked.
#include "runtime/host_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace smelt {
namespace {

constexpr std::size_t kBlock = 256 << 20, kPages = kBlock / 4096;

struct Free {
  void operator()(void* p) const { std::free(p); }
};

// Pages that the system had to give for a block of temporaries.
std::size_t faults_of_a_block() {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  {
    // As the CPU plugin asks for them.
    const std::unique_ptr<void, Free> block(std::aligned_alloc(64, kBlock));
    std::memset(block.get(), 1, kBlock);
  }
  getrusage(RUSAGE_SELF, &after);
  return static_cast<std::size_t>(after.ru_minflt - before.ru_minflt);
}

TEST(HostMemory, ABlockThatWasFreedIsKeptWhole) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have an allocator of their own";
#endif
  keep_freed_memory();
  faults_of_a_block();
  // Smaller ones are not cut out of it.
  std::vector<std::vector<char>> others;
  for (int i = 0; i < 40; ++i) others.emplace_back(1 << 20, 'x');
  EXPECT_LT(faults_of_a_block(), kPages / 100);
}

}  // namespace
}  // namespace smelt
