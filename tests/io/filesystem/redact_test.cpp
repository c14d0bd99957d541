#include "io/credentials/redact.h"

#include <gtest/gtest.h>

namespace smelt::io {
namespace {

TEST(FitForMessage, HidesPercentEncodedSecrets) {
  EXPECT_EQ(fit_for_message("a=pass/word&b=pass%2Fword", {Secret("pass/word")}),
            "a=[secret]&b=[secret]");
}

// The search must end even if the replacement contains the secret.
TEST(FitForMessage, AcceptsSecretsThatTheReplacementContains) {
  EXPECT_EQ(fit_for_message("secret, secrets", {Secret("secret"), Secret("s")}),
            "[secret], [secret]s");
}

}  // namespace
}  // namespace smelt::io
