// The order of a recipe's stages, and what each depends on.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/error.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "pipeline/compression/compress_stage.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/row_commands.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/stages/replaced_folder.h"
#include "pipeline/stages/stage_actions.h"
#include "pipeline/stages/stage_list.h"
#include "train/initial_state.h"
#include "train/process_group.h"

namespace smelt::pipeline {
namespace {

StagePaths always(std::vector<std::string> paths) {
  return [paths = std::move(paths)] { return paths; };
}

// Returns a function that lists the files that match `records`, or returns the pattern if there are
// none.
StagePaths records_at(const std::string& records) {
  return [records] {
    const auto files = record_files(records);
    return files.empty() ? std::vector<std::string>{records} : files;
  };
}

StagePaths all_of(std::vector<StagePaths> parts) {
  return [parts = std::move(parts)] {
    std::vector<std::string> out;
    for (const StagePaths& part : parts)
      for (std::string& path : part()) out.push_back(std::move(path));
    return out;
  };
}

// Returns a function that returns the newest checkpoint in the folder, or the folder itself if it
// has no checkpoint.
StagePaths model_at(const std::string& model_dir) {
  return [model_dir]() -> std::vector<std::string> {
    const auto step = checkpoint::latest_checkpoint(model_dir);
    return {step ? checkpoint::committed_path(model_dir, *step) : model_dir};
  };
}

// Returns a function that returns the checkpoint for evaluation and export.
StagePaths trained_model(const Recipe& r) {
  return [r]() -> std::vector<std::string> {
    const std::string trained = RecipePaths(r).trained;
    return checkpoint::is_checkpoint_path(trained) ? std::vector{trained} : model_at(trained)();
  };
}

// Returns a section for the record of a stage, without paths: the files are recorded as inputs and
// may move.
Json without_paths(const Recipe& r, const std::string& name) {
  static const std::map<std::string, std::vector<std::string>> kPaths{
      {"text", {"input"}},
      {"vocab", {"file"}},
      {"data", {"records", "heldout", "train", "validation", "test", "glue_folder"}},
      {"model", {"like"}},
      {"train", {"init_from"}},
      {"distill", {"teacher"}}};
  Json section = r.sections.at(name);
  if (const auto paths = kPaths.find(name); paths != kPaths.end())
    for (const std::string& path : paths->second) section.erase(path);
  return section;
}

Json with(Json settings, const char* section, Json fields) {
  settings[section] = std::move(fields);
  return settings;
}

// Returns the files that match the comma-separated patterns. A pattern without a match is returned
// unchanged; the stage reports it as missing if it has to run.
std::vector<std::string> files_or_patterns(const std::string& patterns) {
  std::vector<std::string> out;
  for (const std::string_view piece : split(patterns, ',')) {
    const std::string pattern(trim(piece));
    auto files = io::match_pattern(pattern, "text.input");
    if (files.empty() && !pattern.empty()) files = {pattern};
    out.insert(out.end(), files.begin(), files.end());
  }
  return out;
}

Stage text_stage(const Recipe& r) {
  const RecipePaths p(r);
  return {.name = "text",
          .settings = {{"text", without_paths(r, "text")}},
          .inputs = always(files_or_patterns(r.text.input)),
          .outputs = always({p.train_text, p.heldout_text}),
          .make = [r] { make_text(r); },
          .defaults = r.defaults};
}

Stage vocabulary_stage(const Recipe& r) {
  const RecipePaths p(r);
  Json settings = without_paths(r, "vocab");
  if (r.type->control) settings["control_characters"] = text::name(*r.type->control);
  const std::string given = given_vocabulary(r);
  return {
      .name = "vocab",
      .settings = {{"vocab", settings}, {"segment_script", scripts_of(r.vocab.segment_command)}},
      .inputs = always({given.empty() ? p.train_text : given}),
      .outputs = always({p.vocab}),
      .make = [r] { make_vocabulary(r); },
      .defaults = r.defaults};
}

// Returns the files of rows for the given fields of `data`, such as "train". For a resumed run the
// files may be missing.
std::vector<std::string> row_inputs(const Recipe& r, std::initializer_list<const char*> parts) {
  std::vector<std::string> out;
  for (const char* part : parts)
    for (std::string& file : files_or_patterns(row_input(r, part))) out.push_back(std::move(file));
  return out;
}

// Returns the settings that examples depend on, besides their input files.
Json example_settings(const Recipe& r) {
  const char* beside = r.type->has_vocabulary() ? "vocab" : "model";
  Json data = without_paths(r, "data");
  Json settings{
      {"data", std::move(data)}, {beside, without_paths(r, beside)}, {"model.type", r.type->name}};
  for (const std::string& field : r.type->example_fields)
    settings["model"][field] = r.sections.at("model").at(field);
  for (const io::ConfigField& field : r.type->data)
    if (std::ranges::find(r.type->beside_examples, field.name) != r.type->beside_examples.end())
      settings["data"][field.name] = field.default_value;
  settings["segment_script"] = scripts_of(r.vocab.segment_command);
  return settings;
}

Stage data_stage(const Recipe& r) {
  const RecipePaths p(r);
  std::vector<std::string> inputs, outputs, formerly;
  if (r.type->reads_text()) inputs = {p.train_text, p.heldout_text};
  if (r.type->rows) {
    inputs = row_inputs(r, {"train", "validation"});
    formerly = row_inputs(r, {"test"});
    formerly.push_back(p.test_records);
  }
  if (r.type->has_vocabulary()) inputs.push_back(p.vocab);
  for (const std::string_view records : {p.train_records, p.heldout_records})
    if (!records.empty())
      for (const std::string_view file : split(records, ',')) outputs.emplace_back(file);
  return {.name = "data",
          .settings = example_settings(r),
          .inputs = always(inputs),
          .outputs = always(outputs),
          .make = [r] { make_examples(r); },
          .formerly = formerly,
          .defaults = r.defaults};
}

// Returns the stage that makes the test examples, which may be added after training. It reads the
// classes from the description of the training examples.
Stage test_stage(const Recipe& r) {
  const RecipePaths p(r);
  std::vector<std::string> inputs = row_inputs(r, {"test"});
  inputs.push_back(p.vocab);
  inputs.push_back(p.train_output + ".json");
  return {.name = "test",
          .settings = example_settings(r),
          .inputs = always(inputs),
          .outputs = always({p.test_records}),
          .make = [r] { (void)r.type->make_examples(r, ExampleSet::test); },
          .defaults = r.defaults};
}

// Adds the stages that make records from files of rows.
void add_row_stages(const Recipe& r, std::vector<Stage>& stages) {
  const auto add_rows = [&](const char* part) {
    if (auto rows = rows_stage(r, part)) stages.push_back(std::move(*rows));
  };
  add_rows("train");
  add_rows("validation");
  stages.push_back(data_stage(r));
  bool goes_on = outlives_its_inputs(r.out, stages.back());
  if (!RecipePaths(r).test_records.empty()) {
    add_rows("test");
    stages.push_back(test_stage(r));
    goes_on = goes_on || outlives_its_inputs(r.out, stages.back());
  }
  if (!goes_on) (void)r.type->rows(r);  // throws an error that names the missing file
}

// Returns the stages up to the records.
std::vector<Stage> data_stages(const Recipe& r) {
  const bool ready = !r.ready.records.empty();
  std::vector<Stage> stages;
  if (r.type->reads_text() && !ready) {
    if (!can_continue_without_text(r))
      (void)text_inputs(r);  // throws an error that names the missing file
    stages.push_back(text_stage(r));
  }
  if (r.type->has_vocabulary()) stages.push_back(vocabulary_stage(r));
  if (ready) return stages;
  if (r.type->rows)
    add_row_stages(r, stages);
  else
    stages.push_back(data_stage(r));
  return stages;
}

Stage evaluation_stage(const Recipe& r, const Json& training, const Evaluated& evaluated) {
  const RecipePaths p(r);
  std::vector<std::string> outputs{p.evaluation};
  if (r.type->write_predictions) outputs.push_back(p.predictions);
  return {.name = "eval",
          .settings = with(training, "eval", r.sections.at("eval")),
          .inputs = all_of({records_at(p.train_records), records_at(p.scored), trained_model(r)}),
          .outputs = always(outputs),
          .make =
              [r, evaluated] {
                const execution::Evaluation evaluation = evaluate_model(r);
                if (evaluated) evaluated(evaluation);
              },
          .defaults = r.defaults};
}

Stage export_stage(const Recipe& r, const Json& training) {
  const RecipePaths p(r);
  return {
      .name = "export",
      .settings = with(training, "eval", {{"averaged", r.eval.averaged}, {"best", r.eval.best}}),
      .inputs = all_of(
          {records_at(p.train_records),
           always(r.type->has_vocabulary() ? std::vector{p.vocab} : std::vector<std::string>()),
           trained_model(r)}),
      .outputs = always({p.hugging_face}),
      .make =
          [r, p] {
            replace_keeping_others(p.hugging_face, [&] { export_model(r, p.hugging_face); });
          },
      .defaults = r.defaults};
}

// Returns the stage that compresses the model. Its input rows may be deleted after it has run.
Stage compress_stage(const Recipe& r, const Json& training) {
  const RecipePaths p(r);
  return {.name = "compress",
          .settings = with(training, "compress", r.sections.at("compress")),
          .inputs = all_of(
              {always({p.hugging_face}), always(row_inputs(r, {"train", "validation", "test"}))}),
          .outputs = always({compress_folder(r)}),
          .make = [r] { compress_model(r, [](const Recipe& recipe) { run_recipe(recipe); }); },
          .defaults = r.defaults};
}

// Returns the settings that the trained model depends on.
Json training_sections(const Recipe& r) {
  Json training{{"model", without_paths(r, "model")},
                {"train", without_paths(r, "train")},
                {"data", without_paths(r, "data")}};
  if (!r.distill.teacher.empty()) training["distill"] = without_paths(r, "distill");
  return training;
}

// Returns the recipe for the stages after training. Resets `anew`, so that these stages read the
// model that was just trained.
Recipe of_trained(Recipe r) {
  r.anew = false;
  return r;
}

// Returns a hint with two ways to handle text, vocabulary or data that no longer match the model.
std::string hint_of_other_data(const Recipe& r) {
  const RecipePaths p(r);
  // The file has a different name if vocab.type has changed.
  const std::string vocab =
      io::exists(p.vocab) ? p.vocab : vocabulary_in_run(r.out).value_or(p.vocab);
  const std::string weights = str(" --set train.init_from=", p.model_dir,
                                  r.type->has_vocabulary() ? " --set vocab.file=" + vocab : "");
  return str(
      "choose another folder for a new run with --set out=…; to start it from this model's "
      "weights, add",
      weights);
}

}  // namespace

std::vector<Stage> shared_stages(const Recipe& r, const Beginning& beginning,
                                 const Evaluated& evaluated, const Trained& trained) {
  const RecipePaths p(r);
  const Json training = training_sections(r);
  std::vector<Stage> stages{{.name = "train",
                             .settings = training,
                             .inputs = records_at(p.train_records),
                             .outputs = model_at(p.model_dir),
                             .make =
                                 [r, beginning, trained] {
                                   const train::TrainSummary summary = train_model(r, beginning);
                                   if (trained) trained(summary);
                                 },
                             .defaults = r.defaults}};
  if (!p.scored.empty()) stages.push_back(evaluation_stage(of_trained(r), training, evaluated));
  for (Stage& stage : stages) stage.is_shared = true;
  return stages;
}

std::vector<Stage> stages_of(const Recipe& r, const Beginning& beginning,
                             const Evaluated& evaluated, const Trained& trained) {
  const Json training = training_sections(r);
  std::vector<Stage> stages = data_stages(r);
  for (Stage& stage : shared_stages(r, beginning, evaluated, trained))
    stages.push_back(std::move(stage));
  if (r.type->export_folder) stages.push_back(export_stage(of_trained(r), training));
  if (r.compress.is_on()) stages.push_back(compress_stage(of_trained(r), training));
  return stages;
}

void check_model_is_of(const Recipe& r, const std::vector<Stage>& stages,
                       const Beginning& beginning) {
  const std::string model_dir = RecipePaths(r).model_dir;
  if (!beginning.overwrite) check_stored_type(r);
  train::check_weights_stay(r.train.init_from, model_dir, beginning.overwrite);
  if (!beginning.overwrite) train::check_resume_mode(beginning.begin, model_dir);
  if (beginning.overwrite || !checkpoint::latest_checkpoint(model_dir)) {
    if (!r.train.init_from.empty()) checkpoint::check_weights_folder(r.train.init_from);
    return;
  }
  const auto train = std::ranges::find(stages, "train", &Stage::name);
  for (const Stage& stage : std::span(stages.begin(), train))
    if (stage.name == "test" || stage.name == "rows-test")
      continue;
    else if (const auto change = changed_since(r.out, stage))
      throw UsageError(str("run: ", model_dir, " contains a model of other data: ", *change),
                       hint_of_other_data(r));
}

bool can_continue_without_text(const Recipe& r) {
  return outlives_its_inputs(r.out, text_stage(r));
}

bool can_make_text_again(const Recipe& r) {
  const Stage text = text_stage(r);
  return std::ranges::all_of(text.inputs(), [](const auto& path) { return io::exists(path); }) &&
         !changed_since(r.out, text);
}

void make_test_examples(const Recipe& r) {
  if (!r.type->rows || RecipePaths(r).test_records.empty()) return;
  std::vector<Stage> stages;
  if (auto rows = rows_stage(r, "test")) stages.push_back(std::move(*rows));
  stages.push_back(test_stage(r));
  if (std::ranges::all_of(stages, [&](const Stage& s) { return is_finished(r.out, s); })) return;
  const io::FolderLock lock(r.out, "eval");
  for (const Stage& stage : stages) run_stage(r.out, stage);
}

void check_data_unchanged(const Recipe& r, const Beginning& beginning) {
  if (!train::current_process_group("train").several())
    check_model_is_of(r, stages_of(r, beginning), beginning);
}

void check_stages(const Recipe& r, const Beginning& beginning) {
  check_output_folder(r.out);
  check_model_is_of(r, stages_of(r, beginning), beginning);
}

}  // namespace smelt::pipeline
