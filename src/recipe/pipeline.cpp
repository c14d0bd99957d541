#include "recipe/pipeline.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iostream>
#include <span>

#include "base/error.h"
#include "base/stop_notice.h"
#include "base/words.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/given_weights.h"
#include "recipe/evaluation.h"
#include "recipe/objective_type.h"
#include "recipe/optimizer_choice.h"
#include "recipe/recipe_checks.h"
#include "recipe/schedule_choice.h"
#include "recipe/stage.h"
#include "runtime/hardware.h"
#include "step/model_flops.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/folder_lock.h"
#include "store/path.h"
#include "text/prose.h"
#include "tokenize/vocabulary_job.h"
#include "train/job_checks.h"
#include "train/job_program.h"
#include "train/start.h"

namespace smelt {
namespace {

TrainingConfig training_config(const TrainSection& t, const std::string& model_type) {
  TrainingConfig c;
  c.batch_size = t.batch_size;
  c.schedule = schedule_of(t);
  c.optimizer = optimizer_of(t, model_type);
  c.clip_norm = clip_norm_of(t);
  if (t.optimizer != "amos") c.clip_value = clip_value_of(t);  // it clips by itself
  c.rules = parameter_rules_of(t);
  c.ema_decay = t.ema_decay;
  if (t.spike_action != "none")
    c.spikes = {.action = t.spike_action == "skip" ? SpikeAction::skip : SpikeAction::rewind,
                .window = t.spike_window,
                .sigmas = t.spike_sigmas,
                .rewind_skip = t.rewind_skip};
  c.reduction = parse_reduction("train.reduction", t.reduction);
  c.micro_batches = t.micro_batches;
  c.seed = static_cast<std::uint64_t>(t.seed);
  return c;
}

}  // namespace

static ProgramFacts facts_of(const StepProgram& program, std::int64_t batch_size) {
  ProgramFacts out{.parameters = program.state.parameters()};
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

TrainJob train_job(const TrainSection& t, Task task) {
  TrainJob job;
  job.config = training_config(t, task.name);
  job.task = std::move(task);
  job.on = run_on(t);
  job.save_every = t.save_every;
  job.save_minutes = t.save_minutes;
  job.keep = t.keep;
  job.keep_every = t.keep_every;
  job.keep_best = t.keep_best;
  job.hang_minutes = t.hang_minutes;
  job.init = t.init;
  job.track.log_every = t.log_every;
  return job;
}

TokenizerFlags tokenizer_flags(const Recipe& r) {
  TokenizerFlags flags{.lower_case = r.vocab.lower_case, .control = r.type->control};
  if (r.vocab.strip_accents != "auto") flags.strip_accents = r.vocab.strip_accents == "true";
  return flags;
}

RecipePaths::RecipePaths(const Recipe& r)
    : train_text(join_path(r.out, "text/train.txt")),
      heldout_text(join_path(r.out, "text/heldout.txt")),
      vocab(join_path(r.out, "vocab.txt")),
      train_records(join_path(r.out, str("data/train.", r.type->records))),
      heldout_records(join_path(r.out, str("data/heldout.", r.type->records))),
      model_dir(join_path(r.out, "model")),
      evaluation(join_path(r.out, "model/eval_results.txt")),
      hugging_face(join_path(r.out, "huggingface")) {}

// UsageError before it was made.
static std::string vocabulary_path(const Recipe& r) {
  std::string vocab = RecipePaths(r).vocab;
  if (!exists(vocab))
    throw UsageError(str(r.out, ": no vocabulary here yet (", vocab, ")"),
                     "`smelt run` makes text, vocabulary and data, and trains");
  return vocab;
}

Vocabulary vocabulary_of(const Recipe& r) { return Vocabulary::load(vocabulary_path(r)); }

void check_program(const Recipe& r, const Task& task) {
  const RecipeChecks checks(r);
  checks.require(r.eval.passes == 1 || task.draws, {"eval.passes"},
                 str("eval.passes is ", r.eval.passes, ", but ", task.name, " draws nothing"),
                 "set eval.passes to 1");
  checks.accepts({"train.mesh", "train.mesh_rules", "train.attention_rows", "train.eta_rules",
                  "train.slot_rules", "train.amos_preset", "train.rate_rules", "train.decay_rules"},
                 [&] {
                   const StepProgram program =
                       training_program(train_job(r.train, task), r.train.device);
                   *r.program = facts_of(program, r.train.batch_size);
                 });
  r.program->flops_per_example = training_flops(task);
}

void make_text(const Recipe& r) {
  const RecipePaths paths(r);
  remove_abandoned({paths.train_text, paths.heldout_text});
  ProseJob job;
  job.text.input = r.text.input;
  job.text.format = {.file = parse_file_format(r.text.format), .field = r.text.field};
  job.text.sentences = parse_sentences(r.text.sentences);
  job.text.dedup = parse_dedup(r.text.dedup);
  job.text.max_lines = r.text.max_lines;
  job.text.strict = r.text.strict;
  job.train_out = paths.train_text;
  job.heldout_out = paths.heldout_text;
  job.heldout = r.text.heldout;
  const ProseSummary s = prepare_prose(job);
  spdlog::info(
      "text: {} in {}, {} of them held out, {} repeated paragraphs, lines or documents left out",
      counted(s.sentences, "sentence"), counted(s.documents, "document"), s.heldout_documents,
      s.read.duplicate_lines + s.read.duplicate_documents);
}

static void take_vocabulary(const Recipe& r) {
  const std::string to = RecipePaths(r).vocab;
  const BertTokenizer given = BertTokenizer::load(r.vocab.file, tokenizer_flags(r));
  save_tokenizer_config(to, given.options());
  given.vocabulary().save(to);
  spdlog::info("vocab: {} of {}", counted(given.size(), "piece"), r.vocab.file);
}

void make_vocabulary(const Recipe& r) {
  if (!r.vocab.file.empty()) return take_vocabulary(r);
  const RecipePaths paths(r);
  VocabularyJob job;
  job.text.input = paths.train_text;
  job.out = paths.vocab;
  job.trainer = {.vocab_size = r.vocab.size,
                 .min_frequency = r.vocab.min_frequency,
                 .alphabet_limit = r.vocab.alphabet,
                 .reserved = {}};
  job.unused = r.vocab.unused;
  job.tokenizer = options_of(tokenizer_flags(r));
  job.overwrite = true;
  const VocabularySummary s = train_vocabulary(job);
  spdlog::info("vocab: {} from {} ({} distinct)", counted(s.size, "piece"),
               counted(s.words, "word"), s.distinct_words);
}

void make_examples(const Recipe& r) {
  const std::uint64_t train = r.type->make_examples(r, ExampleSet::train);
  const std::uint64_t heldout = r.type->make_examples(r, ExampleSet::heldout);
  if (std::cmp_less(heldout, r.eval.batch_size))
    throw UsageError(str("data: ", counted(heldout, "held-out example"),
                         ", fewer than eval.batch_size ", r.eval.batch_size),
                     "lower eval.batch_size, raise text.heldout or give more text");
  spdlog::info("data: {} to train on, {} held out", counted(train, "example"), heldout);
}

std::string made_vocabulary(const RecipePaths& paths) {
  return exists(paths.vocab) ? paths.vocab : "";
}

// The recipe's texts, of which a model that is being trained fills the masks.
static auto filler_of(const Recipe& r) {
  std::vector<std::string> texts;
  for (const std::string_view text : split(r.track.fill, '|')) texts.emplace_back(trim(text));
  FillMaskJob job = r.type->fill(r);
  job.exact_products = r.train.precision == "f32_exact";
  const auto tokenizer = std::make_shared<const BertTokenizer>(
      BertTokenizer::load(vocabulary_path(r), tokenizer_flags(r)));
  return [job, texts, tokenizer](std::shared_ptr<const Client> client, const Placement& placement) {
    return std::make_unique<const MaskFiller>(std::move(client), job, *tokenizer, texts, placement);
  };
}

// All that a resumed run must have in common with the one before.
static TrainJob same_job(const Recipe& r) {
  const RecipePaths paths(r);
  TrainJob job = train_job(r.train, r.type->task(r));
  job.data = paths.train_records;
  job.vocab = made_vocabulary(paths);
  job.model_dir = paths.model_dir;
  return job;
}

std::optional<std::int64_t> check_goes_on(const Recipe& r) { return check_resume(same_job(r)); }

TrainSummary train_model(const Recipe& r, const Beginning& beginning) {
  const RecipePaths paths(r);
  TrainJob job = same_job(r);
  job.begin = beginning.begin;
  job.overwrite = beginning.overwrite;
  job.track.settings = r.sections;
  job.accepted = [&] {
    for (const auto& [name, content] : r.type->model_files(r))
      write_file(join_path(paths.model_dir, name), content);
  };
  job.track.histograms_every = r.track.histograms_every;
  job.track.gradient_histograms = r.track.gradients;
  if (!r.track.fill.empty()) job.track.filler = filler_of(r);
  if (r.eval.every > 0) {
    job.validation = {.data = paths.heldout_records,
                      .batch_size = r.eval.batch_size,
                      .steps = r.eval.steps,
                      .passes = r.eval.passes,
                      .averages = r.train.ema_decay > 0 && r.eval.averaged};
    job.check_every = r.eval.every;
  }
  return train(job);
}

GradientReport replay_model(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r);
  TrainJob job = train_job(r.train, r.type->task(r));
  job.vocab = made_vocabulary(paths);
  return replay(job, folder.empty() ? newest_bad_batch(paths.model_dir) : folder);
}

std::vector<FilledText> fill_with_model(const Recipe& r, const std::vector<std::string>& texts,
                                        std::int64_t top) {
  if (!r.type->fill)
    throw UsageError(str("fill: a model of type ", r.type->name, " fills no masks"),
                     "take the recipe of a model that was trained to");
  const BertTokenizer tokenizer = BertTokenizer::load(vocabulary_path(r), tokenizer_flags(r));
  FillMaskJob job = r.type->fill(r);
  job.device = r.train.device;
  job.exact_products = r.train.precision == "f32_exact";
  job.model_dir = RecipePaths(r).model_dir;
  job.vocab = RecipePaths(r).vocab;
  job.top = top;
  job.averaged = r.eval.averaged;
  return fill_masks(job, tokenizer, texts);
}

std::vector<std::vector<JudgedToken>> detect_with_model(const Recipe& r,
                                                        const std::vector<std::string>& texts) {
  if (!r.type->detect)
    throw UsageError(str("detect: a model of type ", r.type->name, " has no discriminator"),
                     "take the recipe of an ELECTRA");
  const RecipePaths paths(r);
  DetectJob job = r.type->detect(r);
  job.device = r.train.device;
  job.exact_products = r.train.precision == "f32_exact";
  job.model_dir = paths.model_dir;
  job.vocab = paths.vocab;
  job.averaged = r.eval.averaged;
  return detect_replaced(job, BertTokenizer::load(paths.vocab, tokenizer_flags(r)), texts);
}

void export_model(const Recipe& r, const std::string& folder) {
  if (!r.type->export_folder)
    throw UsageError(str("export: a model of type ", r.type->name, " has no folder to export"),
                     "its checkpoints are in the recipe's model folder");
  r.type->export_folder(r, folder);
}

std::vector<std::string> text_inputs(const Recipe& r) {
  if (r.text.input.empty())
    throw UsageError("text.input: no text", "give files or patterns with --set text.input=…");
  return expand_files(r.text.input, "text.input");
}

// From text to records. What the recipe calls `section` is what a stage's outputs depend on.
static std::vector<Stage> data_stages(const Recipe& r, const std::vector<std::string>& records) {
  const RecipePaths p(r);
  const auto& section = r.sections;
  if (!r.type->reads_text)
    return {{"data", {section.at("data"), section.at("model")}, {}, records, [r] {
               make_examples(r);
             }}};
  nlohmann::json vocabulary = section.at("vocab");
  if (r.type->control) vocabulary["control_characters"] = name(*r.type->control);
  return {{"text",
           section.at("text"),
           text_inputs(r),
           {p.train_text, p.heldout_text},
           [r] { make_text(r); }},
          {"vocab",
           vocabulary,
           {r.vocab.file.empty() ? p.train_text : r.vocab.file},
           {p.vocab},
           [r] { make_vocabulary(r); }},
          {"data",
           {section.at("data"), section.at("vocab")},
           {p.train_text, p.heldout_text, p.vocab},
           records,
           [r] { make_examples(r); }}};
}

// The stages in their order.
static std::vector<Stage> stages_of(const Recipe& r, const Beginning& beginning) {
  const RecipePaths p(r);
  const auto section = [&](const char* name) { return r.sections.at(name); };
  const std::vector<std::string> records{p.train_records, p.heldout_records};
  const nlohmann::json training{section("model"), section("train"), section("data")};
  std::vector<Stage> stages = data_stages(r, records);
  stages.push_back({"train", training, {p.train_records}, {p.model_dir}, [r, beginning] {
                      train_model(r, beginning);
                    }});
  stages.push_back({"eval", {training, section("eval")}, records, {p.evaluation}, [r] {
                      std::cout << evaluation_report(r, evaluate_model(r));
                    }});
  if (r.type->export_folder) {
    std::vector<std::string> inputs{p.train_records};
    if (r.type->reads_text) inputs.push_back(p.vocab);
    stages.push_back({"export", training, inputs, {p.hugging_face}, [r, p] {
                        export_model(r, p.hugging_face);
                      }});
  }
  return stages;
}

// Whose vocabulary and data must not be replaced once a model was begun with them.
static void check_model_is_of(const Recipe& r, const std::vector<Stage>& stages,
                              const Beginning& beginning) {
  const std::string model_dir = RecipePaths(r).model_dir;
  if (beginning.overwrite && !r.train.init.empty() && lies_in(r.train.init, model_dir))
    throw UsageError(
        str("train.init: ", r.train.init, " lies in ", model_dir, ", which --overwrite empties"),
        "copy it elsewhere, or choose another folder with --set out=…");
  if (!beginning.overwrite) check_begin(beginning.begin, model_dir);
  if (beginning.overwrite || !latest_checkpoint(model_dir)) {
    if (!r.train.init.empty()) check_weights_folder(r.train.init);
    return;
  }
  const auto train = std::ranges::find(stages, "train", &Stage::name);
  for (const Stage& stage : std::span(stages.begin(), train))
    if (const auto change = changed_since(r.out, stage))
      throw UsageError(str("run: ", model_dir, " holds a model of other data: ", *change),
                       "choose another folder with --set out=… for a new run");
}

void check_stages(const Recipe& r, const Beginning& beginning) {
  check_output_folder(r.out);
  check_model_is_of(r, stages_of(r, beginning), beginning);
}

void run_recipe(const Recipe& r, const Beginning& beginning) {
  const auto stages = stages_of(r, beginning);
  if (!beginning.overwrite) check_begin(beginning.begin, RecipePaths(r).model_dir);
  ready_plugin(r.train.device);  // what training will miss is said before hours of text
  claim_output_folder(r.out, stages);
  const StopNotice notice;              // between stages, too
  const FolderLock lock(r.out, "run");  // another run's stages would replace what this one reads
  if (beginning.overwrite) forget_stage(r.out, "train");
  check_model_is_of(r, stages, beginning);
  for (const Stage& stage : stages) run_stage(r.out, stage);
}

}  // namespace smelt
