#include "cli/compat/electra_flops.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <iostream>

namespace smelt::cli {
namespace {

// Operations per element, as the original counts them.
constexpr double kDropout = 4, kLayerNorm = 5, kGelu = 8, kSoftmax = 5;

// Names are the original's. All terms are whole numbers below 2^53 except those with the share of
// predicted tokens, so sums are exact in any order.
struct Transformer {
  double h, l;               // hidden size, layers
  double s = 512;            // tokens per sequence
  double v = 30522;          // vocabulary size
  double e = 0;              // embedding size; 0: h
  double i = 0;              // feed-forward size; 0: 4h
  double heads = 0;          // attention heads; 0: h / 64
  double kqv = 0;            // total width of all heads; 0: h
  double share = 80. / 512;  // share of the tokens that are predicted
  bool decoder = false;      // also attends to an encoder

  double embedding() const { return e == 0 ? h : e; }

  double layer() const {
    const double inner = i == 0 ? 4 * h : i, width = kqv == 0 ? h : kqv;
    const double n = heads == 0 ? std::max(1., std::floor(h / 64)) : heads;
    const double projections = 3 * 2 * h * width + 3 * width + 2 * h * h + h;
    const double attention = 2 * width * s + 2 * h * s + (kSoftmax + kDropout + 1) * s * n;
    // The original counts this layer norm for a single element.
    const double attention_end = kDropout * h + h + kLayerNorm;
    const double feed_forward = 2 * 2 * h * inner + (kGelu + 1) * inner + h;
    const double end = kDropout * h + h + kLayerNorm * h;
    return ((decoder ? 2 : 1) * (projections + attention + attention_end) + feed_forward + end) * s;
  }

  // Lookups count as matmuls with one-hot vectors.
  double input() const {
    const double E = embedding();
    const double words = 2 * E * v + 2 * E * (s + 2) + 2 * E + (kLayerNorm + kDropout) * E;
    return (words + (E == h ? 0 : 2 * h * E + h)) * s;
  }

  double masked_words() const {
    const double E = embedding();
    const double hidden = 2 * h * E + E + (kGelu + kLayerNorm) * E;
    return share * (2 * E * v + hidden + (kSoftmax + 2) * v) * s;
  }

  double replaced_tokens() const { return (2 * h * h + h + kGelu * h + 2 * h) * s; }

  double forward(bool discriminator = false) const {
    return l * layer() + input() + (discriminator ? replaced_tokens() : masked_words());
  }
};

// Returns the operations of masked-LM training. As in the original, the backward pass counts as one
// forward pass.
double masked_lm(const Transformer& model, double batch, double steps) {
  return 2 * batch * steps * model.forward();
}

// Returns the operations of ELECTRA training. The generator uses the discriminator's embeddings.
double electra(Transformer discriminator, double generator_h, double batch, double steps) {
  discriminator.e = discriminator.embedding();
  Transformer generator = discriminator;
  generator.h = generator_h;
  return 2 * batch * steps * discriminator.forward(true) + masked_lm(generator, batch, steps);
}

double t5_11b() {
  const Transformer encoder{
      .h = 1024, .l = 24, .v = 32000, .i = 65536, .heads = 128, .kqv = 128 * 128, .share = 0};
  Transformer decoder = encoder;
  decoder.share = 1;
  decoder.decoder = true;
  return masked_lm(encoder, 2048, 1e6) + masked_lm(decoder, 2048, 1e6);
}

// Formats a number with all digits, as the original does.
std::string number(double x) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.begin(), text.end(), x, std::chars_format::scientific);
  return {text.data(), end.ptr};
}

}  // namespace

std::vector<TrainingCost> electra_training_costs() {
  const Transformer small{.h = 256, .l = 12, .s = 128, .e = 128}, base{.h = 768, .l = 12},
      large{.h = 1024, .l = 24};
  std::vector<TrainingCost> rows{
      // TensorFlow's count of one forward pass.
      {"elmo", 2. * 10 * 768648884 * 568093262680 / (20. * 128), 0},
      {"xlnet", 2. * 500000 * 8192 * 15064773691518 / 32, 0},
      {"gpt", masked_lm({.h = 768, .l = 12, .v = 40000, .share = 1}, 128, 960800), 0},
      {"bert_small", masked_lm(small, 128, 1.45e6), 0},
      {"bert_base", masked_lm(base, 256, 1e6), 0},
      {"bert_large", masked_lm(large, 256, 1e6), 0},
      {"electra_small", electra(small, 64, 128, 1e6), 0},
      {"electra_base", electra(base, 256, 256, 766000), 0},
      {"electra_400k", electra(large, 256, 2048, 400000), 0},
      {"electra_1.75M", electra(large, 256, 2048, 1750000), 0},
      {"roberta", masked_lm({.h = 1024, .l = 24, .v = 50265}, 8000, 500000), 0},
      {"albert", masked_lm({.h = 4096, .l = 12, .v = 30000, .e = 128}, 4096, 1.5e6), 0},
      {"t5_11b", t5_11b(), 0}};
  for (TrainingCost& row : rows) row.real = row.original / 2 * 3;
  return rows;
}

void add_electra_flops(CLI::App& electra) {
  auto* command = electra.add_subcommand(
      "flops", "print the floating-point operations of training the paper's models");
  command->callback([] {
    const auto line = [](const auto& model, const auto& original, const auto& real) {
      std::cout << std::left << std::setw(15) << model << std::setw(24) << original << real << "\n";
    };
    std::cout << "floating-point operations of a complete training run\n";
    line("model", "original", "backward = 2 x forward");
    for (const TrainingCost& row : electra_training_costs())
      line(row.model, number(row.original), number(row.real));
  });
}

}  // namespace smelt::cli
