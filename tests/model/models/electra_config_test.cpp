// Model sizes by the original's rules, and the resulting numbers of parameters.
#include "model/models/electra_config.h"

#include <gtest/gtest.h>

#include "model/models/electra.h"
#include "support/error_of.h"

namespace smelt::model {

using compiler::DType;
using compiler::Graph;
namespace {

ElectraConfig sized(const std::string& size) { return {.size = size, .vocab_size = 30522}; }

TEST(ElectraConfig, HasTheOriginalSizes) {
  struct Want {
    const char* size;
    std::int64_t E, H, layers, heads, G, generator_heads;
  };
  for (const Want& w : {Want{"small", 128, 256, 12, 4, 64, 1},
                        {"base", 768, 768, 12, 12, 256, 4},
                        {"large", 1024, 1024, 24, 16, 256, 4}}) {
    const ElectraConfig c = sized(w.size);
    const BertConfig d = discriminator_config(c), g = generator_config(c);
    EXPECT_EQ(electra_embedding_size(c), w.E) << w.size;
    EXPECT_EQ(d.hidden_size, w.H);
    EXPECT_EQ(d.intermediate_size, 4 * w.H);
    EXPECT_EQ(d.num_hidden_layers, w.layers);
    EXPECT_EQ(d.num_attention_heads, w.heads);
    EXPECT_EQ(g.hidden_size, w.G);
    EXPECT_EQ(g.intermediate_size, 4 * w.G);
    EXPECT_EQ(g.num_hidden_layers, w.layers);
    EXPECT_EQ(g.num_attention_heads, w.generator_heads);
  }
}

// Python's round() rounds halves to even.
TEST(ElectraConfig, RoundsTheGeneratorSizeLikeTheOriginal) {
  ElectraConfig c = sized("small");
  c.num_hidden_layers = 5;
  c.generator_layers = 0.5;
  c.hidden_size = 250;
  c.num_attention_heads = 5;
  c.generator_hidden_size = 0.5;
  EXPECT_EQ(generator_config(c).num_hidden_layers, 2);
  EXPECT_EQ(generator_config(c).hidden_size, 125);
  EXPECT_EQ(generator_config(c).num_attention_heads, 1);
  c.generator_layers = 0.7;
  EXPECT_EQ(generator_config(c).num_hidden_layers, 4);
  c.untied_generator = false;
  EXPECT_EQ(generator_config(c).hidden_size, 250);
}

TEST(ElectraConfig, TheDiscriminatorHasThePublishedNumberOfParameters) {
  for (const auto& [size, count] :
       {std::pair{"small", 13'483'008}, {"base", 108'891'648}, {"large", 334'092'288}}) {
    const ElectraConfig c = sized(size);
    Graph graph;
    const auto ints = [&] { return graph.argument({DType::s32, {2, 16}}); };
    Parameters parameters;
    electra(Scope(graph, parameters), c, {ints(), ints(), ints()});
    std::int64_t sum = 0;
    for (const Parameter& p : parameters.all()) sum += p.tensor.shape().elements();
    EXPECT_EQ(sum, count) << size;
  }
}

std::string refusal(const std::function<void(ElectraConfig&)>& change) {
  ElectraConfig c = sized("small");
  change(c);
  return error_of<UsageError>(
      [&] { check_electra_config(c, [](const std::string& field) { return "e." + field; }); });
}

TEST(ElectraConfig, RejectsInvalidSettings) {
  EXPECT_EQ(refusal([](ElectraConfig&) {}), "no error");
  EXPECT_EQ(refusal([](ElectraConfig& c) { c.size = "smal"; }),
            "e.size: size is 'smal'\n  hint: did you mean 'small'?");
  EXPECT_EQ(refusal([](ElectraConfig& c) { c.embedding_size = -1; }),
            "e.embedding_size: embedding_size is -1, must be at least 0\n  hint: use 0 for the "
            "default of the size");
  EXPECT_EQ(refusal([](ElectraConfig& c) { c.num_attention_heads = 3; }),
            "e.hidden_size: hidden_size 256 is not a multiple of num_attention_heads 3\n  hint: "
            "choose a number of heads that divides hidden_size, for example hidden_size / 64");
  EXPECT_EQ(refusal([](ElectraConfig& c) { c.generator_layers = 0; }),
            "e.generator_layers: generator_layers is 0, must be above 0, at most 16\n  hint: set "
            "generator_layers to a fraction of the discriminator, for example 0.25");
  EXPECT_EQ(refusal([](ElectraConfig& c) { c.generator_hidden_size = 2; }),
            "e.generator_hidden_size: the generator's hidden size 512 is larger than the "
            "discriminator's 256, whose embeddings it shares\n  hint: set generator_hidden_size, "
            "a fraction of the discriminator's hidden size, to at most 1, or "
            "untied_generator_embeddings to true");
  // 200 is not divisible by 3
  EXPECT_EQ(refusal([](ElectraConfig& c) { c.generator_hidden_size = 0.78; }),
            "e.generator_hidden_size: the generator: hidden_size 200 is not a multiple of "
            "num_attention_heads 3\n  hint: choose a number of heads that divides hidden_size, "
            "for example hidden_size / 64");
}

}  // namespace
}  // namespace smelt::model
