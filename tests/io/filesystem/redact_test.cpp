#include "io/credentials/redact.h"

#include <gtest/gtest.h>

namespace smelt::io {
namespace {

TEST(FitForMessage, HidesPercentEncodedSecrets) {
  EXPECT_EQ(fit_for_message("a=pass/word&b=pass%2Fword", {Secret("pass/word")}),
            "a=[secret]&b=[secret]");
}

// A search for one that the replacement contains must end.
TEST(FitForMessage, AcceptsSecretsThatTheReplacementContains) {
  EXPECT_EQ(fit_for_message("secret, secrets", {Secret("secret"), Secret("s")}),
            "[secret], [secret]s");
}

}  // namespace
}  // namespace smelt::io
