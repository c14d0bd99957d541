// What tests need and a machine may lack: the plugin of a device ("cpu", "tpu"), the oracles
// ("oracle"), a headless browser ("browser"), OpenSSH's server ("sshd"). Without it they are
// skipped, unless the environment's SMELT_REQUIRE, a list like "cpu,tpu,oracle", names it: then
// they fail. scripts/test names all that it installs.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

namespace smelt {

// Whether SMELT_REQUIRE names the need. UsageError when it names an unknown one.
bool is_required(std::string_view need);

}  // namespace smelt

// Ends the test: `need` is missing, for a reason that says how to get it.
#define SKIP_OR_FAIL_WITHOUT(need, reason)                                                        \
  return GTEST_MESSAGE_("", ::smelt::is_required(need) ? ::testing::TestPartResult::kFatalFailure \
                                                       : ::testing::TestPartResult::kSkip)        \
         << "no '" << (need) << "': " << reason
