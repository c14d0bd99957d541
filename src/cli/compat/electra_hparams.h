// The original ELECTRA's hyper-parameters, by its names (configure_pretraining.py), as its
// --hparams gives them.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "model/models/electra_config.h"
#include "model/tasks/electra_task.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

struct ElectraHparams {
  bool debug = false, do_train = true, do_eval = false;
  ElectraSettings objective = {};
  double learning_rate = 5e-4, lr_decay_power = 1, weight_decay_rate = 0.01;
  std::int64_t num_warmup_steps = 10000, iterations_per_loop = 200, save_checkpoints_steps = 1000;
  std::int64_t num_train_steps = 1000000, num_eval_steps = 100;
  std::int64_t keep_checkpoint_max = 5;  // 0 or null: all
  std::string model_size = "small";
  std::int64_t embedding_size = 0;  // null: what the size says
  std::int64_t vocab_size = 30522;
  bool do_lower_case = true;
  bool untied_generator_embeddings = false, untied_generator = true;
  double generator_layers = 1, generator_hidden_size = 0.25;
  std::int64_t max_seq_length = 128, train_batch_size = 128, eval_batch_size = 128;
  bool use_tpu = false;
  std::int64_t num_tpu_cores = 1;
  std::string tpu_job_name, tpu_name, tpu_zone, gcp_project;
  std::string pretrain_tfrecords, vocab_file, model_dir, results_txt, results_pkl;
  Json model_hparam_overrides = Json::object();  // of ElectraConfig
};

// All but model_hparam_overrides.
template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ElectraHparams>
void visit_fields(C& c, Visitor&& visit) {
  visit("debug", c.debug, "a few steps of a small model");
  visit("do_train", c.do_train, "train");
  visit("do_eval", c.do_eval, "evaluate the newest checkpoint");
  visit_fields(c.objective, visit);
  visit("learning_rate", c.learning_rate, "highest learning rate");
  visit("lr_decay_power", c.lr_decay_power, "of the decay");
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
  visit("do_lower_case", c.do_lower_case, "of fine-tuning only");
  visit("untied_generator_embeddings", c.untied_generator_embeddings,
        "the generator has embeddings of its own");
  visit("untied_generator", c.untied_generator, "false: one encoder");
  visit("generator_layers", c.generator_layers, "of the discriminator's");
  visit("generator_hidden_size", c.generator_hidden_size, "of the discriminator's");
  visit("max_seq_length", c.max_seq_length, "tokens of an example");
  visit("train_batch_size", c.train_batch_size, "examples of a step, over all devices");
  visit("eval_batch_size", c.eval_batch_size, "examples of an evaluation batch");
  visit("use_tpu", c.use_tpu, "TPU; else the CPU");
  visit("num_tpu_cores", c.num_tpu_cores, "devices, with use_tpu");
  visit("tpu_job_name", c.tpu_job_name, "not used");
  visit("tpu_name", c.tpu_name, "not used: the program runs where the TPU is");
  visit("tpu_zone", c.tpu_zone, "not used");
  visit("gcp_project", c.gcp_project, "not used");
  visit("pretrain_tfrecords", c.pretrain_tfrecords, "patterns of the examples' files");
  visit("vocab_file", c.vocab_file, "vocabulary");
  visit("model_dir", c.model_dir, "checkpoints");
  visit("results_txt", c.results_txt, "figures of an evaluation");
  visit("results_pkl", c.results_pkl, "not used: JSON stands beside results_txt");
}

// What was set by whom, for the log and for later runs.
struct ElectraRunConfig {
  ElectraHparams hparams;
  std::vector<std::string> of_size;  // "max_seq_length 512": the paper's values for base and large
};

// `given` is a JSON object, or the path of one that ends in .json. What it does not say is the
// original's default, for base and large the paper's value that the original has in a comment, with
// debug its value. UsageError: no JSON, unknown names, values of another kind or out of range, not
// exactly one of do_train and do_eval, a model's name that leads out of models/.
ElectraRunConfig parse_electra_hparams(const std::string& given, const std::string& data_dir,
                                       const std::string& model_name);

// Where a run keeps them beside its checkpoints, with the steps of the run before it.
std::string saved_hparams_path(const std::string& model_dir);
inline constexpr const char* kContinuedFrom = "continued_from";

// vocab_file. UsageError when it is not there, or has more lines than `vocab_size`, the model's.
Vocabulary electra_vocabulary(const ElectraHparams& hparams, std::int64_t vocab_size);

// Without what the files say: special ids, majority token. UsageError for an override that is none.
ElectraTask electra_task_settings(const ElectraHparams& hparams);

}  // namespace smelt
