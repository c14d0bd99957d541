#include "runtime/host_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace smelt {
namespace {

using After = CopyMemory::After;

// Of this process, as the kernel counts.
std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

TEST(CopyMemory, AKeptBlockServesTheNextCopyOfItsSize) {
  constexpr std::size_t kSize = 12'345'677;
  CopyMemory::Block block = CopyMemory::take(kSize, After::kept);
  std::byte* const before = block.get();
  std::fill_n(before, kSize, std::byte{7});
  block.reset();
  EXPECT_NE(CopyMemory::take(kSize + 1, After::kept).get(), before);
  block = CopyMemory::take(kSize, After::kept);
  EXPECT_EQ(block.get(), before);
  EXPECT_NE(CopyMemory::take(kSize, After::kept).get(), before);  // which is taken
}

TEST(CopyMemory, AFreedBlockIsTheSystemsAgain) {
  constexpr std::size_t kSize = std::size_t{1} << 30;
  const std::size_t before = mapped_bytes();
  CopyMemory::Block block = CopyMemory::take(kSize, After::freed);
  EXPECT_GE(mapped_bytes(), before + kSize);
  block.reset();
  EXPECT_LT(mapped_bytes(), before + kSize / 2);
}

TEST(CopyMemory, OfNothingIsABlock) { EXPECT_NE(CopyMemory::take(0, After::kept), nullptr); }

}  // namespace
}  // namespace smelt
