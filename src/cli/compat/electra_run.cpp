#include "cli/compat/electra_run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>

#include "base/log.h"
#include "base/plural.h"
#include "checkpoint/storage/checkpoint.h"
#include "cli/compat/electra_hparams.h"
#include "cli/compat/electra_log.h"
#include "cli/compat/import_tf_run.h"
#include "cli/compat/original_job.h"
#include "cli/compat/tensorflow_copy.h"
#include "cli/options/answers.h"
#include "cli/options/form_flags.h"
#include "cli/options/number_check.h"
#include "cli/options/original_flags.h"
#include "data/input_pipeline/record_index.h"
#include "execution/inference/evaluate.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/train_job.h"
#include "pipeline/objectives/electra_model.h"
#include "pipeline/stages/evaluation.h"
#include "train/job_program.h"
#include "train/process_group.h"
#include "train/trainer.h"

namespace smelt::cli {
namespace {

struct ElectraRunFlags {
  std::string data_dir, model_name, hparams = "{}";
  RunFlags run;                 // overrides use_tpu and num_tpu_cores
  model::DeviceConfig on = {};  // devices, set when the command runs
  std::string init;
  bool rescale_learning_rate = false, overwrite = false, write_tf_checkpoint = true;
  OriginalRunFlags own;
};

// The settings that an earlier run in the folder has stored next to its checkpoints.
struct EarlierRun {
  explicit EarlierRun(const ElectraHparams& h) {
    const std::string path = saved_hparams_path(h.model_dir);
    is_known = io::exists(path);
    if (!is_known) return;
    const auto saved = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
    if (!saved.is_object()) return;
    const auto whole = [&](const char* name) -> std::int64_t {
      const Json value = saved.value(name, Json(0));
      if (value.is_number_integer()) return value;
      throw UsageError(str(path, ": ", name, " is ", value.dump(), ", not an integer"),
                       "correct it, or remove the file");
    };
    steps = whole("num_train_steps");
    continued_from = whole(kContinuedFrom);
  }

  static void save(const ElectraHparams& h, std::int64_t continued_from) {
    Json out = io::config_json(h);
    out["model_hparam_overrides"] = h.model_hparam_overrides;
    out[kContinuedFrom] = continued_from;
    io::write_file(saved_hparams_path(h.model_dir), out.dump(2) + "\n");
  }

  bool is_known = false;            // false: no run, or a run of another program
  std::int64_t steps = 0;           // num_train_steps of the earlier run
  std::int64_t continued_from = 0;  // num_train_steps of the finished run that it continued
};

// How this run continues a finished run with more steps. With --rescale-learning-rate, the learning
// rate at the step `from` is learning_rate again.
struct Continuation {
  Continuation() = default;
  explicit Continuation(const ElectraHparams& h) {
    const EarlierRun earlier(h);
    const auto done = checkpoint::latest_checkpoint(h.model_dir);
    if (!done || *done < earlier.continued_from) return;  // its checkpoints were removed
    is_known = earlier.is_known;
    const bool raised = *done == earlier.steps && h.num_train_steps > earlier.steps;
    from = raised || !is_known ? *done : earlier.continued_from;
    begins = *done == from;
  }

  // The last step of the finished run with fewer steps, or the step of another program's
  // checkpoint; 0 if this run continues none.
  std::int64_t from = 0;
  bool is_known = true;
  bool begins = false;  // true if this run starts at the step `from`
};

[[noreturn]] void refuse_to_rescale(const ElectraRunFlags& f, const ElectraHparams& h) {
  if (!f.init.empty() && !checkpoint::latest_checkpoint(h.model_dir))
    throw UsageError(str("--rescale-learning-rate: the learning rate of ", h.model_dir,
                         " has not decayed: a run with the weights of --init begins at step 0"),
                     "remove the flag");
  throw UsageError(str("--rescale-learning-rate: ", h.model_dir,
                       " has no finished run of fewer steps than ", h.num_train_steps),
                   "remove the flag, or raise num_train_steps of a finished run");
}

// Returns the learning rate for the schedule: rescaled if --rescale-learning-rate is given, else
// unchanged. Throws UsageError if the flag is given but no finished run is continued. The decay
// covers all steps from the first: a run of A steps that is continued for B more steps would resume
// at lr * (B/(A+B))^lr_decay_power, far below lr.
double continued_learning_rate(const ElectraRunFlags& f, const ElectraHparams& h,
                               const Continuation& run) {
  const std::int64_t more = h.num_train_steps - run.from;
  const bool goes_on = run.from > 0 && more > 0;
  if (f.rescale_learning_rate && !goes_on) refuse_to_rescale(f, h);
  if (!goes_on) return h.learning_rate;
  const double total = static_cast<double>(h.num_train_steps), rest = static_cast<double>(more);
  const double rescaled = h.learning_rate * std::pow(total / rest, h.lr_decay_power);
  if (f.rescale_learning_rate) {
    log_info("learning_rate {:.6g} instead of {}: the {} after step {} {} at {}", rescaled,
             h.learning_rate, counted(more, "step"), run.from, more == 1 ? "begins" : "begin",
             h.learning_rate);
    return rescaled;
  }
  if (run.begins)
    log_warning(
        "{}: the learning rate decays over all steps and resumes at {:.3g}, not {}; "
        "{}--rescale-learning-rate makes it resume at {} (learning_rate {:.6g})",
        run.is_known ? str("num_train_steps is raised from ", run.from, " to ", h.num_train_steps)
                     : str("step ", run.from, " of another program's run is continued to ",
                           h.num_train_steps, " steps"),
        h.learning_rate * std::pow(rest / total, h.lr_decay_power), h.learning_rate,
        run.is_known ? "" : "if that run was finished, ", h.learning_rate, rescaled);
  return h.learning_rate;
}

// Returns the name that messages use for a setting of training or evaluation.
std::string electra_field(const std::string& name) {
  static const std::map<std::string, std::string> kHparams{
      {"optimizer.learning_rate", "learning_rate"},
      {"optimizer.weight_decay", "weight_decay_rate"},
      {"schedule.warmup_steps", "num_warmup_steps"},
      {"schedule.power", "lr_decay_power"},
      {"steps", "num_train_steps"},
      {"batch_size", "train_batch_size"},
      {"data.seq_length", "max_seq_length"},
      {"eval.batch_size", "eval_batch_size"},
      {"model.type", "the model type"}};
  if (const auto found = kHparams.find(name); found != kHparams.end()) return found->second;
  return name.starts_with("model.") ? name.substr(6) : flag(name);
}

// Returns the task with the values that depend on vocabulary and data.
model::ElectraTask task_of(const ElectraHparams& h) {
  const model::ElectraTask task = electra_task_settings(h);
  return pipeline::with_files(task, electra_vocabulary(h, task.model.vocab_size),
                              data::record_files(h.pretrain_tfrecords, "pretrain_tfrecords"),
                              "vocab_size");
}

train::TrainConfig training_of(const ElectraRunFlags& f, const ElectraHparams& h) {
  train::TrainConfig t;
  static_cast<model::DeviceConfig&>(t) = f.on;
  t.batch_size = h.train_batch_size;
  t.steps = h.num_train_steps;
  t.optimizer.learning_rate = h.learning_rate;
  t.optimizer.weight_decay = h.weight_decay_rate;
  t.schedule.type = "electra";
  t.schedule.warmup_steps = h.num_warmup_steps;
  t.schedule.power = h.lr_decay_power;
  t.reduction = original_reduction(f.run, f.on, f.overwrite ? "" : h.model_dir, electra_field);
  t.gradient_accumulation_steps = f.run.micro_batches;
  t.init_from = f.init;
  t.checkpoint.save_interval_steps = h.save_checkpoints_steps;
  t.checkpoint.max_to_keep = h.keep_checkpoint_max;
  t.hang_minutes = f.own.hang_minutes;
  t.logging_steps = h.iterations_per_loop;
  return t;
}

train::TrainJob training_job(const ElectraRunFlags& f, const ElectraHparams& h) {
  train::TrainJob job = pipeline::train_job(training_of(f, h), model::electra_task(task_of(h)));
  job.data = h.pretrain_tfrecords;
  job.vocab = h.vocab_file;
  job.model_dir = h.model_dir;
  job.overwrite = f.overwrite;
  job.track.log_line = electra_log_line;
  job.fields = electra_field;
  return job;
}

void run_training(const ElectraRunFlags& f, const ElectraHparams& h) {
  train::TrainJob job = training_job(f, h);
  std::optional<AdoptedRun> adopted;
  if (!f.overwrite) {
    if (f.init.empty()) require_full_checkpoint(h.model_dir, "--init");
    adopted.emplace(h.model_dir, job.task.settings["model"]);
  }
  const Continuation run = f.overwrite ? Continuation() : Continuation(h);
  job.config.schedule.learning_rate = continued_learning_rate(f, h, run);
  job.accepted = [&] {
    EarlierRun::save(h, run.from);
    if (adopted) adopted->keep();
  };
  train::train(job);
  if (adopted) adopted->keep();  // also if no steps are left, so that job.accepted was not called
  if (f.write_tf_checkpoint) leave_tensorflow_checkpoint(h.model_dir);
}

// Returns "unsup_results.json" for "unsup_results.txt"; the original writes a pickle instead.
std::string results_json(const std::string& txt) {
  const std::string name = io::path_name(txt);
  const std::string stem = name.substr(0, name.rfind('.'));
  return io::join_path(io::parent_path(txt), stem + ".json");
}

void run_evaluation(const ElectraRunFlags& f, const ElectraHparams& h) {
  execution::EvaluateJob job;
  job.task = model::electra_task(task_of(h));
  AdoptedRun adopted(h.model_dir, job.task.settings["model"]);
  job.batch_size = h.eval_batch_size;
  job.on = f.on;
  job.data = h.pretrain_tfrecords;
  job.vocab = h.vocab_file;
  job.model_dir = h.model_dir;
  job.steps = h.num_eval_steps;
  job.as_original = job.repeats = true;
  job.fields = electra_field;
  const execution::Evaluation e = execution::evaluate(job);
  adopted.keep();
  const std::string text = electra_results(e);
  std::cout << text << std::flush;
  if (!train::is_rank_zero()) return;
  io::write_file(h.results_txt, text);
  io::write_file(results_json(h.results_txt), pipeline::evaluation_json(e).dump(2) + "\n");
}

void run_pretraining(ElectraRunFlags& f) {
  if (!io::is_remote(f.data_dir) && !io::is_folder(f.data_dir))
    throw UsageError(str("--data-dir ", f.data_dir, " is not a folder"),
                     "name the folder that contains vocab.txt and pretrain_tfrecords/");
  const ElectraRunConfig config = parse_electra_hparams(f.hparams, f.data_dir, f.model_name);
  const ElectraHparams& h = config.hparams;
  if (!config.of_size.empty())
    log_info("{}: the paper's values {}; --hparams can override them", h.model_size,
             join(config.of_size, ", "));
  if (!h.tpu_name.empty())
    log_info("tpu_name {} is not used: run the program on the machine that has the TPU",
             h.tpu_name);
  f.on = f.run.on(h.use_tpu ? std::optional(h.num_tpu_cores) : std::nullopt);
  check_replays(f.own, h.do_train, "do_train in --hparams");
  if (!f.own.replay.empty()) return print_report(train::replay(training_job(f, h), f.own.replay));
  if (f.overwrite && !h.debug)
    throw UsageError("--overwrite: only valid with debug",
                     str("remove the flag, or delete ", h.model_dir));
  if (h.do_eval) {
    if (!f.init.empty())
      throw UsageError("--init: do_eval evaluates the model's own checkpoint",
                       "remove --init, or train with it first");
    return run_evaluation(f, h);
  }
  if (h.debug && !f.overwrite && !io::list_folder(h.model_dir).empty())
    throw UsageError(str("debug: ", h.model_dir, " is not empty"),
                     "add --overwrite to start again, or use another --model-name");
  if (f.overwrite && !f.init.empty() && io::is_path_inside(f.init, h.model_dir))
    throw UsageError(
        str("--init: ", f.init, " is inside ", h.model_dir, ", which --overwrite deletes"),
        "copy the weights to another folder, or use another --model-name");
  run_training(f, h);
}

}  // namespace

static CLI::App* add_with_flags(CLI::App& electra, const std::shared_ptr<ElectraRunFlags>& f) {
  auto* command = electra.add_subcommand("run_pretraining",
                                         "pretrain an ELECTRA on the examples, or evaluate it");
  command
      ->add_option("--data-dir", f->data_dir,
                   "folder with vocab.txt and pretrain_tfrecords/; models go to models/")
      ->required();
  command->add_option("--model-name", f->model_name, "the model's folder in models/")->required();
  command
      ->add_option("--hparams", f->hparams,
                   "the original's hyperparameters: a JSON object, or the path of a file that ends "
                   "in .json")
      ->capture_default_str();
  add_run_flags(*command, f->run, "tpu with use_tpu, else auto: a TPU or GPU if there is one",
                "num_tpu_cores with use_tpu, all of a TPU or GPU that auto finds, else 1");
  add_reduction_flag(*command, f->run);
  add_original_run_flags(*command, f->own);
  command->add_option("--init", f->init,
                      "pretrained weights for a new run: a folder of smelt checkpoints, a "
                      "Hugging Face folder, or a TensorFlow checkpoint");
  command->add_flag("--rescale-learning-rate", f->rescale_learning_rate,
                    "if num_train_steps of a finished run is raised, resume at learning_rate");
  command->add_flag("--overwrite", f->overwrite, "with debug: delete the model and start again");
  command->add_flag("--write-tf-checkpoint,!--no-write-tf-checkpoint", f->write_tf_checkpoint,
                    "at the end, also write model.ckpt-<step> for TensorFlow; default true");
  take_the_last(*command);
  return command;
}

void add_electra_run_pretraining(CLI::App& electra) {
  const auto f = std::make_shared<ElectraRunFlags>();
  add_with_flags(electra, f)->callback([f] {
    const auto device = [&] {
      const ElectraHparams h =
          parse_electra_hparams(f->hparams, f->data_dir, f->model_name).hparams;
      return f->run.device.value_or(h.use_tpu ? "tpu" : "auto");
    };
    run_in_pod(f->own.pod, device, [&] { run_pretraining(*f); });
  });
}

void add_electra_job(CLI::App& app, const TakeJob& take) {
  auto* electra = app.add_subcommand(
      "electra", "run the original ELECTRA programs: make data, pretrain, evaluate");
  electra->require_subcommand(1);
  const auto f = std::make_shared<ElectraRunFlags>();
  add_with_flags(*electra, f)->callback([f, take] {
    const ElectraHparams h = parse_electra_hparams(f->hparams, f->data_dir, f->model_name).hparams;
    take([f, h](std::int64_t devices) {
      f->on = f->run.on_tpu(devices);
      train::TrainJob job =
          pipeline::train_job(training_of(*f, h), model::electra_task(electra_task_settings(h)));
      job.on = f->on;
      job.fields = electra_field;
      return job;
    });
  });
}

}  // namespace smelt::cli
