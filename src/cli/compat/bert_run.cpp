#include "cli/compat/bert_run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/log.h"
#include "base/plural.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "cli/compat/bert_log.h"
#include "cli/compat/import_tf_run.h"
#include "cli/compat/original_job.h"
#include "cli/compat/tensorflow_copy.h"
#include "cli/options/answers.h"
#include "cli/options/form_flags.h"
#include "cli/options/number_check.h"
#include "cli/options/original_flags.h"
#include "data/input_pipeline/description.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "model/models/bert_config.h"
#include "model/tasks/bert_task.h"
#include "pipeline/config/train_job.h"
#include "text/tokenizers/casing.h"
#include "text/tokenizers/unknown_count.h"
#include "train/job_program.h"
#include "train/process_group.h"

namespace smelt::cli {
namespace {

struct BertRunFlags {
  std::string bert_config_file, input_file, output_dir, init_checkpoint;
  std::int64_t max_seq_length = 128, max_predictions_per_seq = 20;
  bool do_train = false, do_eval = false;
  std::int64_t train_batch_size = 32, eval_batch_size = 8;
  double learning_rate = 5e-5;
  std::int64_t num_train_steps = 100000, num_warmup_steps = 10000, save_checkpoints_steps = 1000,
               iterations_per_loop = 1000, max_eval_steps = 100;
  bool use_tpu = false;
  std::string tpu_name, tpu_zone, gcp_project, master;
  std::int64_t num_tpu_cores = 8;

  // Flags that the original does not have.
  RunFlags run;
  model::DeviceConfig on = {};  // devices, set when the command runs
  std::int64_t keep_checkpoint_max = 5, random_seed = 12345;
  std::string vocab_file;
  bool write_tf_checkpoint = true;
  OriginalRunFlags own;
};

// Returns the name of a setting in messages: the original's flag, or a field of the config file.
std::string bert_field(const std::string& name) {
  static const std::map<std::string, std::string> kFlags{
      {"optimizer.learning_rate", "--learning_rate"},
      {"schedule.warmup_steps", "--num_warmup_steps"},
      {"steps", "--num_train_steps"},
      {"batch_size", "--train_batch_size"},
      {"eval.batch_size", "--eval_batch_size"},
      {"train.batch_size", "--train_batch_size"},
      {"data.seq_length", "--max_seq_length"},
      {"data.max_predictions", "--max_predictions_per_seq"},
      {"seed", "--random_seed"},
      {"model.type", "the model type"}};
  if (const auto found = kFlags.find(name); found != kFlags.end()) return found->second;
  return name.starts_with("model.") ? str("--bert_config_file's ", name.substr(6)) : flag(name);
}

model::Task task_of_run(const BertRunFlags& f, const model::BertConfig& model) {
  if (f.max_seq_length > model.max_position_embeddings)
    throw UsageError(
        str("--max_seq_length ", f.max_seq_length, " is longer than the ",
            model.max_position_embeddings, " max_position_embeddings of ", f.bert_config_file),
        "lower it, and use data that were made with the lower length");
  return model::bert_task({.model = model,
                           .seq_length = f.max_seq_length,
                           .max_predictions = f.max_predictions_per_seq});
}

void say_features(const model::Task& task, std::int64_t batch_size) {
  std::map<std::string, compiler::Dims> shapes;
  for (const io::Feature& feature : task.features) {
    compiler::Dims& dims = shapes[feature.name];
    dims = feature.row;
    if (dims.empty()) dims.push_back(1);  // records store a scalar as one value
    dims.insert(dims.begin(), batch_size);
  }
  log_info("*** Features ***");
  for (const auto& [name, dims] : shapes)
    log_info("  name = {}, shape = {}", name, python_shape(dims));
}

// Returns the names of the variables in a TensorFlow checkpoint or other pretrained weights.
std::set<std::string> names_of(const std::string& init) {
  std::set<std::string> names;
  if (const auto prefix = checkpoint::tensorflow_prefix(init)) {
    const checkpoint::TensorflowCheckpoint checkpoint(*prefix);
    for (const auto& [name, entry] : checkpoint.entries()) names.insert(name);
    return names;
  }
  for (const auto& [name, view] : checkpoint::load_weights(init).parameters) names.insert(name);
  return names;
}

void say_variables(const BertRunFlags& f, const train::TrainJob& job) {
  std::set<std::string> given;
  if (!f.init_checkpoint.empty()) given = names_of(f.init_checkpoint);
  const model::StateLayout layout = train::training_program(job, job.on.device).state;
  log_info("**** Trainable Variables ****");
  for (const model::StateTensor& tensor : std::span(layout.tensors).first(layout.values))
    for (const std::string& name : tensor.stored_names())
      log_info("  name = {}:0, shape = {}{}", name, python_shape(tensor.shape_of_one().dims),
               given.contains(name) ? ", *INIT_FROM_CKPT*" : "");
}

// Warns if the data were lower-cased but the vocabulary is cased.
void check_case(const BertRunFlags& f, const std::vector<std::string>& files) {
  std::string vocab = f.vocab_file;
  if (vocab.empty() && !f.init_checkpoint.empty()) {
    const auto prefix = checkpoint::tensorflow_prefix(f.init_checkpoint);
    vocab = io::join_path(prefix ? io::parent_path(*prefix) : f.init_checkpoint, "vocab.txt");
  }
  const auto description = data::find_description(files);
  if (description) data::warn_of_unknown_tokens(*description);
  if (vocab.empty() || !io::exists(vocab) || !description) return;
  if (description->all.value("lower_case", Json()) != true) return;
  text::TokenizerOptions options;
  if (const Json strips = description->all.value("strip_accents", Json()); strips.is_boolean())
    options.strip_accents = strips.get<bool>();
  text::warn_of_case(text::Vocabulary::load(vocab), options, description->origin);
}

train::TrainConfig training_of(const BertRunFlags& f) {
  train::TrainConfig t;  // its defaults are the original's optimizer and schedule
  static_cast<model::DeviceConfig&>(t) = f.on;
  t.batch_size = f.train_batch_size;
  t.steps = f.num_train_steps;
  t.optimizer.learning_rate = f.learning_rate;
  t.schedule.warmup_steps = f.num_warmup_steps;
  t.reduction = original_reduction(f.run, f.on, f.output_dir, bert_field);
  t.gradient_accumulation_steps = f.run.micro_batches;
  t.seed = f.random_seed;
  t.init_from = f.init_checkpoint;
  t.checkpoint.save_interval_steps = f.save_checkpoints_steps;
  t.checkpoint.max_to_keep = f.keep_checkpoint_max;
  t.hang_minutes = f.own.hang_minutes;
  t.logging_steps = std::min<std::int64_t>(f.iterations_per_loop, 100);
  return t;
}

train::TrainJob training_job(const BertRunFlags& f, const model::Task& task) {
  train::TrainJob job = pipeline::train_job(training_of(f), task);
  job.data = f.input_file;
  job.vocab = f.vocab_file;
  job.model_dir = f.output_dir;
  job.track.log_line = [&](const train::LogPoint& at) {
    return bert_log_line(at, f.train_batch_size);
  };
  job.fields = bert_field;
  return job;
}

void train_run(const BertRunFlags& f, const model::Task& task, const std::string& config_text) {
  train::TrainJob job = training_job(f, task);
  log_info("***** Running training *****");
  log_info("  Batch size = {}", f.train_batch_size);
  say_features(task, f.train_batch_size);
  say_variables(f, job);
  if (f.init_checkpoint.empty()) require_full_checkpoint(f.output_dir, "--init_checkpoint");
  AdoptedRun adopted(f.output_dir, task.settings["model"]);
  job.accepted = [&] {
    const std::string path = io::join_path(f.output_dir, "bert_config.json");
    if (!io::exists(path)) io::write_file(path, config_text);
    adopted.keep();
  };
  train::train(job);
  adopted.keep();  // also if no steps are left, so that job.accepted was not called
  if (f.write_tf_checkpoint) leave_tensorflow_checkpoint(f.output_dir);
}

void evaluate_run(const BertRunFlags& f, const model::Task& task) {
  execution::EvaluateJob job;
  job.task = task;
  job.batch_size = f.eval_batch_size;
  job.on = f.on;
  job.data = f.input_file;
  job.vocab = f.vocab_file;
  job.model_dir = f.output_dir;
  job.init = f.init_checkpoint;
  job.steps = f.max_eval_steps;
  job.as_original = job.repeats = true;
  job.fields = bert_field;
  log_info("***** Running evaluation *****");
  log_info("  Batch size = {}", f.eval_batch_size);
  std::optional<AdoptedRun> adopted;
  if (!f.do_train) adopted.emplace(f.output_dir, task.settings["model"]);
  if (job.init.empty() && !checkpoint::latest_checkpoint(f.output_dir))
    throw UsageError(
        str("run_pretraining: --output_dir ", f.output_dir, " holds no checkpoint to evaluate"),
        "add --do_train, or give weights with --init_checkpoint");
  const std::vector<std::string> lines = bert_results(execution::evaluate(job));
  if (adopted) adopted->keep();
  log_info("***** Eval results *****");
  for (const std::string& line : lines) log_info("  {}", line);
  if (train::is_rank_zero())
    io::write_file(io::join_path(f.output_dir, "eval_results.txt"), join(lines, "\n") + "\n");
}

// Throws UsageError if the devices cannot share the rows of a batch equally, in `parts`
// micro-batches.
void check_divides(const BertRunFlags& f, const std::string& flag, std::int64_t rows,
                   std::int64_t parts) {
  const std::int64_t devices =
      model::partition_for(f.on.mesh, f.on.devices, bert_field).row_shards();
  if (rows % (devices * parts) != 0)
    throw UsageError(str(flag, " ", rows, " does not divide over ", counted(devices, "device"),
                         parts == 1 ? std::string() : str(" in ", parts, " micro-batches")),
                     str("choose a multiple of ", devices * parts));
}

void run_bert_pretraining(BertRunFlags& f) {
  f.on = f.run.on(f.use_tpu ? std::optional(f.num_tpu_cores) : std::nullopt);
  if (!f.do_train && !f.do_eval)
    throw UsageError("run_pretraining: at least one of --do_train and --do_eval must be true",
                     "add --do_train");
  check_replays(f.own, f.do_train, "--do_train");
  if (f.do_train) check_divides(f, "--train_batch_size", f.train_batch_size, f.run.micro_batches);
  if (f.do_eval) check_divides(f, "--eval_batch_size", f.eval_batch_size, 1);
  const std::string config_text = io::read_file(f.bert_config_file, io::kSmallFileBytes);
  const model::BertConfig model = model::parse_bert_config(config_text, f.bert_config_file);
  if (!f.init_checkpoint.empty()) checkpoint::check_weights_folder(f.init_checkpoint);
  const std::vector<std::string> files = io::expand_files(f.input_file, "--input_file");
  log_info("*** Input Files ***");
  for (const std::string& file : files) log_info("  {}", file);
  if (!f.tpu_name.empty() || !f.master.empty())
    log_info(
        "--tpu_name and --master are not used: run the program on the machine that has "
        "the TPU");
  const model::Task task = task_of_run(f, model);
  if (!f.own.replay.empty())
    return print_report(train::replay(training_job(f, task), f.own.replay));
  check_case(f, files);
  if (f.do_train) train_run(f, task, config_text);
  if (f.do_eval) evaluate_run(f, task);
}

constexpr double kMostSteps = 2e9;  // the device counts steps in 32 bits

void add_file_flags(OriginalFlags& add, BertRunFlags& f) {
  add("bert_config_file", f.bert_config_file, "model configuration, bert_config.json")->required();
  add("input_file", f.input_file, "TFRecord files or patterns, comma-separated")->required();
  add("output_dir", f.output_dir,
      "folder for checkpoints; training resumes from its newest checkpoint")
      ->required();
  add("init_checkpoint", f.init_checkpoint,
      "pretrained weights for a new run: a TensorFlow prefix (…/bert_model.ckpt), a folder of "
      "smelt "
      "checkpoints or a Hugging Face folder");
  add("max_seq_length", f.max_seq_length, "tokens per example; must match the data")
      ->check(number_from(1, 1e6));
  add("max_predictions_per_seq", f.max_predictions_per_seq,
      "maximum number of masked tokens per example; must match the data")
      ->check(number_from(1, 1e6));
}

void add_job_flags(OriginalFlags& add, BertRunFlags& f) {
  add("do_train", f.do_train, "train; default false");
  add("do_eval", f.do_eval, "evaluate, on the same input_file; default false");
  add("train_batch_size", f.train_batch_size, "examples per step, over all devices")
      ->check(number_from(1, 1e9));
  add("eval_batch_size", f.eval_batch_size, "examples per evaluation batch")
      ->check(number_from(1, 1e9));
  add("learning_rate", f.learning_rate, "highest learning rate")->check(number_from(0));
  add("num_train_steps", f.num_train_steps, "total number of training steps")
      ->check(number_from(1, kMostSteps));
  add("num_warmup_steps", f.num_warmup_steps, "steps of linear warm-up")
      ->check(number_from(0, kMostSteps));
  add("save_checkpoints_steps", f.save_checkpoints_steps, "steps between checkpoints")
      ->check(number_from(1, kMostSteps));
  add("iterations_per_loop", f.iterations_per_loop, "steps between log lines, at most 100")
      ->check(number_from(1, kMostSteps));
  add("max_eval_steps", f.max_eval_steps,
      "number of evaluation batches; the data are repeated if they have fewer")
      ->check(number_from(1, kMostSteps));
  add("use_tpu", f.use_tpu, "train on a TPU; default false");
  for (const auto& [name, value] : {std::pair{"tpu_name", &f.tpu_name},
                                    {"tpu_zone", &f.tpu_zone},
                                    {"gcp_project", &f.gcp_project},
                                    {"master", &f.master}})
    add(name, *value, "accepted, not used");
  add("num_tpu_cores", f.num_tpu_cores, "number of TPU cores, with --use_tpu")
      ->check(number_from(1, 1e6));
}

}  // namespace

static CLI::App* add_with_flags(CLI::App& app, const std::shared_ptr<BertRunFlags>& f) {
  auto* command = app.add_subcommand("run_pretraining",
                                     "pretrain a BERT, or evaluate it: the original BERT program");
  OriginalFlags original(*command);
  add_file_flags(original, *f);
  add_job_flags(original, *f);
  add_run_flags(*command, f->run, "tpu with --use_tpu, else auto: a TPU or GPU if there is one",
                "--num_tpu_cores with --use_tpu, all of a TPU or GPU that auto finds, else 1");
  add_reduction_flag(*command, f->run);
  add_original_run_flags(*command, f->own);
  command->add_option("--vocab_file", f->vocab_file,
                      "vocabulary of the data; checks that data and model match it");
  command
      ->add_option("--keep_checkpoint_max", f->keep_checkpoint_max,
                   "number of newest checkpoints to keep")
      ->check(number_from(1, 1e6))
      ->capture_default_str();
  command
      ->add_option("--random_seed", f->random_seed,
                   "random seed of weights, dropout and the data order")
      ->check(number_from(0, 1e15))
      ->capture_default_str();
  command->add_flag("--write_tf_checkpoint,!--nowrite_tf_checkpoint", f->write_tf_checkpoint,
                    "at the end, also write model.ckpt-<step> for TensorFlow; default true");
  take_the_last(*command);
  return command;
}

void add_run_pretraining_command(CLI::App& app) {
  const auto f = std::make_shared<BertRunFlags>();
  add_with_flags(app, f)->callback([f] {
    run_in_pod(
        f->own.pod, [&] { return f->run.device.value_or(f->use_tpu ? "tpu" : "auto"); },
        [&] { run_bert_pretraining(*f); });
  });
}

void add_run_pretraining_job(CLI::App& app, const TakeJob& take) {
  const auto f = std::make_shared<BertRunFlags>();
  add_with_flags(app, f)->callback([f, take] {
    const model::BertConfig model = model::parse_bert_config(
        io::read_file(f->bert_config_file, io::kSmallFileBytes), f->bert_config_file);
    take([f, task = task_of_run(*f, model)](std::int64_t devices) {
      f->on = f->run.on_tpu(devices);
      check_divides(*f, "--train_batch_size", f->train_batch_size, f->run.micro_batches);
      return training_job(*f, task);
    });
  });
}

}  // namespace smelt::cli
