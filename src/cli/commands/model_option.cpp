#include "cli/commands/model_option.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "cli/options/form_flags.h"
#include "cli/options/hub_names.h"
#include "cli/options/text_flags.h"
#include "pipeline/config/kept_recipe.h"

namespace smelt::cli {

constexpr std::array kModelFlags{
    "--vocab", "--device",        "--precision",          "--lower-case",
    "--cased", "--strip-accents", "--control-characters", "--segment-command"};

const char* ModelOption::model_flag() const {
  const auto given = [&](const char* flag) { return command->get_option(flag)->count() > 0; };
  const auto* found = std::ranges::find_if(kModelFlags, given);
  return found == kModelFlags.end() ? nullptr : *found;
}

bool ModelOption::is_stored() const {
  const std::string& path = recipe.path;
  const char* flag = model_flag();
  // A run's folder is both a recipe and a model folder; flags for model folders select the latter.
  if (pipeline::run_named_by(path) == path && flag == nullptr) return false;
  const bool stored = pipeline::is_stored_model(path);
  const std::string name = command->get_name();
  if (stored && !recipe.settings.empty())
    throw UsageError(str(name, ": --set is only for recipes, but ", path, " is a model"),
                     "remove it");
  if (!stored && flag != nullptr)
    throw UsageError(str(name, ": ", flag, " is only for a model folder, but ", path,
                         " is a recipe, which sets it"),
                     "remove it, or change the recipe with --set");
  return stored;
}

pipeline::PretrainedModel ModelOption::load(pipeline::InferenceTask task) const {
  pipeline::LoadOptions options = stored;
  options.task = task;
  if (is_stored()) return pipeline::PretrainedModel::of_folder(recipe.path, options);
  return pipeline::PretrainedModel::of_recipe(recipe.load_for_inference(command->get_name()),
                                              options);
}

std::shared_ptr<ModelOption> add_model_option(CLI::App& command) {
  auto option = std::make_shared<ModelOption>();
  option->command = &command;
  accept_hub_names(
      command
          .add_option(
              "model", option->recipe.path,
              "a run folder, its recipe (YAML), or a trained model: a folder or checkpoint "
              "of smelt, "
              "TensorFlow or Hugging Face, or ORG/NAME or hf://ORG/NAME on the Hugging Face "
              "Hub")
          ->required());
  add_set_option(command, option->recipe.settings);
  pipeline::LoadOptions& stored = option->stored;
  command.add_option("--vocab", stored.vocab,
                     "for a model folder: the vocabulary; default: that in the folder");
  add_device_flag(command, stored.device,
                  "for a model folder: cpu, gpu, tpu, or auto: a TPU or GPU if there is one");
  command.add_option("--precision", stored.precision, "for a model folder: f32 or f32_exact")
      ->check(CLI::IsMember({"f32", "f32_exact"}))
      ->capture_default_str();
  add_tokenizer_flags(command, stored.tokenizer);
  return option;
}

}  // namespace smelt::cli
