// Recipes to begin with, made for a kind of model and a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/text_size.h"

namespace smelt {

// A usual size of an encoder.
struct ModelSize {
  std::string name;  // "base"
  int hidden = 768, layers = 12, heads = 12;
};
// From the smallest to the largest (Turc et al. 2019, Devlin et al. 2019).
const std::vector<ModelSize>& model_sizes();
// Throws a UsageError beginning with `where` for an unknown one.
const ModelSize& model_size(const std::string& name, const std::string& where);

constexpr std::int64_t kStarterEvalEvery = 1000;  // steps between a starter's evaluations, at most

struct StarterRecipe {
  std::string kind = "bert";          // of starter_kinds()
  std::string input = "text/*.txt";   // text, or labelled rows
  std::string out = {};               // empty: named by the kind
  std::string init = {};              // folder of the pre-trained model; empty: an example's
  int seq_length = 128;               // tokens of an example of a fine-tuned encoder
  std::optional<TextSize> text = {};  // of the input, for the vocabulary's size; unset: not known
  ModelSize size = {};                // of kinds that are trained from scratch
  // How long: a budget or steps; else passes over the text.
  std::optional<double> budget = {};
  std::optional<std::int64_t> steps = {};
  std::string device = "cpu", precision = {};  // of train.; no precision: the default
  std::string type = {};                       // of accelerator, for the comment on how to run it
  int devices = 1, batch_size = 32;
};

// "bert", "electra", …, with a line on each.
struct StarterKind {
  std::string name, help;
};
const std::vector<StarterKind>& starter_kinds();

// YAML with comments. Throws a UsageError for an unknown kind.
std::string starter_text(const StarterRecipe& recipe);

}  // namespace smelt
