// Skips tests if this machine lacks something they need: the plugin of a device ("cpu", "tpu"), the
// oracles ("oracle"), the environment for the Python package's tests ("python"), a headless browser
// ("browser"), OpenSSH's server ("sshd"). If the environment variable SMELT_REQUIRE, a list such as
// "cpu,tpu,oracle", contains the need, the tests fail instead. scripts/test sets it to everything
// that it installs.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

namespace smelt {

// Returns true if SMELT_REQUIRE contains the need. Throws UsageError if SMELT_REQUIRE has an
// unknown one.
bool is_required(std::string_view need);

}  // namespace smelt

// Ends the test because `need` is missing; `reason` explains how to get it.
#define SKIP_OR_FAIL_WITHOUT(need, reason)                                                        \
  return GTEST_MESSAGE_("", ::smelt::is_required(need) ? ::testing::TestPartResult::kFatalFailure \
                                                       : ::testing::TestPartResult::kSkip)        \
         << "no '" << (need) << "': " << reason
