// DeBERTa's sizes: rejected values, and the rows of relative positions.
#include "model/models/deberta_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::model {

using testing::HasSubstr;
namespace {

TEST(DebertaPositions, RowsOfAllDistancesMatchTheReference) {
  const Json all = Json::parse(io::read_file(source_path("tests/golden/deberta_rows.json")));
  for (const Json& want : all.elements()) {
    const DebertaConfig c{.position_buckets = want["position_buckets"],
                          .max_relative_positions = want["max_relative_positions"]};
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 1 - c.max_relative_positions; i < c.max_relative_positions; ++i)
      rows.push_back(relative_row(c, i));
    EXPECT_EQ(Json(rows), want["rows"]) << c.position_buckets;
  }
}

std::string deberta_refusal(const Json& changes) {
  Json config{{"vocab_size", 29}, {"hidden_size", 16}, {"num_attention_heads", 2}};
  config.update(changes);
  return error_of<UsageError>([&] { parse_encoder("deberta", config, "c"); });
}

TEST(DebertaConfig, ValuesOutOfRangeAreRefused) {
  EXPECT_EQ(deberta_refusal(Json::object()), "no error");
  EXPECT_THAT(deberta_refusal({{"pooler_hidden_act", "gelu_"}}),
              HasSubstr("c: pooler_hidden_act is 'gelu_'\n  hint: did you mean 'gelu'?"));
  EXPECT_THAT(deberta_refusal({{"norm_rel_ebd", "rms"}}),
              HasSubstr("c: norm_rel_ebd is 'rms', must be layer_norm or none\n  hint: released"));
  EXPECT_THAT(deberta_refusal({{"pos_att_type", "p2p"}}),
              HasSubstr("c: pos_att_type is 'p2p', must be p2c|c2p, c2p or p2c\n  hint: released"));
  EXPECT_THAT(deberta_refusal({{"layer_norm_eps", 0.0}}),
              HasSubstr("c: layer_norm_eps is 0, must be above 0\n  hint: 1e-7 is usual"));
  EXPECT_THAT(deberta_refusal({{"pooler_dropout", 1.0}}),
              HasSubstr("c: pooler_dropout is 1, must be in [0, 1)\n  hint: 0 is usual"));
  EXPECT_THAT(deberta_refusal({{"embedding_size", -1}}),
              HasSubstr("c: embedding_size is -1, must be at least 0\n  hint: 0 makes"));
  EXPECT_THAT(deberta_refusal({{"position_buckets", 2}}),
              HasSubstr("c: position_buckets is 2, must be at least 4 and below 2 * (the largest "
                        "distance 512 - 1)\n  hint: released models have 256 buckets"));
  EXPECT_THAT(deberta_refusal({{"max_relative_positions", 100}}),
              HasSubstr("c: position_buckets is 256, must be at least 4 and below 2 * (the largest "
                        "distance 100 - 1)"));
}

}  // namespace
}  // namespace smelt::model
