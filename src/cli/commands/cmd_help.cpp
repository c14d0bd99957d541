#include "cli/commands/cmd_help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/str.h"
#include "cli/commands/command_guide.h"
#include "cli/commands/completion.h"
#include "cli/commands/field_help.h"
#include "cli/commands/help_text.h"

namespace smelt::cli {
namespace {

class HelpOfAll : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    if (app->get_parent() == nullptr) return wrapped(all_commands_help(*app), help_columns());
    const std::string path = path_of(*app);
    return wrapped(with_guide(Formatter::make_help(app, std::move(name), mode), path),
                   help_columns());
  }

 private:
  // Returns a command's name with those of its parents: "compress quantize".
  static std::string path_of(const CLI::App& app) {
    const CLI::App* parent = app.get_parent();
    if (parent == nullptr || parent->get_parent() == nullptr) return app.get_name();
    return str(path_of(*parent), " ", app.get_name());
  }
  // Returns the help text with the command's examples and docs page inserted before its flags.
  static std::string with_guide(std::string help, const std::string& path) {
    const std::string guide = guide_text(path);
    const std::size_t flags = help.find("\n\n");
    if (!guide.empty() && flags != std::string::npos) help.insert(flags + 1, "\n" + guide);
    return help;
  }
  static std::string all_commands_help(const CLI::App& app) {
    std::ostringstream out;
    out << app.get_description() << "\n";
    std::string group;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (command->get_group() != group) out << "\n" << (group = command->get_group()) << ":\n";
      out << "  " << std::left << std::setw(28) << command->get_name() << command->get_description()
          << "\n";
    }
    out << "\nUsage: smelt COMMAND …; `smelt help COMMAND` shows examples and flags, "
           "`smelt --version` the version\n"
        << app.get_footer() << "\n";
    return out.str();
  }
};

// Returns full command names by their last word: "train" -> "vocab train".
std::map<std::string, std::string> names_below(const CLI::App& app, const std::string& path) {
  std::map<std::string, std::string> out;
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string name = path + below->get_name();
    out.emplace(below->get_name(), name);
    out.merge(names_below(*below, name + " "));
  }
  return out;
}

// Returns a hint for a misspelt command: the nearest name in `known`, the subcommands of `here`, or
// else the nearest name at any level below `here`.
std::string command_meant(const CLI::App& here, const std::string& word,
                          const std::vector<std::string>& known) {
  if (nearest_name(word, known)) return did_you_mean(word, known);
  const auto below = names_below(here, "");
  std::vector<std::string> names;
  for (const auto& [name, path] : below) names.push_back(name);
  const auto nearest = nearest_name(word, names);
  return nearest ? str("did you mean '", below.at(*nearest), "'?") : did_you_mean(word, known);
}

// Returns the help text of the command that `words` name: {"data", "bert"}.
std::string help_of(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::string path;
  for (const std::string& word : words) {
    std::vector<std::string> known;
    if (command == &app) known.emplace_back("recipe");
    const CLI::App* found = nullptr;
    for (const CLI::App* below : command->get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(below->get_name());
      if (below->check_name(word)) found = below;
    }
    path += (command == &app ? "" : " ") + command->get_name();
    if (found == nullptr)
      throw UsageError(str("help: ", path, " has no command '", word, "'"),
                       known.empty() ? str(path, " --help shows its arguments")
                                     : command_meant(*command, word, known));
    command = found;
  }
  return command->help(path);
}

constexpr const char* kFirstScreen =
    "smelt pre-trains, fine-tunes and compresses BERT, ELECTRA and T5 models on your own text.\n"
    "\n"
    "Usage: smelt COMMAND [arguments]\n"
    "\n"
    "  smelt run recipes/demo.yaml          train a small model from a recipe\n"
    "  smelt run FOLDER                     resume a run from its newest checkpoint\n"
    "  smelt status FOLDER                  show the state of a run\n"
    "  smelt eval FOLDER                    evaluate a model on its held-out examples\n"
    "  smelt predict FOLDER --text TEXT     run inference with a fine-tuned model\n"
    "  smelt fill FOLDER --text TEXT        fill [MASK] in a text\n"
    "  smelt generate FOLDER --text TEXT    generate text with a T5\n"
    "  smelt compress quantize MODEL --out FOLDER    quantize the weights to 8 bits\n"
    "  smelt convert MODEL model.onnx       convert a checkpoint to another format\n"
    "\n"
    "  smelt help                           list all commands\n"
    "  smelt help COMMAND                   list the flags of a command\n"
    "  smelt help recipe                    list all recipe fields\n"
    "  smelt help train.optimizer.type      explain a recipe field\n";

// Returns a list of the commands found for a search word, with their descriptions.
std::string commands_text(const CLI::App& app, const std::string& word,
                          const std::vector<std::string_view>& commands) {
  std::ostringstream out;
  out << "Commands for '" << word << "':\n";
  for (const std::string_view path : commands) {
    const CLI::App* command = &app;
    for (const std::string_view name : split(path, ' '))
      command = command->get_subcommand(std::string(name));
    out << "  smelt " << std::left << std::setw(22) << path << command->get_description() << "\n";
  }
  out << "`smelt help COMMAND` shows examples and flags.\n";
  return wrapped(out.str(), help_columns());
}

std::string help_of_topic(const CLI::App& app, std::vector<std::string> topic,
                          const std::string& type) {
  const bool is_recipe = topic.front() == "recipe";
  if (is_recipe) topic.erase(topic.begin());
  if (topic.size() == 1 && names_recipe_field(topic.front()))
    return wrapped(field_help(topic.front()), help_columns());
  if (!is_recipe) {
    const auto found = commands_for(topic.front());
    const bool is_command = std::ranges::any_of(
        app.get_subcommands([](const CLI::App*) { return true; }),
        [&](const CLI::App* command) { return command->check_name(topic.front()); });
    if (topic.size() > 1 || is_command || found.empty()) return help_of(app, topic);
    return commands_text(app, topic.front(), found);
  }
  if (topic.size() > 1)
    throw UsageError(str("help: unknown topic '", topic[1], "'"),
                     "smelt help recipe SECTION lists a section's fields");
  return wrapped(recipe_help(type, topic.empty() ? "" : topic.front()), help_columns());
}

}  // namespace

void print_first_screen() { std::cout << kFirstScreen; }

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpOfAll>(); }

void add_help_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "help", "show help about a command, a recipe field, or a word such as resume or quantize");
  auto topic = std::make_shared<std::vector<std::string>>();
  auto type = std::make_shared<std::string>("bert");
  command->add_option("topic", *topic,
                      "a command; 'recipe', or 'recipe' and a section; or a field, such as "
                      "train.steps");
  command->add_option("--type", *type, "show the fields of this model.type")->capture_default_str();
  auto markdown = std::make_shared<bool>(false);
  command->add_flag("--markdown", *markdown,
                    "with recipe: the fields of all model types as a Markdown page");
  command->callback([topic, type, markdown, &app] {
    const bool is_recipe = *topic == std::vector<std::string>{"recipe"};
    if (*markdown && !is_recipe)
      throw UsageError("help: --markdown is only for the recipe fields",
                       "smelt help recipe --markdown");
    if (*markdown) {
      std::cout << recipe_markdown();
      return;
    }
    if (topic->empty()) {
      std::cout << app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
      return;
    }
    std::cout << help_of_topic(app, *topic, *type);
  });
}

void add_completion_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "completion",
      "print a script that completes commands, flags and recipe fields: source <(smelt completion "
      "bash)");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &app] {
    const auto fields = completed_fields();
    std::cout << (*shell == "bash"  ? bash_completion(app, fields)
                  : *shell == "zsh" ? zsh_completion(app, fields)
                                    : fish_completion(app, fields));
  });
}

}  // namespace smelt::cli
