// Pruned heads, in the configuration of transformers and in that of smelt.
#include "checkpoint/interop/cut_heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_of.h"

namespace smelt::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json encoder() {
  return {{"hidden_size", 24}, {"num_attention_heads", 4}, {"num_hidden_layers", 2}};
}

Json lacking(const Json& gone) {
  Json out = encoder();
  out["pruned_heads"] = gone;
  return out;
}

TEST(PrunedHeads, ConvertsListsToRemainingHeadsAndWidth) {
  const Json left = with_remaining_heads(lacking({{"0", {1, 3}}, {"1", {0, 2}}}), "c");
  EXPECT_EQ(left["num_attention_heads"], 2);
  EXPECT_EQ(left["attention_head_size"], 6);
  EXPECT_FALSE(left.contains("pruned_heads"));
  EXPECT_EQ(with_remaining_heads(encoder(), "c"), encoder());
  EXPECT_EQ(with_remaining_heads(lacking(Json::object()), "c"), lacking(Json::object()));
  EXPECT_EQ(with_remaining_heads(lacking({{"0", Json::array()}}), "c"), encoder());
  // The remaining heads have no record of which ones were pruned, so the last ones are listed.
  EXPECT_EQ(with_heads_listed(left), lacking({{"0", {2, 3}}, {"1", {2, 3}}}));
  EXPECT_EQ(with_heads_listed(encoder()), encoder());
}

TEST(PrunedHeads, KeepsOriginalHeadNumbers) {
  Json config = encoder();
  EXPECT_THAT(remaining_heads(config, 1), ElementsAre(0, 1, 2, 3));
  keep_heads(config, 1, {0, 2, 3});
  EXPECT_THAT(remaining_heads(config, 1), ElementsAre(0, 2, 3));
  keep_heads(config, 1, {1, 2});
  EXPECT_EQ(config["pruned_heads"], Json({{"1", {0, 1}}}));
  keep_heads(config, 0, {2});
  renumber_heads(config, {1});
  EXPECT_EQ(config["pruned_heads"], Json({{"0", {0, 1}}}));
}

TEST(PrunedHeads, RejectsInvalidHeads) {
  const auto refusal = [](const Json& config) {
    return error_of<UsageError>([&] { (void)with_remaining_heads(config, "config.json"); });
  };
  EXPECT_THAT(refusal(lacking({{"0", {1, 3}}, {"1", {0}}})),
              HasSubstr("config.json: pruned_heads leaves layer 0 with 2 heads, but layer 1 with "
                        "3\n  hint: use a model with the same number of heads in every layer"));
  EXPECT_THAT(refusal(lacking({{"1", {0}}})), HasSubstr("leaves layer 0 with 4 heads"));
  EXPECT_THAT(refusal(lacking({{"0", {4}}, {"1", {0}}})),
              HasSubstr("pruned_heads has an invalid list for layer 0, expected heads 0 to 3"));
  EXPECT_THAT(refusal(lacking({{"0", "1"}, {"1", {0}}})),
              HasSubstr("has an invalid list for layer 0"));
  EXPECT_THAT(refusal(lacking({{"0", {1, 1}}, {"1", {0}}})), HasSubstr("has an invalid list"));
  EXPECT_THAT(refusal(lacking({{"0", {0, 1, 2, 3}}, {"1", {0, 1, 2, 3}}})),
              HasSubstr("pruned_heads leaves no head"));
  Json odd = lacking({{"0", {0}}, {"1", {0}}});
  odd["hidden_size"] = 25;
  EXPECT_THAT(refusal(odd), HasSubstr("does not fit num_attention_heads 4 and hidden_size 25"));
  Json wide = encoder();
  wide["attention_head_size"] = 7;
  EXPECT_THAT(
      error_of<UsageError>([&] { (void)with_heads_listed(wide); }),
      HasSubstr(
          "export: transformers cannot represent 4 heads of width 7 with a hidden size of 24"));
}

}  // namespace
}  // namespace smelt::checkpoint
