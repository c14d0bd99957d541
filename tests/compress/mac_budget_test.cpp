#include "compress/mac_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runs/golden_classify.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::compress {
namespace {

TEST(MacBudget, CountsHeadsAndNeuronsLikeKwon) {
  const TempDir dir;
  GoldenClassify("bert").write_folder(dir.file("hf"));
  const SourceFolder source = open_source_folder(dir.file("hf"));
  const CompressedFolder folder{.config = source.config, .tensors = source.tensors, .step = {}};
  const auto stacks = layer_stacks(source);
  const double d = source.config.at("hidden_size"), heads = source.config.at("num_attention_heads");
  const double length = 10, width = d / heads;
  const MacLengths lengths{.text = 10};
  EXPECT_EQ(unit_macs(folder, head_groups(folder, stacks)[0], lengths),
            3 * length * d * width + 2 * length * length * width + length * width * d);
  EXPECT_EQ(unit_macs(folder, ffn_groups(folder, stacks)[0], lengths), 2 * length * d);
}

TEST(MacBudget, MaximizesImportance) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> any(0, 1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<double>> head_layers(3, std::vector<double>(6)),
        neuron_layers(3, std::vector<double>(24));
    for (auto* layers : {&head_layers, &neuron_layers})
      for (auto& layer : *layers)
        for (double& x : layer) x = any(random);
    const UnitCosts heads = unit_costs(head_layers, 1, 50),
                    neurons = unit_costs(neuron_layers, 8, 10);
    EXPECT_NEAR(heads.importance[6], 3 * 6 * 0.5, 4);
    const double budget = 130 + 400 * any(random);
    double best = 0;
    for (int h = 1; h <= 6; ++h)
      for (int n = 8; n <= 24; n += 8)
        if (h * 50 + n * 10 <= budget)
          best = std::max(best, heads.importance[static_cast<std::size_t>(h)] +
                                    neurons.importance[static_cast<std::size_t>(n)]);
    const UnitCounts found = within_macs(heads, neurons, budget);
    EXPECT_LE(static_cast<double>(found.heads * 50 + found.neurons * 10), budget);
    EXPECT_EQ(heads.importance[static_cast<std::size_t>(found.heads)] +
                  neurons.importance[static_cast<std::size_t>(found.neurons)],
              best);
  }
  const UnitCosts one = unit_costs(std::vector(1, std::vector<double>(4, 1.0)), 1, 10);
  EXPECT_THAT(
      error_of<UsageError>([&] { within_macs(one, one, 15); }),
      testing::HasSubstr(
          "--macs 0.1875 is too small: keeping only a head and 1 neurons per layer already needs "
          "25.0 %"));
}

}  // namespace
}  // namespace smelt::compress
