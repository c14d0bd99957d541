// Starter recipes for a kind of model and a text (`smelt new`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/text_size.h"

namespace smelt::pipeline {

// A standard size of an encoder.
struct ModelSize {
  std::string name;  // "base"
  int hidden = 768, layers = 12, heads = 12;
};
// Returns the sizes from the smallest to the largest (Turc et al. 2019, Devlin et al. 2019).
const std::vector<ModelSize>& model_sizes();
// Returns the size of this name. Throws UsageError, which begins with `where`, if the name is
// unknown.
const ModelSize& model_size(const std::string& name, const std::string& where);

// Maximum number of steps between evaluations in a starter recipe.
constexpr std::int64_t kStarterEvalEvery = 1000;

struct StarterRecipe {
  std::string kind = "bert";         // one of starter_kinds()
  std::string input = "text/*.txt";  // files of text or of labelled rows
  std::string out = {};              // empty: the name of the kind
  // Folder of the pretrained model; empty: an example path, or random weights for kinds that can
  // be trained from scratch.
  std::string init = {};
  int seq_length = 128;  // tokens per example; not used by bert, electra, t5, continue
  // Size of the input, which determines the vocabulary size; nullopt: unknown.
  std::optional<TextSize> text = {};
  ModelSize size = {};  // for kinds that are trained from scratch
  // Length of training: a budget in US dollars or steps; if neither is set, passes over the text.
  std::optional<double> budget = {};
  std::optional<std::int64_t> steps = {};
  // Values of train.device and train.precision.compute; an empty precision is the default.
  std::string device = "cpu", precision = {};
  // Accelerator type for the comment on how to run the recipe.
  std::string type = {};
  int devices = 1, batch_size = 32;
};

// A kind of starter recipe ("bert", "electra", …) with a line of help.
struct StarterKind {
  std::string name, help;
};
const std::vector<StarterKind>& starter_kinds();

// Returns the recipe as YAML with comments. Throws UsageError if the kind is unknown.
std::string starter_text(const StarterRecipe& recipe);

}  // namespace smelt::pipeline
