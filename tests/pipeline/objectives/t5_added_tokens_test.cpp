// Tests of tokens that were added to a T5's pieces, compared with transformers' T5TokenizerFast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/t5_questions.h"
#include "runs/golden_t5.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "text/tokenizers/segmenter.h"
#include "text/tokenizers/sentinels.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::pipeline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

class T5AddedTokens : public testing::Test {
 protected:
  T5AddedTokens() { io::write_file(vocab_, golden_t5_vocabulary()); }
  void list_tokens(const std::string& decoder) const {
    io::write_file(dir_.file("tokenizer_config.json"),
                   str(R"({"added_tokens_decoder": )", decoder, "}"));
  }
  static execution::GenerateJob job_of(const std::string& vocab, std::int64_t rows = 64) {
    model::T5Config config;
    config.vocab_size = rows;
    return t5_generate_job(config, vocab, {}, 4);
  }

  TempDir dir_;
  const std::string vocab_ = dir_.file("spiece.model");
};

TEST_F(T5AddedTokens, AreNotSplitByASegmentCommand) {
  list_tokens(R"({"60": {"content": "covid"}})");
  const Ids split = job_of(vocab_).encode("a b covid a b");
  const std::string command = "sed -u 's/[a-z]/& /g'";
  text::store_segment_command(vocab_, command);
  EXPECT_THAT(error_of<UsageError>([&] { (void)job_of(vocab_).encode("ab"); }),
              HasSubstr("smelt does not run unless you allow it"));
  text::allow_segment_command(command);
  EXPECT_EQ(job_of(vocab_).encode("abcovidab"), split);
  EXPECT_EQ(std::ranges::count(split, 60), 1);
}

TEST_F(T5AddedTokens, HaveTheIdsOfTransformers) {
  REQUIRE_ORACLE();
  const CommandOutput made = run_oracle(str(
      source_path("tests/pipeline/objectives/t5_added_tokens.py "), vocab_, " ", dir_.file("out")));
  ASSERT_EQ(made.status, 0) << made.text;
  const Json found = Json::parse(io::read_file(dir_.file("out/ids.json")));
  const auto texts = found["texts"].get<std::vector<std::string>>();
  for (const auto& [name, ids] : found["ids"].items()) {
    const bool is_json = name.ends_with("-json");
    const std::string vocab =
        dir_.file(str("out/", name, is_json ? "/tokenizer.json" : "/spiece.model"));
    const std::string copy = dir_.file(str("copy/", name, "/spiece.model"));
    io::write_file(copy, text::sentencepiece_model(vocab));
    io::write_file(dir_.file(str("copy/", name, "/tokenizer_config.json")),
                   text::config_beside_copy(vocab));
    EXPECT_EQ(text::vocabulary_crc32c(copy), text::vocabulary_crc32c(vocab)) << name;
    for (const std::string& path : {vocab, copy})
      for (std::size_t i = 0; i < texts.size(); ++i)
        EXPECT_EQ(job_of(path).encode(texts[i]), ids[i].get<Ids>()) << path << ": " << texts[i];
  }
}

TEST_F(T5AddedTokens, AreReadFromBothFilesAndDecoded) {
  list_tokens(R"({"1": {"content": "</s>"}, "30": {"content": "[EVENT]", "special": true}})");
  io::write_file(dir_.file("added_tokens.json"), R"({"<extra_id_3>": 17, "covid": 31})");
  const execution::GenerateJob job = job_of(vocab_);
  EXPECT_THAT(job.encode("[EVENT]covid"), ElementsAre(30, 31, job.end));
  for (const char* text : {"a bad covid cab", "a[EVENT] bed", "abcovid"})
    EXPECT_EQ(job.decode(job.encode(text)), text);
}

TEST_F(T5AddedTokens, AreRejectedBeyondTheEmbeddingRows) {
  list_tokens(R"({"30": {"content": "[EVENT]"}})");
  EXPECT_THAT(
      error_of<UsageError>([&] { job_of(vocab_, 30); }),
      HasSubstr("spiece.model: the added token '[EVENT]' has id 30, the model has 30 rows of "
                "embeddings (vocab_size)\n  hint: add rows with transformers'"));
  EXPECT_THAT(job_of(vocab_, 31).encode("[EVENT]"), testing::Contains(30));
}

// A model whose sentinels have increasing instead of decreasing ids.
TEST_F(T5AddedTokens, KeepTheIdsOfSentinels) {
  list_tokens(R"({"30": {"content": "<extra_id_0>"}, "31": {"content": "<extra_id_1>"}})");
  const execution::GenerateJob job = job_of(vocab_);
  EXPECT_THAT(job.encode("<extra_id_1><extra_id_0>"), ElementsAre(31, 30, job.end));
  EXPECT_EQ(job.decode(Ids{31}), "<extra_id_1>");
}

TEST_F(T5AddedTokens, OverrideIdsOfUncountedSentinels) {
  EXPECT_EQ(text::sentinels_on_top(20, 128, {}), 100);
  EXPECT_EQ(text::sentinels_on_top(20, 64, {}), 44);
  EXPECT_EQ(
      text::sentinels_on_top(20, 128, {{.id = 24, .content = "a"}, {.id = 3, .content = "b"}}), 4);
}

}  // namespace
}  // namespace smelt::pipeline
