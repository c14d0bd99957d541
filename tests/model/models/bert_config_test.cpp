#include "model/models/bert_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/json.h"
#include "io/formats/config.h"
#include "model/models/bert.h"

namespace smelt::model {

using compiler::Dims;
using compiler::DType;
using compiler::Graph;
namespace {

using testing::HasSubstr;

std::string refusal(const char* text) {
  try {
    parse_bert_config(text, "c.json");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(BertConfigs, AcceptsTransformersNameOfGelu) {
  const BertConfig c =
      parse_bert_config(R"({"vocab_size": 9, "hidden_act": "gelu_new"})", "c.json");
  EXPECT_EQ(c.hidden_act, "gelu");
}

TEST(BertConfig, HasTheOriginalDefaults) {
  const BertConfig c = parse_bert_config(R"({"vocab_size": 30522})", "c.json");
  EXPECT_EQ(c.hidden_size, 768);
  EXPECT_EQ(c.intermediate_size, 3072);
  EXPECT_EQ(c.type_vocab_size, 16);
  EXPECT_EQ(c.max_position_embeddings, 512);
  EXPECT_EQ(c.hidden_act, "gelu");
}

TEST(BertConfig, ReadsWhatItWrites) {
  BertConfig c;
  c.vocab_size = 99;
  c.hidden_size = 24;
  c.hidden_dropout_prob = 0.25;
  const BertConfig read = parse_bert_config(io::config_json(c).dump(), "c.json");
  EXPECT_EQ(io::config_json(read), io::config_json(c));
}

TEST(BertConfig, AcceptsTheExtraFieldsOfReleasedModels) {
  EXPECT_EQ(refusal(R"({"vocab_size": 9, "directionality": "bidi", "pooler_fc_size": 768,
    "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3, "pooler_size_per_head": 128,
    "pooler_type": "first_token_transform", "something_else_entirely": 1})"),
            "no error");
}

TEST(BertConfig, RejectsInvalidFiles) {
  EXPECT_THAT(refusal("{"), HasSubstr("c.json: not a JSON object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("c.json: vocab_size is missing"));
  EXPECT_THAT(refusal(R"({"vocab_size": 9, "hiden_size": 64})"),
              HasSubstr("c.json: unknown field 'hiden_size'\n  hint: did you mean 'hidden_size'?"));
  EXPECT_THAT(refusal(R"({"vocab_size": "many"})"),
              HasSubstr("vocab_size is \"many\", not a whole number"));
  EXPECT_THAT(refusal(R"({"vocab_size": 9, "hidden_act": 3})"),
              HasSubstr("hidden_act is 3, not a text"));
  EXPECT_THAT(refusal(R"({"vocab_size": 9, "hidden_size": 100})"),
              HasSubstr("hidden_size 100 is not a multiple of num_attention_heads 12"));
  EXPECT_THAT(refusal(R"({"vocab_size": 0})"), HasSubstr("vocab_size is 0, must be at least 1"));
  EXPECT_THAT(refusal(R"({"vocab_size": 9, "hidden_dropout_prob": 1})"),
              HasSubstr("must be in [0, 1)"));
}

// The variables of google-research/bert's BERT-base checkpoint, without those of the optimizer.
std::set<std::string> original_variables() {
  std::set<std::string> names{"cls/predictions/output_bias", "cls/seq_relationship/output_weights",
                              "cls/seq_relationship/output_bias"};
  for (const char* table : {"word_embeddings", "token_type_embeddings", "position_embeddings"})
    names.insert(str("bert/embeddings/", table));
  const auto dense = [&](const std::string& scope) {
    names.insert({scope + "/kernel", scope + "/bias"});
  };
  const auto norm = [&](const std::string& scope) {
    names.insert({scope + "/LayerNorm/beta", scope + "/LayerNorm/gamma"});
  };
  norm("bert/embeddings");
  dense("bert/pooler/dense");
  dense("cls/predictions/transform/dense");
  norm("cls/predictions/transform");
  for (int i = 0; i < 12; ++i) {
    const std::string layer = str("bert/encoder/layer_", i);
    for (const char* part :
         {"/attention/self/query", "/attention/self/key", "/attention/self/value",
          "/attention/output/dense", "/intermediate/dense", "/output/dense"})
      dense(layer + part);
    norm(layer + "/attention/output");
    norm(layer + "/output");
  }
  return names;
}

TEST(Bert, DeclaresTheOriginalVariables) {
  BertConfig c;
  c.vocab_size = 30522;
  c.type_vocab_size = 2;
  Graph graph;
  const auto ints = [&](Dims dims) { return graph.argument({DType::s32, std::move(dims)}); };
  const EncoderInputs inputs{
      .input_ids = ints({2, 16}), .input_mask = ints({2, 16}), .segment_ids = ints({2, 16})};
  Parameters parameters;
  const Scope root(graph, parameters);
  const BertEncoded encoded = bert(root, c, inputs);
  masked_lm_head(root, c, encoded.sequence, ints({2, 4}));
  next_sentence_logits(root, c, encoded.pooled);
  EXPECT_EQ(parameters.all().size(), 206u);
  std::set<std::string> names;
  for (const Parameter& p : parameters.all()) names.insert(p.name);
  EXPECT_EQ(names, original_variables());
  std::int64_t count = 0;
  for (const Parameter& p : parameters.all()) count += p.tensor.shape().elements();
  EXPECT_EQ(count, 110'106'428);
  const auto shape = [&](const char* name) {
    const Parameter* p = parameters.find(name);
    return p == nullptr ? std::string("missing") : str(p->tensor.shape());
  };
  EXPECT_EQ(shape("bert/embeddings/token_type_embeddings"), "f32[2,768]");
  EXPECT_EQ(shape("bert/encoder/layer_11/intermediate/dense/kernel"), "f32[768,3072]");
  EXPECT_EQ(shape("bert/encoder/layer_0/attention/output/LayerNorm/gamma"), "f32[768]");
  EXPECT_EQ(shape("cls/predictions/transform/dense/bias"), "f32[768]");
  EXPECT_EQ(shape("cls/seq_relationship/output_weights"), "f32[2,768]");
}

}  // namespace
}  // namespace smelt::model
