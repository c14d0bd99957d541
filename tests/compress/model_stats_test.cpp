// Compares the counted parameters, bytes and operations of a folder with closed forms.
#include "compress/model_stats.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "compress/prune.h"
#include "compress/quantize.h"
#include "model/models/t5_config.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "support/paths.h"

namespace smelt::compress {
namespace {

struct EncoderSizes {
  double d, F, layers, words, positions, segments, classes;
};

EncoderSizes sizes_of(const SourceFolder& bert) {
  const auto number = [&](const char* name) { return bert.config.at(name).get<double>(); };
  return {number("hidden_size"),
          number("intermediate_size"),
          number("num_hidden_layers"),
          number("vocab_size"),
          number("max_position_embeddings"),
          number("type_vocab_size"),
          3};
}

TEST(ModelFacts, CountsParametersAndOperationsOfABert) {
  const TempDir dir;
  GoldenClassify("bert").write_folder(dir.file("hf"));
  const SourceFolder bert = open_source_folder(dir.file("hf"));
  const auto [d, F, layers, words, positions, segments, classes] = sizes_of(bert);
  const ModelFacts facts = facts_of(bert);
  const double tables = (words + positions + segments) * d;
  EXPECT_EQ(facts.parameters_of_tables, tables);
  EXPECT_EQ(facts.parameters, tables + 2 * d + layers * (4 * d * (d + 1) + 2 * d * F + F + 5 * d) +
                                  d * (d + 1) + classes * (d + 1));
  for (const std::int64_t length : {1, 8, 12}) {
    const auto L = static_cast<double>(length);
    EXPECT_EQ(operations_of(bert, length, 0),
              layers * ((4 * d * d + 2 * d * F) * L + 2 * L * L * d) + d * d + classes * d);
  }
}

TEST(ModelFacts, CountsTokenClassifierHeadOperationsPerToken) {
  const TempDir dir;
  GoldenClassify("bert-tokens").write_folder(dir.file("hf"));
  const SourceFolder bert = open_source_folder(dir.file("hf"));
  const auto [d, F, layers, words, positions, segments, classes] = sizes_of(bert);
  EXPECT_EQ(operations_of(bert, 8, 0),
            layers * ((4 * d * d + 2 * d * F) * 8 + 2 * 64 * d) + 24 * d);
}

// Output tokens are generated one after another with a KV cache.
TEST(ModelFacts, CountsT5OperationsPerOutputToken) {
  const TempDir dir;
  for (const char* kind : {"small", "gated"}) {
    GoldenT5(kind).write_folder(dir.file(kind));
    const SourceFolder t5 = open_source_folder(dir.file(kind));
    const model::T5Config c = GoldenT5(kind).settings().model;
    const double inner = static_cast<double>(c.num_heads * c.d_kv),
                 d = static_cast<double>(c.d_model), F = static_cast<double>(c.d_ff),
                 matrices = c.is_gated() ? 3 : 2, L = 7;
    const auto E = static_cast<double>(c.num_layers), D = static_cast<double>(c.decoder_layers());
    double want = E * ((4 * inner * d + matrices * d * F) * L + 2 * L * L * inner) +
                  D * 2 * inner * d * L;  // keys and values of the inputs, once
    for (int said = 1; said <= 5; ++said)
      want += D * (6 * inner * d + matrices * d * F + 2 * inner * (said + L)) +
              static_cast<double>(c.vocab_size) * d;
    EXPECT_EQ(operations_of(t5, 7, 5), want) << kind;
  }
}

TEST(ModelFacts, QuantizationChangesOnlyBytes) {
  const TempDir dir;
  GoldenClassify("electra").write_folder(dir.file("hf"));
  const Quantized done =
      quantize_weights({.from = dir.file("hf"), .to = dir.file("int8"), .embeddings = true});
  const SourceFolder plain = open_source_folder(dir.file("hf")),
                     in_codes = open_source_folder(dir.file("int8"), QuantizedInput::accepted);
  EXPECT_EQ(facts_of(in_codes).parameters, facts_of(plain).parameters);
  EXPECT_EQ(facts_of(in_codes).parameters_of_tables, facts_of(plain).parameters_of_tables);
  EXPECT_EQ(operations_of(in_codes, 8, 0), operations_of(plain, 8, 0));
  EXPECT_EQ(facts_of(in_codes).bytes, done.bytes);
  EXPECT_EQ(facts_of(in_codes).steps.at(0)["method"], "weights int8");
}

TEST(ModelFacts, PrunedModelHasFewerOperations) {
  const TempDir dir;
  GoldenClassify("bert").write_folder(dir.file("hf"));
  prune_model({.from = dir.file("hf"), .to = dir.file("cut"), .layers = {.count = 1}});
  const SourceFolder whole = open_source_folder(dir.file("hf")),
                     cut = open_source_folder(dir.file("cut"));
  const double head = 16 * 16 + 3 * 16;
  EXPECT_EQ(2 * (operations_of(cut, 8, 0) - head), operations_of(whole, 8, 0) - head);
}

}  // namespace
}  // namespace smelt::compress
