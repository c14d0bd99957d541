// Folders of sentence-transformers: embeddings computed from folders of two versions
// (tools/golden_sentence_transformers.py), and folders that are refused.
#include "checkpoint/interop/sentence_transformers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/interop/convert.h"
#include "io/filesystem/file.h"
#include "pipeline/objectives/pretrained_model.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

using checkpoint::sentence_transformers_form;
using testing::HasSubstr;

class SentenceTransformersFolder : public testing::TestWithParam<const char*> {
 protected:
  std::string folder() const {
    return source_path(str("tests/golden/sentence_transformers/", GetParam()));
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, SentenceTransformersFolder, testing::Values("v3", "v6"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(SentenceTransformersFolder, HasTheSameEmbeddingsInSmelt) {
  SMELT_OPEN_CPU(client, 1);
  const Json golden = Json::parse(io::read_file(folder() + "/embeddings.json"));
  const auto texts = golden["texts"].get<std::vector<std::string>>();
  const auto got = PretrainedModel::load(folder()).text_embedder(2).embed(texts);
  ASSERT_EQ(got.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (std::size_t j = 0; j < got.width; ++j)
      EXPECT_NEAR(got.row(i)[j], golden["embeddings"][i][j].get<double>(), 1e-5) << texts[i];
}

TEST_P(SentenceTransformersFolder, StatesItsForm) {
  const bool is_old = GetParam() == std::string("v3");
  EXPECT_EQ(sentence_transformers_form(folder()),
            (io::EmbeddingForm{.pooling = is_old ? io::Pooling::mean : io::Pooling::cls,
                               .normalize = is_old,
                               .seq_length = 12}));
}

TEST_P(SentenceTransformersFolder, PackedEmbeddingsEqualPaddedOnesInAnyOrder) {
  SMELT_OPEN_CPU(client, 1);
  const PretrainedModel model = PretrainedModel::load(folder());
  execution::Embedder packed = model.embedder(4), padded = model.embedder(4);
  std::vector<std::vector<std::int32_t>> texts;
  for (std::int32_t i = 0; i < 40; ++i)  // of 3 to 12 tokens, sorted by length
    texts.emplace_back(static_cast<std::size_t>(3 + i / 4), 5 + i % 30);
  for (int order = 0; order < 2; ++order) {
    const execution::EmbeddingRows got = packed.embed(texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const execution::EmbeddingRows want = padded.embed(std::span(texts).subspan(i, 1));
      for (std::size_t j = 0; j < got.width; ++j)
        EXPECT_NEAR(got.row(i)[j], want.row(0)[j], 1e-5) << order << ' ' << i;
    }
    std::ranges::reverse(texts);
  }
}

class SentenceTransformersModules : public testing::Test {
 protected:
  void write(const std::string& modules, const std::string& pooling = "{}") const {
    io::write_file(dir_.file("modules.json"), modules);
    io::write_file(dir_.file("1_Pooling/config.json"), pooling);
  }
  std::string refusal() const {
    return error_of<UsageError>([&] { sentence_transformers_form(dir_.path()); });
  }
  static std::string modules(const std::string& last) {
    return R"([{"path": "", "type": "sentence_transformers.models.Transformer"},)"
           R"( {"path": "1_Pooling", "type": "sentence_transformers.models.)" +
           last + "\"}]";
  }
  TempDir dir_;
};

TEST_F(SentenceTransformersModules, WarnsOfAPromptThatSmeltDoesNotAdd) {
  write(modules("Pooling"), R"({"pooling_mode": "mean"})");
  const CapturedLog log;
  sentence_transformers_form(dir_.path());
  EXPECT_EQ(log.text(), "");
  io::write_file(dir_.file("config_sentence_transformers.json"),
                 R"({"prompts": {"query": "q: "}, "default_prompt_name": "query"})");
  sentence_transformers_form(dir_.path());
  EXPECT_THAT(log.text(), HasSubstr("sentence-transformers puts the prompt 'query' before each"));
}

TEST_F(SentenceTransformersModules, ThatLowercaseTextsNeedATokenizerThatDoesSo) {
  write(modules("Pooling"), R"({"pooling_mode": "mean"})");
  io::write_file(dir_.file("sentence_bert_config.json"), R"({"do_lower_case": true})");
  io::write_file(dir_.file("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  EXPECT_EQ(refusal(), "no error");
  io::write_file(dir_.file("tokenizer_config.json"), "{}");
  EXPECT_EQ(refusal(), "no error");  // lowercasing is BERT's default
  io::write_file(dir_.file("tokenizer_config.json"), R"({"do_lower_case": false})");
  EXPECT_THAT(refusal(),
              HasSubstr("sentence_bert_config.json: do_lower_case is true, but the "
                        "tokenizer keeps capitals; smelt does not lowercase texts before "
                        "the tokenizer\n  hint: set do_lower_case to false there"));
  io::write_file(dir_.file("tokenizer_config.json"), R"({"do_lower_case": true})");
  EXPECT_EQ(refusal(), "no error");
}

TEST_F(SentenceTransformersModules, OfACrossEncoderAreNotAnEmbeddingModel) {
  const std::string folder = source_path("tests/golden/cross_encoder/v6");
  EXPECT_EQ(sentence_transformers_form(folder), std::nullopt);
  const checkpoint::Converted converted = checkpoint::convert_checkpoint(
      {.from = folder, .to = dir_.file("hf"), .form = checkpoint::ModelForm::hugging_face});
  EXPECT_THAT(converted.left_out, testing::Not(testing::Contains(HasSubstr("modules.json"))));
}

TEST_F(SentenceTransformersModules, OfAnotherKindAreRefused) {
  EXPECT_EQ(sentence_transformers_form(dir_.path()), std::nullopt);
  write(modules("Pooling"), R"({"pooling_mode": "max"})");
  EXPECT_THAT(refusal(),
              HasSubstr("1_Pooling/config.json: pooling 'max' is not supported, expected "
                        "mean or cls\n  hint: use a model with mean or cls pooling"));
  write(modules("Pooling"),
        R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})");
  EXPECT_THAT(refusal(), HasSubstr("pooling 'cls_token, mean_tokens' is not supported"));
  write(modules("Dense"));
  EXPECT_THAT(refusal(), HasSubstr("modules.json: module 1 is Dense, expected Pooling or "
                                   "Normalize"));
  write(modules("Normalize"));
  EXPECT_THAT(refusal(), HasSubstr("modules.json: no Pooling module"));
  write(R"([{"path": "", "type": "sentence_transformers.models.CLIPModel"}])");
  EXPECT_THAT(refusal(), HasSubstr("the first module is CLIPModel, expected a Transformer"));
  write("[");
  EXPECT_THAT(refusal(), HasSubstr("modules.json: not a JSON object or list"));
}

}  // namespace
}  // namespace smelt::pipeline
