// A recipe: the YAML description of a run from raw text to a trained model. Every field has a
// default value, a unit and a line of help (`smelt help recipe`). The fields of the sections
// `model` and `data` depend on model.type (pipeline/config/objective_type.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/filesystem/path.h"
#include "model/tasks/distill.h"
#include "train/train_config.h"

namespace smelt::checkpoint {
struct StoredModel;
}  // namespace smelt::checkpoint

namespace smelt::model {
struct StepProgram;
}  // namespace smelt::model

namespace smelt::train {
struct TrainJob;
}  // namespace smelt::train

namespace smelt::pipeline {

struct ObjectiveType;

// Values of fields as written in YAML, by their paths.
using FieldValues = std::map<std::string, std::string>;

struct TextSection {
  std::string input, format = "auto", field = "text", sentences = "prose", dedup = "lines";
  std::string normalize = "nfc";
  std::int64_t max_lines = 0;
  double heldout = 0.05;
  double max_bad = 0.01;
  bool strict = false;
};

struct VocabSection {
  std::string file;
  std::string type = "wordpiece";
  std::int64_t size = 8000;
  std::int64_t unused = 0;
  bool lower_case = false;
  std::string strip_accents = "false";
  std::string language;
  bool split_chinese = true;
  std::string segment_command;
  std::string normalization = "auto";
  bool byte_fallback = false;
  std::int64_t min_frequency = 2;
  double coverage = 0.9995;
  std::int64_t alphabet = 0;
};

// Fields of the section data that every model.type has.
struct ReadySection {
  std::string records, heldout;
  std::int64_t shards = 1;
};

struct EvalSection {
  std::int64_t batch_size = 32;
  std::int64_t steps = 0;
  std::int64_t passes = 1;
  std::int64_t every = 0;
  double every_epochs = 0;
  bool averaged = true;
  bool best = false;
  std::string split = "validation";
};

struct TrackSection {
  std::string fill;
  std::int64_t histograms_every = 0;
  bool gradients = false;
};

// How to compress the trained model, for types of models that are trained on labelled rows. Off by
// default.
struct CompressSection {
  std::int64_t layers = 0, decoder_layers = 0;
  double ffn = 1, heads = 1, macs = 1;
  bool rescale = true;
  double tune_epochs = 0;
  std::int64_t examples = 2048;
  bool int8 = false, embeddings = true;
  std::string activations = "floats", calibration = "percentile";
  double max_drop = -1;
  std::string batches = "1,8,32", lengths = "32,128";
  std::int64_t rounds = 20;

  bool cuts() const { return layers > 0 || decoder_layers > 0 || ffn < 1 || heads < 1 || macs < 1; }
  bool is_on() const { return cuts() || int8 || tune_epochs > 0; }
};

// The model of distill.teacher after it was opened (pipeline/config/distillation.h).
struct OpenedTeacher {
  std::shared_ptr<const checkpoint::StoredModel> model;
  std::uint32_t crc32c = 0;  // checksum of its tensors
};

struct DistillSection : model::Distillation {
  std::string teacher;
  // Shared by all copies of a recipe.
  std::shared_ptr<OpenedTeacher> opened = std::make_shared<OpenedTeacher>();
};

// Properties of a recipe's training program, for a vocabulary of vocab.size pieces.
struct ProgramFacts {
  std::int64_t parameters = 0;
  // Bytes of parameters, optimizer state and batch, over all devices.
  std::int64_t value_bytes = 0, slot_bytes = 0, batch_bytes = 0;
  double flops_per_example = 0;
  std::shared_ptr<const model::StepProgram> step;
  // The job that the program was built from.
  std::shared_ptr<const train::TrainJob> job;
};

struct Recipe {
  std::string out = "out";
  TextSection text;
  VocabSection vocab;
  ReadySection ready;
  train::TrainConfig train;
  EvalSection eval;
  TrackSection track;
  CompressSection compress;
  DistillSection distill;
  // Filled in by check_program() (pipeline/config/train_job.h).
  std::shared_ptr<ProgramFacts> program = std::make_shared<ProgramFacts>();
  // Path of the checkpoint that evaluation and export use: the last one of this training, or with
  // eval.best the best one. Empty: the newest in the folder. Shared by all copies of a recipe.
  std::shared_ptr<std::string> trained = std::make_shared<std::string>();
  const ObjectiveType* type = nullptr;         // the type that model.type names
  Json model, data;                            // fields of these two sections
  std::map<std::string, Json> sections;        // fields of every section, by its name
  Json defaults;                               // default value of each field, by section
  std::map<std::string, std::string> origins;  // source of each field: a file or "--set"

  std::set<std::string> set;  // fields that are set, even to their default value
  // Whether training starts from step 0 and deletes the checkpoints in the model folder.
  bool anew = false;

  bool is_set(const std::string& field) const { return set.contains(field); }
  // Returns the path of `name` in the output folder.
  std::string path(std::string_view name) const { return io::join_path(out, name); }
  // Returns the source of these fields, with which messages begin: "--set" if one of them has that
  // source, otherwise the source of the last field, or "recipe" if it has none.
  std::string origin(std::initializer_list<std::string> fields) const;
};

}  // namespace smelt::pipeline
