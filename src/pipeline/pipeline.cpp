#include "pipeline/pipeline.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "checkpoint/storage/checkpoint.h"
#include "data/preprocess/example_files.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "model/train_step/model_flops.h"
#include "pipeline/distillation.h"
#include "pipeline/epochs.h"
#include "pipeline/evaluation.h"
#include "pipeline/kept_recipe.h"
#include "pipeline/objective_type.h"
#include "pipeline/pretrained_model.h"
#include "pipeline/recipe_checks.h"
#include "pipeline/text_size.h"
#include "train/job_checks.h"
#include "train/job_program.h"

namespace smelt {
namespace {

// At checks: answers take time, so they are given where the best is kept by them.
bool answers_are_measured(const Recipe& r) {
  const auto& names = r.type->answered_measures;
  return std::ranges::find(names, r.train.checkpoint.best_metric) != names.end();
}

// So many layers that only a loop of them is built at once.
bool is_deep(const Recipe& r) {
  const std::int64_t layers =
      r.model.value("num_hidden_layers", r.model.value("num_layers", std::int64_t{0}));
  return layers > 100 && !r.train.compute->layers;
}

ProgramFacts facts_of(const StepProgram& program, std::int64_t batch_size) {
  ProgramFacts out;
  out.parameters = program.state.parameters();
  const auto bytes = [](const Shape& shape) {
    return shape.elements() * static_cast<std::int64_t>(dtype_size_bytes(shape.dtype));
  };
  for (std::size_t i = 0; i < program.state.tensors.size(); ++i) {
    const Shape& shape = program.state.tensors[i].shape;
    (i < program.state.values ? out.value_bytes : out.slot_bytes) += bytes(shape);
  }
  for (const Feature& feature : program.features)
    out.batch_bytes += batch_size * bytes({feature.dtype, feature.row});
  return out;
}

// Fills the masks of the recipe's texts while the model is trained.
decltype(TrackChoice::sampler) sampler_of(const Recipe& r, const Task& task) {
  std::vector<std::string> texts;
  for (const std::string_view text : split(r.track.fill, '|')) texts.emplace_back(trim(text));
  if (r.type->sampler)
    return [r, texts](std::shared_ptr<const Client> client, const ShardingPlan& placement) {
      return r.type->sampler(r, texts, std::move(client), placement);
    };
  FillMaskJob job = fill_job_to_train(*r.type, task);
  job.exact_products = r.train.compute->precision == Precision::f32_exact;
  const auto tokenizer = BertTokenizer::load(vocabulary_path(r), tokenizer_flags(r));
  return [job, texts, tokenizer](std::shared_ptr<const Client> client,
                                 const ShardingPlan& placement) {
    return std::make_unique<const MaskSampler>(std::move(client), job, tokenizer, texts, placement);
  };
}

// All that a resumed run must have in common with the one before; of a recipe whose epochs are
// counted.
TrainJob same_job(const Recipe& r) {
  const RecipePaths paths(r);
  TrainJob job = train_job(r.train, distilled_task(r, r.type->task(r), DistilledFor::training));
  job.data = paths.train_records;
  job.vocab = made_vocabulary(paths);
  job.model_dir = paths.model_dir;
  return job;
}

}  // namespace

TrainJob train_job(const TrainConfig& t, Task task) {
  TrainJob job;
  job.config = step_config(t, task);
  job.task = std::move(task);
  job.on = t;
  job.checkpoint = t.checkpoint;
  job.early_stopping = t.early_stopping;
  job.hang_minutes = t.hang_minutes;
  job.init = t.init_from;
  job.track.log_every = t.logging_steps;
  return job;
}

TokenizerFlags tokenizer_flags(const Recipe& r) {
  TokenizerFlags flags{.control = r.type->control};
  flags.segment_command_name = "vocab.segment_command";
  if (!r.vocab.segment_command.empty()) flags.segment_command = r.vocab.segment_command;
  if (is_sentencepiece(r)) return flags;  // a run's own recipe says every field
  flags.lower_case_name = "vocab.lower_case";
  flags.strip_accents_name = "vocab.strip_accents";
  flags.control_name = "model.type";  // which says them; its values are the same words
  if (r.is_set("vocab.lower_case")) flags.lower_case = r.vocab.lower_case;
  if (r.is_set("vocab.strip_accents") && r.vocab.strip_accents != "auto")
    flags.strip_accents = r.vocab.strip_accents == "true";
  return flags;
}

// tokenizer.json holds a vocabulary of any type, vocab.txt one of word pieces alone.
static const char* vocabulary_name(const Recipe& r) {
  if (is_sentencepiece(r)) return "vocab.model";
  return r.vocab.type == "wordpiece" ? "vocab.txt" : "tokenizer.json";
}

RecipePaths::RecipePaths(const Recipe& r)
    : train_text(join_path(r.out, "text/train.txt")),
      heldout_text(join_path(r.out, "text/heldout.txt")),
      vocab(join_path(r.out, vocabulary_name(r))),
      train_output(join_path(r.out, str("data/train.", r.type->records))),
      heldout_output(join_path(r.out, str("data/heldout.", r.type->records))),
      train_records(r.ready.records),
      heldout_records(r.ready.heldout),
      model_dir(join_path(r.out, "model")),
      evaluation(join_path(r.out, "model/eval_results.txt")),
      hugging_face(join_path(r.out, "huggingface")),
      trained(!r.trained->empty() ? *r.trained
              : r.eval.best       ? join_path(model_dir, "best")
                                  : model_dir) {
  name_records(r);
  const bool test = r.eval.split == "test";
  if (test) evaluation = join_path(model_dir, "test_results.txt");
  scored = test ? test_records : heldout_records;
  predictions = join_path(model_dir, test ? "test_predictions.jsonl" : "predictions.jsonl");
}

void RecipePaths::name_records(const Recipe& r) {
  if (!train_records.empty()) return;
  if (!r.data.value("test", "").empty())
    test_records = join_path(r.out, str("data/test.", r.type->records));
  train_records =
      r.ready.shards == 1 ? train_output : join(output_names(train_output, r.ready.shards), ",");
  heldout_records = holds_nothing_out(r) ? "" : heldout_output;
}

std::vector<std::string> record_files(const std::string& records) {
  std::vector<std::string> out;
  for (const std::string_view one : split(records, ','))
    for (std::string& file : match_pattern(std::string(trim(one)), "data.records"))
      out.push_back(std::move(file));
  return out;
}

std::string vocabulary_path(const Recipe& r) {
  std::string vocab = RecipePaths(r).vocab;
  if (!exists(vocab))
    throw UsageError(str(r.out, ": no vocabulary here yet (", vocab, ")"),
                     "`smelt run` makes text, vocabulary and data, and trains");
  return vocab;
}

Vocabulary vocabulary_of(const Recipe& r) { return Vocabulary::load(vocabulary_path(r)); }

void check_program(const Recipe& r, const Task& of_model) {
  const RecipeChecks checks(r);
  const Task task = distilled_task(r, of_model, DistilledFor::asking);
  checks.require(r.eval.passes == 1 || task.draws, {"eval.passes"},
                 str("eval.passes is ", r.eval.passes, ", but ", task.name, " draws nothing"),
                 "set eval.passes to 1");
  checks.require(
      r.train.optimizer.layer_decay == 1 || task.layer_rates, {"train.optimizer.layer_decay"},
      str("train.optimizer.layer_decay is given, but ", task.name, " has one rate for all layers"),
      "leave it out; train.optimizer.rate_rules give rates by parameters' names");
  checks.accepts(
      {"train.checkpoint.best_metric", "train.parallelism.mesh", "train.parallelism.rules",
       "train.memory.attention_rows", "train.optimizer.eta_rules", "train.optimizer.slot_rules",
       "train.optimizer.amos_preset", "train.optimizer.rate_rules", "train.optimizer.decay_rules"},
      [&] {
        auto job = std::make_shared<TrainJob>(train_job(r.train, task));
        job->state_measures = r.type->answered_measures;
        if (is_deep(r)) job->on.compute->layers = Layers::scan;
        auto step = std::make_shared<const StepProgram>(training_program(*job, r.train.device));
        *r.program = facts_of(*step, r.train.batch_size);
        r.program->step = std::move(step);
        if (!r.train.checkpoint.best_metric.empty())
          check_best(*job, eval_program(task, 1, ShardingPlan()).report.measures);
        r.program->job = std::move(job);
      });
  r.program->flops_per_example = training_flops(task);
}

std::string made_vocabulary(const RecipePaths& paths) {
  return exists(paths.vocab) ? paths.vocab : "";
}

std::optional<std::int64_t> check_goes_on(const Recipe& r) {
  return check_resume(same_job(with_epochs(r)));
}

TrainSummary train_model(const Recipe& given, const Beginning& beginning) {
  const Recipe r = with_epochs(given);
  const RecipePaths paths(r);
  TrainJob job = same_job(r);
  job.begin = beginning.begin;
  job.overwrite = beginning.overwrite;
  job.track.settings = r.sections;
  job.accepted = [&] {
    keep_recipe(r);
    for (const auto& [name, content] : r.type->model_files(r))
      write_file(join_path(paths.model_dir, name), content);
  };
  log_info("train: {}", run_length_text(r));
  job.track.histograms_every = r.track.histograms_every;
  job.track.gradient_histograms = r.track.gradients;
  if (!r.track.fill.empty()) job.track.sampler = sampler_of(r, r.type->task(r));
  if (r.eval.every > 0) {
    const HeldOutBatches batches = held_out_batches(r, job.task, paths.heldout_records);
    job.validation = {.data = paths.heldout_records,
                      .batch_size = batches.size,
                      .steps = batches.steps,
                      .passes = r.eval.passes,
                      .repeats = batches.repeats,
                      .averages = r.train.ema_decay > 0 && r.eval.averaged};
    job.check_every = r.eval.every;
    if (answers_are_measured(r)) {
      job.state_measures = r.type->answered_measures;
      job.make_state_measures = [&r](std::shared_ptr<const Client> client) {
        return r.type->state_measures(r, std::move(client));
      };
    }
  }
  return train(job);
}

GradientReport replay_model(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r);
  TrainJob job = train_job(r.train, distilled_task(r, r.type->task(r), DistilledFor::training));
  job.vocab = made_vocabulary(paths);
  return replay(job, folder.empty() ? newest_bad_batch(paths.model_dir) : folder);
}

void export_model(const Recipe& r, const std::string& folder) {
  if (!r.type->export_folder)
    throw UsageError(str("export: a model of type ", r.type->name, " has no folder to export"),
                     "its checkpoints are in the recipe's model folder");
  r.type->export_folder(r, folder);
}

}  // namespace smelt
