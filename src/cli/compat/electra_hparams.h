// Hyperparameters of the original ELECTRA (configure_pretraining.py), as given by --hparams.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "model/models/electra_config.h"
#include "model/tasks/electra_task.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::cli {

struct ElectraHparams {
  bool debug = false, do_train = true, do_eval = false;
  model::ElectraSettings objective = {};
  double learning_rate = 5e-4, lr_decay_power = 1, weight_decay_rate = 0.01;
  std::int64_t num_warmup_steps = 10000, iterations_per_loop = 200, save_checkpoints_steps = 1000;
  std::int64_t num_train_steps = 1000000, num_eval_steps = 100;
  std::int64_t keep_checkpoint_max = 5;  // 0 or null: all
  std::string model_size = "small";
  std::int64_t embedding_size = 0;  // null: the default for model_size
  std::int64_t vocab_size = 30522;
  bool do_lower_case = true;
  bool untied_generator_embeddings = false, untied_generator = true;
  double generator_layers = 1, generator_hidden_size = 0.25;
  std::int64_t max_seq_length = 128, train_batch_size = 128, eval_batch_size = 128;
  bool use_tpu = false;
  std::int64_t num_tpu_cores = 1;
  std::string tpu_job_name, tpu_name, tpu_zone, gcp_project;
  std::string pretrain_tfrecords, vocab_file, model_dir, results_txt, results_pkl;
  Json model_hparam_overrides = Json::object();  // fields of ElectraConfig
};

// Visits all fields except model_hparam_overrides.
template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ElectraHparams>
void visit_fields(C& c, Visitor&& visit) {
  visit("debug", c.debug, "a few steps of a small model");
  visit("do_train", c.do_train, "train");
  visit("do_eval", c.do_eval, "evaluate the newest checkpoint");
  model::visit_fields(c.objective, visit);
  visit("learning_rate", c.learning_rate, "highest learning rate");
  visit("lr_decay_power", c.lr_decay_power, "power of the polynomial learning rate decay");
  visit("weight_decay_rate", c.weight_decay_rate, "decoupled weight decay");
  visit("num_warmup_steps", c.num_warmup_steps, "steps of linear warm-up");
  visit("iterations_per_loop", c.iterations_per_loop, "steps between lines of the log");
  visit("save_checkpoints_steps", c.save_checkpoints_steps, "steps between checkpoints");
  visit("num_train_steps", c.num_train_steps, "training steps in all");
  visit("num_eval_steps", c.num_eval_steps, "evaluation batches");
  visit("keep_checkpoint_max", c.keep_checkpoint_max, "newest checkpoints kept; 0: all");
  visit("model_size", c.model_size, "small, base or large");
  visit("embedding_size", c.embedding_size, "width of the embeddings");
  visit("vocab_size", c.vocab_size, "lines of the vocabulary, or more");
  visit("do_lower_case", c.do_lower_case, "only used for fine-tuning");
  visit("untied_generator_embeddings", c.untied_generator_embeddings,
        "the generator has separate embeddings");
  visit("untied_generator", c.untied_generator, "false: one encoder for both");
  visit("generator_layers", c.generator_layers, "share of the discriminator's layers");
  visit("generator_hidden_size", c.generator_hidden_size,
        "share of the discriminator's hidden size");
  visit("max_seq_length", c.max_seq_length, "tokens per example");
  visit("train_batch_size", c.train_batch_size, "examples per step, over all devices");
  visit("eval_batch_size", c.eval_batch_size, "examples per evaluation batch");
  visit("use_tpu", c.use_tpu, "TPU; else the CPU");
  visit("num_tpu_cores", c.num_tpu_cores, "devices, with use_tpu");
  visit("tpu_job_name", c.tpu_job_name, "not used");
  visit("tpu_name", c.tpu_name, "not used: smelt runs on the TPU's host");
  visit("tpu_zone", c.tpu_zone, "not used");
  visit("gcp_project", c.gcp_project, "not used");
  visit("pretrain_tfrecords", c.pretrain_tfrecords, "file patterns of the training examples");
  visit("vocab_file", c.vocab_file, "vocabulary");
  visit("model_dir", c.model_dir, "checkpoints");
  visit("results_txt", c.results_txt, "file for evaluation metrics");
  visit("results_pkl", c.results_pkl,
        "not used: metrics are also written as JSON next to results_txt");
}

// Hyperparameters, and a list of those that were set because of model_size, for the log.
struct ElectraRunConfig {
  ElectraHparams hparams;
  std::vector<std::string> of_size;  // names and values, such as "max_seq_length 512"
};

// Parses --hparams: a JSON object, or the path of a file that ends in .json. Missing fields get the
// original's defaults. If model_size is base or large, the paper's values replace these defaults;
// the original has them only in comments. If debug is true, the original's debug values replace
// both. Throws UsageError for invalid JSON, unknown names, values of the wrong type or out of
// range, and a model name that leaves the folder models/. Also throws it unless exactly one of
// do_train and do_eval is set.
ElectraRunConfig parse_electra_hparams(const std::string& given, const std::string& data_dir,
                                       const std::string& model_name);

// Returns the path where a run stores its hyperparameters, next to its checkpoints.
std::string saved_hparams_path(const std::string& model_dir);
// JSON key of that file: the number of steps of the run that this one continues.
inline constexpr const char* kContinuedFrom = "continued_from";

// Reads vocab_file. Throws UsageError if it does not exist or has more lines than `vocab_size`.
text::Vocabulary electra_vocabulary(const ElectraHparams& hparams, std::int64_t vocab_size);

// Returns the task without values that depend on files (special ids, majority token). Throws
// UsageError for an invalid override.
model::ElectraTask electra_task_settings(const ElectraHparams& hparams);

}  // namespace smelt::cli
