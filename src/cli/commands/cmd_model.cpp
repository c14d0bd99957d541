#include <CLI/CLI.hpp>
#include <iostream>

#include "base/json.h"
#include "base/plural.h"
#include "cli/commands/begin_flags.h"
#include "cli/commands/commands.h"
#include "cli/commands/model_option.h"
#include "cli/options/answers.h"
#include "cli/options/json_output.h"
#include "cli/options/number_check.h"
#include "cli/options/recipe_option.h"
#include "cli/options/text_flags.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/stages/run_result.h"

namespace smelt::cli {
namespace {

OrderedJson gradient_json(const train::GradientReport& report) {
  OrderedJson out{{"loss", report.loss},
                  {"norm", report.norm},
                  {"not_finite", report.not_finite()},
                  {"first_not_finite", report.first_not_finite()},
                  {"gradients", OrderedJson::array()}};
  for (const train::GradientNorm& gradient : report.of)
    out["gradients"].push_back({{"parameter", gradient.parameter}, {"norm", gradient.norm}});
  return out;
}

struct EvalFlags {
  bool json = false, follow = false;
  pipeline::TextToEvaluate text;
};

void evaluate_run(const RecipeOption& recipe, const EvalFlags& flags) {
  const pipeline::Recipe loaded = flags.follow ? recipe.load() : recipe.load_for_inference("eval");
  const auto print = [&](const execution::Evaluation& evaluation) {
    std::cout << (flags.json ? pipeline::evaluation_json(evaluation).dump() + "\n"
                             : pipeline::evaluation_report(loaded, evaluation))
              << std::flush;
  };
  if (flags.follow)
    pipeline::follow_model(loaded, print);
  else
    print(pipeline::evaluate_and_try_to_save(loaded));
}

void print_score(const ModelOption& model, const EvalFlags& flags) {
  if (flags.follow)
    throw UsageError("eval: --follow with --text",
                     "remove --follow: --text is scored by the newest checkpoint");
  const std::string& path = model.recipe.path;
  const bool is_run = !model.is_stored();
  pipeline::LoadOptions options = model.stored;
  options.task = pipeline::InferenceTask::evaluate_text;
  const pipeline::EvaluatedText scored =
      pipeline::PretrainedModel::of_folder(
          is_run ? pipeline::RecipePaths(model.recipe.load_for_inference("eval")).model_dir : path,
          options)
          .evaluate_text(flags.text);
  if (flags.json) {
    auto out = pipeline::evaluation_json(scored.evaluation);
    out["seq_length"] = scored.seq_length;
    out["documents"] = scored.text.documents;
    out["tokens"] = scored.text.tokens;
    std::cout << out.dump() << "\n";
    return;
  }
  print_text_counts(scored.text);
  const std::string said = pipeline::verdict(scored.baseline, scored.evaluation);
  std::cout << "evaluated: " << counted(scored.evaluation.examples, "example") << " of "
            << scored.seq_length << " tokens, masks drawn by seed " << flags.text.seed << "\n"
            << pipeline::evaluation_text(scored.evaluation) << said << (said.empty() ? "" : "\n");
}

}  // namespace

void add_train_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "train", "pretrain or fine-tune the model of a recipe, or resume training");
  command->alias("pretrain");
  const auto recipe = add_recipe_options(*command);
  const auto begin = add_begin_flags(*command);
  auto json = std::make_shared<bool>(false);
  add_json_flag(*command, *json);
  command->callback([recipe, begin, json] {
    print_events(*json, [&] {
      OrderedJson result;
      begin->load_and_run(*recipe, [&](const pipeline::Recipe& loaded) {
        pipeline::check_data_unchanged(loaded, begin->beginning());
        pipeline::train_model(loaded, begin->beginning());
        result = pipeline::model_result_json(loaded);
      });
      return result;
    });
  });
}

void add_replay_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "replay", "repeat a step whose loss was not finite, and show the gradient norms");
  const auto recipe = add_recipe_options(*command);
  auto folder = std::make_shared<std::string>();
  command->add_option("--batch", *folder,
                      "the bad-batch folder; default: the newest of the recipe's model");
  auto json = std::make_shared<bool>(false);
  add_json_flag(*command, *json);
  command->callback([recipe, folder, json] {
    print_result(*json, [&] {
      const train::GradientReport report = pipeline::replay_model(recipe->load(), *folder);
      print_report(report);
      return gradient_json(report);
    });
  });
}

void add_eval_command(CLI::App& app) {
  auto* command = app.add_subcommand("eval", "evaluate a model on held-out examples or on --text");
  const auto model = add_model_option(*command);
  auto flags = std::make_shared<EvalFlags>();
  command->add_flag("--json", flags->json,
                    "print a JSON object for each checkpoint instead of lines");
  command->add_flag("--follow", flags->follow,
                    "evaluate each checkpoint when it appears, oldest first, until train.steps");
  add_document_flags(*command, flags->text.text, "--text");
  command
      ->add_option("--seq-length", flags->text.seq_length,
                   "with --text: tokens per example, at most the model's positions")
      ->check(number_from(5, 1e6))
      ->capture_default_str();
  command->add_option("--seed", flags->text.seed, "with --text: random seed of the masks")
      ->capture_default_str();
  command->callback([model, flags] {
    if (!flags->text.text.input.empty()) return print_score(*model, *flags);
    const std::string& path = model->recipe.path;
    if (!pipeline::run_named_by(path) && model->is_stored())
      throw UsageError(
          str("eval: ", path, " has no recipe.yaml, which names the data to evaluate on"),
          "evaluate a masked LM on text with --text FILES, or name the folder that `smelt run` "
          "made");
    if (const char* flag = model->model_flag())
      throw UsageError(
          str("eval: ", flag, " is only for --text: ", path, " has a recipe that sets it"),
          "remove it, or change the recipe with --set");
    evaluate_run(model->recipe, *flags);
  });
}

void add_fill_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("fill", "run inference with a masked language model: fill [MASK]");
  const auto model = add_model_option(*command);
  const auto options = add_fill_options(*command);
  command->callback([model, options] {
    pipeline::PretrainedModel loaded = model->load(pipeline::InferenceTask::fill_mask);
    print_filled(*options,
                 [&](const auto& texts) { return loaded.fill_mask(texts, options->top); });
  });
}

void add_export_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("export", "write a model as a Hugging Face folder for transformers");
  const auto recipe = add_recipe_options(*command);
  auto out = std::make_shared<std::string>();
  command->add_option("--out", *out, "folder to create")->required();
  auto json = std::make_shared<bool>(false);
  add_json_flag(*command, *json);
  command->callback([recipe, out, json] {
    print_result(*json, [&] {
      const pipeline::Recipe loaded = recipe->load_trained("export");
      pipeline::export_model(loaded, *out);
      return OrderedJson{{"path", *out}, {"type", loaded.type->name}};
    });
  });
}

}  // namespace smelt::cli
