#include "cli/commands.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <iostream>

#include "base/error.h"
#include "base/nearest_name.h"
#include "cli/cmd_bench.h"
#include "cli/cmd_compile.h"
#include "cli/cmd_data.h"
#include "cli/cmd_detect.h"
#include "cli/cmd_electra.h"
#include "cli/cmd_jestimator.h"
#include "cli/cmd_model.h"
#include "cli/cmd_run.h"
#include "cli/cmd_setup.h"
#include "cli/cmd_tokenize.h"
#include "cli/cmd_vocab.h"

namespace smelt {
namespace {

// The innermost subcommand that was given.
const CLI::App* innermost(const CLI::App* app) {
  for (;;) {
    const auto chosen = app->get_subcommands();
    if (chosen.empty()) return app;
    app = chosen.front();
  }
}

std::string full_name(const CLI::App* app) {
  std::string name = app->get_name();
  for (const CLI::App* up = app->get_parent(); up != nullptr; up = up->get_parent())
    name = str(up->get_name(), " ", name);
  return name;
}

// What the user may have meant by a word that the command does not know.
[[noreturn]] void throw_unknown(const CLI::App* command) {
  const auto unknown = command->remaining();
  const std::string word = unknown.empty() ? "" : unknown.front();
  const std::string flag = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : command->get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (const CLI::App* sub : command->get_subcommands(nullptr)) known.push_back(sub->get_name());
  throw UsageError(
      str(full_name(command), ": unknown ", flag.starts_with("-") ? "flag " : "argument ", flag),
      did_you_mean(flag, known));
}

// CLI11 would take the next argument for the value of "--flag=".
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (const std::string& word : arguments)
    if (word.starts_with("--") && word.find('=') + 1 == word.size())
      throw UsageError(str(word, " has no value"), "leave it out, or put a value behind the =");
  return arguments;
}

// Of one that was given more often than it takes values CLI11 says numbers and no more.
void check_given_once(const CLI::App* command) {
  for (const CLI::Option* option : command->get_options())
    if (option->count() > 1 && option->get_expected_max() == 1)
      throw UsageError(str(full_name(command), ": ", option->get_name(), " is given ",
                           option->count(), " times"),
                       "give it once");
}

void parse(CLI::App& app, std::vector<std::string> arguments) try {
  std::ranges::reverse(arguments);  // as CLI11 takes them
  app.parse(std::move(arguments));
} catch (const CLI::Success&) {
  throw;  // --help, --version
} catch (const CLI::ParseError& error) {
  // A misspelt flag is said before the required one that is missing because of it.
  if (!innermost(&app)->remaining().empty()) throw_unknown(innermost(&app));
  check_given_once(innermost(&app));
  const std::string command = full_name(innermost(&app));
  throw UsageError(str(command, ": ", error.what()), str("`", command, " --help` lists the flags"));
}

std::string is_not_empty(const std::string& value) { return value.empty() ? "is empty" : ""; }

// What all options of all commands have in common.
void settle_options(CLI::App& app) {
  const CLI::IsMember booleans(
      {"true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0"}, CLI::ignore_case);
  for (CLI::Option* option : app.get_options()) {
    // Of a flag's value that is no boolean CLI11 says "stoll" and no more.
    if (option->get_expected_max() == 0) option->check(booleans);
    if (option->get_required()) option->check(is_not_empty, "");
    // A flag takes one value each time, as it is: not all that follow, nor "[a, b]" for a list.
    if (!option->get_positional()) option->allow_extra_args(false);
  }
  for (CLI::App* command : app.get_subcommands(nullptr)) settle_options(*command);
}

void add_commands(CLI::App& app) {
  app.require_subcommand(1);
  app.footer("`smelt help recipe` lists the fields of a recipe.");
  app.set_version_flag("--version", SMELT_VERSION);
  add_run_command(app);
  add_vocab_command(app);
  add_tokenize_command(app);
  add_data_command(app);
  add_pretrain_command(app);
  add_replay_command(app);
  add_eval_command(app);
  add_fill_command(app);
  add_detect_command(app);
  add_export_command(app);
  add_create_pretraining_data_command(app);
  add_electra_command(app);
  add_jestimator_command(app);
  add_bench_command(app);
  add_compile_command(app);
  add_setup_command(app);
  add_help_command(app);
  settle_options(app);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("smelt"));
  spdlog::set_pattern("%H:%M:%S %^%v%$");
  std::signal(SIGXFSZ, SIG_IGN);  // too large a file is an error with a message
  CLI::App app("Raw text in, a pre-trained language model out.", "smelt");
  try {
    add_commands(app);
    parse(app, arguments_of(argc, argv));
    if (!std::cout.flush()) throw SystemError("standard output: cannot be written to");
    return 0;
  } catch (const CLI::Success& wanted) {
    return app.exit(wanted);
  } catch (const UsageError& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 2;
  } catch (const BugError& error) {
    std::cerr << "bug: " << error.what() << "\n";
    return 70;
  } catch (const std::bad_alloc&) {
    std::cerr << "error: this machine has not the memory for what was asked\n"
                 "hint: lower the largest size that was given, such as the batch\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace smelt
