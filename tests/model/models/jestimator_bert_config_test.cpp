#include "model/models/jestimator_bert_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_of.h"

namespace smelt::model {
namespace {

using testing::HasSubstr;

std::string jestimator_refusal(const std::function<void(JestimatorBertConfig&)>& change) {
  JestimatorBertConfig c{.vocab_size = 32000};
  change(c);
  return error_of<UsageError>([&] {
    check_jestimator_bert_config(c, [](const std::string& field) { return "at " + field; });
  });
}

TEST(JestimatorBertConfig, RejectsInvalidValues) {
  EXPECT_EQ(jestimator_refusal([](auto&) {}), "no error");
  EXPECT_EQ(jestimator_refusal([](auto& c) { c.variant = "ropes"; }),
            "at variant: variant is 'ropes'\n  hint: did you mean 'rope'?");
  EXPECT_THAT(jestimator_refusal([](auto& c) { c.vocab_size = 0; }),
              HasSubstr("at vocab_size: vocab_size is 0, must be at least 1"));
  EXPECT_THAT(jestimator_refusal([](auto& c) { c.relative_attention_max_distance = 0; }),
              HasSubstr("relative_attention_max_distance is 0, must be at least 1"));
  EXPECT_THAT(jestimator_refusal([](auto& c) { c.num_heads = 7; }),
              HasSubstr("at hidden_size: hidden_size 768 is not a multiple of num_heads 7"));
  EXPECT_THAT(
      jestimator_refusal([](auto& c) { c.variant = "rope", c.num_heads = 256; }),
      HasSubstr("hidden_size 768 over num_heads 256 gives heads of size 3, must be even for rope"));
  EXPECT_EQ(jestimator_refusal([](auto& c) { c.num_heads = 256; }), "no error");
  EXPECT_EQ(jestimator_refusal([](auto& c) { c.mlp_act = "gellu"; }),
            "at mlp_act: mlp_act is 'gellu'\n  hint: did you mean 'gelu'?");
  EXPECT_THAT(jestimator_refusal([](auto& c) { c.hidden_dropout_rate = 1; }),
              HasSubstr("at hidden_dropout_rate: hidden_dropout_rate is 1, must be in [0, 1)"));
  EXPECT_THAT(jestimator_refusal([](auto& c) { c.attention_dropout_rate = -0.5; }),
              HasSubstr("attention_dropout_rate is -0.5, must be in [0, 1)"));
  EXPECT_THAT(jestimator_refusal([](auto& c) { c.initializer_range = -1; }),
              HasSubstr("initializer_range is -1, must be a finite number of at least 0"));
  EXPECT_THAT(jestimator_refusal([](auto& c) { c.layer_norm_eps = HUGE_VAL; }),
              HasSubstr("layer_norm_eps is inf, must be a finite number of at least 0"));
}

}  // namespace
}  // namespace smelt::model
