#include "cli/compat/jestimator_setup.h"

#include <map>

#include "base/choice.h"
#include "base/log.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/train_job.h"

namespace smelt::cli {
namespace {

constexpr std::int64_t kValidationDraws = 20;  // random masks per validation batch, as the original

std::string variant_of(const std::string& module) {
  return choose<std::string>("--module_imp", module,
                             {{"jestimator.models.bert.pretrain", "bert"},
                              {"jestimator.models.rope.pretrain", "rope"},
                              {"jestimator.models.bert_rpe.pretrain", "bert_rpe"}});
}

[[noreturn]] void throw_missing_flag(const char* flag, const char* hint) {
  throw UsageError(str(flag, " is missing"), hint);
}

// Returns the number of model partitions: --num_partitions, or the product of the sizes in
// --model_parallel_submesh, such as 2 for "(1,1,1,2)".
std::int64_t partitions_of(const JestimatorFlags& f) {
  if (f.model_parallel_submesh.empty()) return f.num_partitions;
  std::int64_t product = 1;
  for (const std::string_view part : split(f.model_parallel_submesh, ',')) {
    const std::string digits(trim(part.substr(0, part.find_last_not_of(") ") + 1)));
    const std::string number =
        digits.substr(std::min(digits.size(), digits.find_first_not_of("( ")));
    if (number.empty() || number.find_first_not_of("0123456789") != number.npos ||
        number.size() > 9 || number == "0")
      throw UsageError(str("--model_parallel_submesh: ", f.model_parallel_submesh,
                           " is not a tuple of integers"),
                       "use --num_partitions instead");
    product *= std::stoll(number);
  }
  return product;
}

model::DeviceConfig run_on(const JestimatorFlags& f) {
  const std::int64_t tensor = partitions_of(f);
  model::DeviceConfig on = f.on;
  if (tensor == 1) return on;
  if (on.devices % tensor != 0)
    throw UsageError(str("--num_partitions ", tensor, " does not divide --devices ", on.devices),
                     "choose a number of devices that is a multiple of it");
  if (on.mesh.mesh == "auto") on.mesh.mesh = str("data=", on.devices / tensor, ",tensor=", tensor);
  return on;
}

train::TrainConfig training_of(const JestimatorFlags& f) {
  const JestimatorOptimizer& o = f.optimizer;
  if (o.linear_decay_to_step && *o.linear_decay_to_step <= o.warmup_steps)
    throw UsageError(str("--module_config.opt_config.linear_decay_to_step ",
                         *o.linear_decay_to_step, " is not after warmup_steps ", o.warmup_steps),
                     "raise it, or remove it for no decay");
  train::TrainConfig t;
  static_cast<model::DeviceConfig&>(t) = run_on(f);
  t.batch_size = f.train_batch_size;
  t.optimizer.learning_rate = o.learning_rate;
  t.schedule.type = "jestimator";
  t.schedule.warmup_steps = o.warmup_steps;
  t.schedule.decay_to_step = o.linear_decay_to_step.value_or(0);
  t.optimizer.type = o.optimizer == "amos" ? "amos" : "optax_adamw";
  t.optimizer.beta1 = o.momentum;
  t.optimizer.beta2 = o.beta;
  t.optimizer.weight_decay = o.weight_decay;
  t.gradient_accumulation_steps = f.run.micro_batches;
  return t;
}

EstimatorMode guessed_mode(const JestimatorFlags& f, const StartingPoint& start) {
  if (!f.eval_pattern.empty()) {
    const bool training_goes_on = !f.train_pattern.empty();
    const bool not_yet_trained = !f.model_dir.empty() && start.path.empty();
    return training_goes_on || not_yet_trained ? EstimatorMode::eval_wait
                                               : EstimatorMode::eval_once;
  }
  if (f.train_pattern.empty()) return EstimatorMode::predict;
  if (!f.pred_pattern.empty())
    throw UsageError("--train_pattern and --pred_pattern are both given, but only one mode can run",
                     "add --mode=train or --mode=predict");
  return EstimatorMode::train;
}

}  // namespace

StartingPoint starting_point(const JestimatorFlags& f) {
  if (!f.model_dir.empty()) {
    if (!f.checkpoint_path.empty() &&
        io::is_path_inside(io::parent_path(f.checkpoint_path), f.model_dir)) {
      log_info(
          "checkpoint_path {} is in model_dir and takes precedence over other checkpoints there; "
          "remove "
          "the flag to resume from the newest",
          f.checkpoint_path);
      return {.path = f.checkpoint_path, .own = true};
    }
    if (const auto newest = checkpoint::latest_checkpoint(f.model_dir)) {
      log_info("the newest checkpoint in model_dir is {}{}",
               checkpoint::committed_path(f.model_dir, *newest),
               f.checkpoint_path.empty() ? "" : "; checkpoint_path is not used");
      return {.path = f.model_dir, .own = true, .newest = true};
    }
  }
  return {.path = f.checkpoint_path};
}

EstimatorMode mode_of(const JestimatorFlags& f, const StartingPoint& start) {
  const EstimatorMode mode = f.mode.empty()
                                 ? guessed_mode(f, start)
                                 : choose<EstimatorMode>("--mode", f.mode,
                                                         {{"train", EstimatorMode::train},
                                                          {"eval_once", EstimatorMode::eval_once},
                                                          {"eval_wait", EstimatorMode::eval_wait},
                                                          {"predict", EstimatorMode::predict}});
  const bool evaluates = mode == EstimatorMode::eval_once || mode == EstimatorMode::eval_wait;
  if (mode == EstimatorMode::train && f.train_pattern.empty())
    throw_missing_flag("--train_pattern", "name the data to train on");
  if (evaluates && f.eval_pattern.empty())
    throw_missing_flag("--eval_pattern", "name the data to evaluate on");
  if (mode == EstimatorMode::predict && f.pred_pattern.empty())
    throw_missing_flag("--pred_pattern",
                       f.mode.empty() ? "use --train_pattern to train, --eval_pattern to evaluate "
                                        "or --pred_pattern to predict"
                                      : "name the data to predict");
  if ((mode == EstimatorMode::train || mode == EstimatorMode::eval_wait) && f.model_dir.empty())
    throw_missing_flag("--model_dir", "name the folder of the checkpoints");
  if ((mode == EstimatorMode::eval_once || mode == EstimatorMode::predict) && start.path.empty())
    throw UsageError(str("no checkpoint in --model_dir '", f.model_dir, "'"),
                     "train first, or set --checkpoint_path");
  return mode;
}

model::JestimatorBertTask jestimator_task_of(const JestimatorFlags& f) {
  model::JestimatorBertTask out{.model = f.model, .settings = {}};
  out.model.variant = variant_of(f.module_imp);
  if (f.relative_attention_max_distance) {
    if (!out.model.is_relative())
      throw UsageError(
          str("--module_config.model_config.relative_attention_max_distance: ", f.module_imp,
              " has no such field"),
          "remove the flag, or use jestimator.models.bert_rpe.pretrain, which has the field");
    out.model.relative_attention_max_distance = *f.relative_attention_max_distance;
  }
  if (out.model.vocab_size == 0)
    throw_missing_flag("--module_config.model_config.vocab_size",
                       "set it to the number of pieces in the vocabulary, 32000 in the tutorial");
  if (!f.mask_token_id)
    throw_missing_flag("--module_config.mask_token_id",
                       "set it to the id of the vocabulary's mask token, 4 in the tutorial");
  model::check_jestimator_bert_config(
      out.model, [](const std::string&) { return std::string("--module_config.model_config"); });
  out.settings = {.mask_token_id = *f.mask_token_id, .mask_rate = f.mask_rate};
  return out;
}

execution::TrainedModel load_jestimator(std::string_view command, const std::string& path,
                                        const JestimatorFlags& f) {
  const Json settings = model::jestimator_bert_task(jestimator_task_of(f)).settings;
  execution::TrainedModel out = execution::load_trained_model(command, path, settings["model"], "",
                                                              true, jestimator_fields("eval"));
  const auto objective = out.checkpoint.state.value("objective", Json::object());
  const auto mask = objective.value("mask_token_id", *f.mask_token_id);
  if (mask != *f.mask_token_id)
    throw UsageError(
        str(out.where, ": was trained with mask_token_id ", mask, ", not ", *f.mask_token_id),
        str("use --module_config.mask_token_id=", mask));
  return out;
}

train::TrainJob jestimator_job(const JestimatorFlags& f) {
  if (f.train_consecutive)
    throw UsageError(str("--train_consecutive ", *f.train_consecutive,
                         ": these models do not read consecutive windows"),
                     "remove the flag");
  return pipeline::train_job(training_of(f), model::jestimator_bert_task(jestimator_task_of(f)));
}

Fields jestimator_fields(const std::string& what, const std::string& end) {
  return [what, end](const std::string& name) {
    if (name == "eval.batch_size") return str("--", what, "_batch_size");
    if (name == "steps") return end;
    if (name == "model.type") return std::string("the model type");
    if (name == "schedule.decay_to_step")
      return std::string("--module_config.opt_config.linear_decay_to_step");
    if (name == "batch_size") return std::string("--train_batch_size");
    if (name == "seed") return std::string("--random_seed");
    static const std::map<std::string, std::string> kOptimizer{
        {"optimizer.learning_rate", "learning_rate"},
        {"schedule.warmup_steps", "warmup_steps"},
        {"optimizer.type", "optimizer"},
        {"optimizer.beta1", "momentum"},
        {"optimizer.beta2", "beta"},
        {"optimizer.weight_decay", "weight_decay"}};
    if (const auto found = kOptimizer.find(name); found != kOptimizer.end())
      return "--module_config.opt_config." + found->second;
    if (name.starts_with("model.mask_")) return str("--module_config.", name.substr(6));
    if (name.starts_with("model.")) return str("--module_config.model_config.", name.substr(6));
    return flag(name);
  };
}

execution::HeldOut held_out_of(const std::string& what, const std::string& pattern,
                               std::int64_t batch, std::int64_t examples) {
  if (examples >= 0 && examples < batch)
    throw UsageError(str("--num_", what, "_examples ", examples, " are fewer than one batch of --",
                         what, "_batch_size ", batch),
                     str("lower --", what, "_batch_size, or use more examples"));
  return {.data = pattern,
          .batch_size = batch,
          .steps = examples < 0 ? 0 : examples / batch,
          .passes = kValidationDraws,
          .as_original = true};
}

std::vector<model::MeasuredValue> valid_metrics(const execution::Evaluation& evaluation) {
  model::MeasuredValue loss = evaluation.measure("masked_lm_loss"), mrr = evaluation.measure("mrr");
  loss.name = "valid_loss";
  mrr.name = "valid_mrr";
  return {loss, mrr};
}

}  // namespace smelt::cli
