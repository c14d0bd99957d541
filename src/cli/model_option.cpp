#include "cli/model_option.h"

#include "base/error.h"
#include "console/form_flags.h"
#include "console/text_flags.h"

namespace smelt {

bool ModelOption::is_stored() const {
  const bool stored = is_stored_model(recipe.path);
  const std::string name = command->get_name();
  if (stored && !recipe.settings.empty())
    throw UsageError(str(name, ": --set is for recipes, ", recipe.path, " is a model"),
                     "leave it out");
  for (const char* flag : {"--vocab", "--device", "--precision", "--lower-case", "--cased",
                           "--strip-accents", "--control-characters"})
    if (!stored && command->get_option(flag)->count() > 0)
      throw UsageError(str(name, ": ", flag, " is for a model's folder, ", recipe.path,
                           " is a recipe, which says it"),
                       "leave it out, or change the recipe with --set");
  return stored;
}

std::shared_ptr<ModelOption> add_model_option(CLI::App& command) {
  auto option = std::make_shared<ModelOption>();
  option->command = &command;
  command
      .add_option("model", option->recipe.path,
                  "a recipe (YAML), or a trained model: a folder or checkpoint of smelt's, "
                  "TensorFlow's or Hugging Face's")
      ->required();
  command.add_option("--set", option->recipe.settings,
                     "a field over the recipe's, e.g. train.steps=1000");
  StoredModelFlags& stored = option->stored;
  command.add_option("--vocab", stored.vocab, "of a folder; default: what lies with it");
  add_device_flag(command, stored.device, "for a folder: cpu, gpu, tpu, or auto: what is there");
  command.add_option("--precision", stored.precision, "for a folder: f32 or f32_exact")
      ->check(CLI::IsMember({"f32", "f32_exact"}))
      ->capture_default_str();
  add_tokenizer_flags(command, stored.tokenizer);
  return option;
}

}  // namespace smelt
