// A recipe: everything that makes a model from text, as YAML. Every field has a default, a unit and
// a line of help (`smelt help recipe`).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/bert_config.h"
#include "optim/adamw.h"
#include "store/path.h"
#include "text/documents.h"

namespace smelt {

struct TextSection {
  DocumentOptions read{.input = {},
                       .format = {},
                       .sentences = "prose",
                       .dedup = "lines",
                       .max_lines = 0,
                       .strict = false};
  double heldout = 0.05;
};

struct VocabSection {
  std::int64_t size = 8000;
  std::int64_t unused = 0;
  bool lower_case = true;
  std::string strip_accents = "auto";
  std::int64_t min_frequency = 2;
  std::int64_t alphabet = 1000;
};

struct DataSection {
  std::int64_t seq_length = 128;
  std::int64_t max_predictions = 20;
  double masked_lm_prob = 0.15;
  double short_seq_prob = 0.1;
  std::int64_t dupe_factor = 5;
  std::int64_t seed = 12345;
  bool whole_word_mask = false;
  bool next_sentence = true;
  std::string order = "shuffled";
};

struct TrainSection {
  std::string device = "cpu";
  std::int64_t devices = 1;
  std::int64_t batch_size = 32;
  std::int64_t steps = 1000;
  double learning_rate = 1e-4;
  std::int64_t warmup_steps = 100;
  std::string optimizer = "bert_adamw";
  double weight_decay = 0.01;
  double clip_norm = 1.0;
  std::string reduction = "global";
  std::int64_t seed = 12345;
  std::int64_t save_every = 500;
  std::int64_t keep = 5;
  std::int64_t log_every = 100;
};

struct EvalSection {
  std::int64_t batch_size = 32;
  std::int64_t steps = 0;
};

struct Recipe {
  std::string out = "out";
  TextSection text;
  VocabSection vocab;
  DataSection data;
  BertConfig model;  // vocab_size 0: the size of the vocabulary made here
  TrainSection train;
  EvalSection eval;

  // Where the stages put what they make.
  std::string path(std::string_view name) const { return join_path(out, name); }
};

// One line of `smelt help recipe`.
struct RecipeField {
  std::string path;           // "train.steps"
  std::string default_value;  // as it is written in YAML
  std::string help;           // with the unit
};
std::vector<RecipeField> recipe_fields();

// The file, then the settings ("train.steps=1000") over it. UsageError naming file and field for an
// unknown field (with the nearest name), a value of another type, or one out of range.
Recipe load_recipe(const std::string& path, const std::vector<std::string>& settings);

// One section ("train") or field as JSON, to record what a stage was made with.
nlohmann::json recipe_section(const Recipe& recipe, const std::string& section);

}  // namespace smelt
