#include "execution/inference/span_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_of.h"

namespace smelt::execution {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

// Uses character codes as ids.
SpanJob letters() {
  SpanJob job{.model = {}, .encode = {}, .decode = {}, .end = 1, .sentinel = 999, .sentinels = 2};
  job.encode = [](std::string_view text) { return Ids(text.begin(), text.end()); };
  return job;
}

TEST(SpanSampler, ReplacesMasksBySentinels) {
  const TokenRow row = span_row(letters(), "a[MASK]bc[MASK]");
  EXPECT_THAT(row.ids, ElementsAre('a', 999, 'b', 'c', 998, 1));
  EXPECT_THAT(row.positions, ElementsAre(1, 4));
  EXPECT_EQ(error_of<UsageError>([] { span_row(letters(), "abc"); }),
            "fill: no [MASK] in 'abc'\n  hint: put [MASK] where words are missing");
  EXPECT_EQ(error_of<UsageError>([] { span_row(letters(), "[MASK][MASK][MASK]"); }),
            "fill: more than 2 [MASK] in '[MASK][MASK][MASK]'\n  hint: the vocabulary has no more "
            "sentinels; split the text");
}

TEST(SpanSampler, SplitsGeneratedIdsAtSentinels) {
  const auto spans = [](const Ids& answer) { return spans_of(letters(), 2, answer); };
  EXPECT_THAT(spans({999, 'x', 'y', 998, 'z', 1, 'q'}), ElementsAre(Ids{'x', 'y'}, Ids{'z'}));
  EXPECT_THAT(spans({'w', 998, 'z', 999, 'x'}), ElementsAre(Ids{'x'}, Ids{'z'}));
  EXPECT_THAT(spans({999, 'x', 0, 'y', 1}), ElementsAre(Ids{'x', 'y'}, Ids{}));
  EXPECT_THAT(spans({999, 1}), ElementsAre(Ids{}, Ids{}));
}

}  // namespace
}  // namespace smelt::execution
