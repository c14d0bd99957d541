#include "cli/cmd_help.h"

#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/nearest_name.h"
#include "cli/completion.h"
#include "recipe/recipe.h"

namespace smelt {
namespace {

class HelpOfAll : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    if (app->get_parent() != nullptr) return Formatter::make_help(app, std::move(name), mode);
    std::ostringstream out;
    out << app->get_description() << "\n";
    std::string group;
    for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
      if (command->get_group() != group) out << "\n" << (group = command->get_group()) << ":\n";
      out << "  " << std::left << std::setw(28) << command->get_name() << command->get_description()
          << "\n";
    }
    out << "\nusage: smelt COMMAND …; `smelt COMMAND --help` lists its flags, `smelt --version` "
           "says which smelt this is\n"
        << app->get_footer() << "\n";
    return out.str();
  }
};

void print_recipe_fields(const std::string& type) {
  std::cout << std::left;
  for (const RecipeField& field : recipe_fields(type))
    std::cout << std::setw(35) << field.path << " " << std::setw(13) << field.default_value << " "
              << field.help << "\n";
}

// By the last word of their names: "train" -> "vocab train".
std::map<std::string, std::string> names_below(const CLI::App& app, const std::string& path) {
  std::map<std::string, std::string> out;
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string name = path + below->get_name();
    out.emplace(below->get_name(), name);
    out.merge(names_below(*below, name + " "));
  }
  return out;
}

// Of the words here, else of those below.
std::string command_meant(const CLI::App& here, const std::string& word,
                          const std::vector<std::string>& known) {
  if (nearest_name(word, known)) return did_you_mean(word, known);
  const auto below = names_below(here, "");
  std::vector<std::string> names;
  for (const auto& [name, path] : below) names.push_back(name);
  const auto nearest = nearest_name(word, names);
  return nearest ? str("did you mean '", below.at(*nearest), "'?") : did_you_mean(word, known);
}

// `words` name a command: {"data", "bert"}.
std::string help_of(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::string path;
  for (const std::string& word : words) {
    std::vector<std::string> known;
    if (command == &app) known.emplace_back("recipe");
    const CLI::App* found = nullptr;
    for (const CLI::App* below : command->get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(below->get_name());
      if (below->get_name() == word) found = below;
    }
    path += (command == &app ? "" : " ") + command->get_name();
    if (found == nullptr)
      throw UsageError(str("help: '", word, "' is no command of ", path),
                       known.empty() ? str(path, " --help says what it takes")
                                     : command_meant(*command, word, known));
    command = found;
  }
  return command->help(path);
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpOfAll>(); }

void add_help_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("help", "the commands, one of them, or what can be written in a recipe");
  auto topic = std::make_shared<std::vector<std::string>>();
  auto type = std::make_shared<std::string>("bert");
  command->add_option("topic", *topic, "a command, or recipe");
  command->add_option("--type", *type, "with the fields of this model.type")->capture_default_str();
  command->callback([topic, type, &app] {
    if (topic->empty()) {
      std::cout << app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
      return;
    }
    if (topic->front() == "recipe" && topic->size() > 1)
      throw UsageError(str("help: recipe takes no '", topic->at(1), "'"),
                       "smelt help recipe lists every field; --type TYPE those of a model");
    if (topic->front() == "recipe") return print_recipe_fields(*type);
    std::cout << help_of(app, *topic);
  });
}

void add_completion_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "completion", "a script that completes commands and flags: source <(smelt completion bash)");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  command->callback([shell, &app] {
    std::cout << (*shell == "bash" ? bash_completion(app) : zsh_completion(app));
  });
}

}  // namespace smelt
