#include "cli/options/pod_flags.h"

#include <gtest/gtest.h>

#include "pjrt/plugin.h"

namespace smelt::cli {
namespace {

bool is_lost(int code, const char* text) {
  return is_lost_peer(pjrt::PjrtError(text, static_cast<pjrt_abi::ErrorCode>(code)));
}

TEST(PodFlags, TpuInUseIsNotALostPeer) {
  constexpr int kInternal = 13, kAborted = 10, kUnavailable = 14;
  EXPECT_TRUE(is_lost(kAborted, "The program was aborted."));
  EXPECT_TRUE(is_lost(kUnavailable, "Connection reset by peer"));
  EXPECT_FALSE(is_lost(kInternal, "The program was aborted."));
  EXPECT_FALSE(is_lost(kAborted, "The TPU is already in use by process with pid 7."));
  EXPECT_FALSE(is_lost(kAborted, "Internal error when accessing libtpu multi-process lockfile."));
}

}  // namespace
}  // namespace smelt::cli
