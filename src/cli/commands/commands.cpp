#include "cli/commands/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <iostream>
#include <memory>

#include "base/closed_pipe.h"
#include "base/error.h"
#include "base/exit_codes.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "base/stop_notice.h"
#include "cli/cloud/cloud_commands.h"
#include "cli/cloud/cmd_storage.h"
#include "cli/commands/cmd_compile.h"
#include "cli/commands/cmd_finetune.h"
#include "cli/commands/cmd_help.h"
#include "cli/commands/cmd_new.h"
#include "cli/commands/cmd_plan.h"
#include "cli/commands/cmd_run.h"
#include "cli/commands/field_help.h"
#include "cli/compat/bert_run.h"
#include "cli/compat/cmd_electra.h"
#include "cli/compat/cmd_jestimator.h"
#include "cli/compat/cmd_ttt.h"
#include "cli/compat/create_pretraining_data.h"
#include "cli/options/ending.h"
#include "cli/options/parse_arguments.h"

namespace smelt::cli {
namespace {

// Adds the checks that all options of a command and its subcommands share.
void settle_options(CLI::App& app) {
  CLI::Validator booleans = CLI::IsMember(
      {"true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0"}, CLI::ignore_case);
  booleans.description("");  // otherwise --help would show it for each flag
  for (CLI::Option* option : app.get_options()) {
    // CLI11's own message for a value that is not a boolean is only "stoll".
    if (option->get_expected_max() == 0) option->check(booleans);
    if (option->get_required()) option->check(is_not_empty, "");
    // A flag takes exactly one word as its value; "[a, b]" is not parsed as a list.
    if (!option->get_positional()) option->allow_extra_args(false);
  }
  for (CLI::App* command : app.get_subcommands(nullptr)) settle_options(*command);
}

constexpr std::array<std::pair<const char*, LogLevel>, 4> kLogLevels{
    {{"debug", LogLevel::debug},
     {"info", LogLevel::info},
     {"warning", LogLevel::warning},
     {"error", LogLevel::error}}};

// Adds --quiet, --log-file and --log-level. They take effect before the command begins.
void add_log_options(CLI::App& command, const std::shared_ptr<LogOptions>& log) {
  std::vector<CLI::Option*> added;
  added.push_back(command.add_flag_callback(
      "--quiet",
      [log] {
        log->quiet = true;
        set_up_log(*log);
      },
      "log only warnings and errors and show no progress; results are still printed"));
  added.push_back(command.add_option_function<std::string>(
      "--log-file",
      [log](const std::string& path) {
        log->file = path;
        set_up_log(*log);
      },
      "append every log message to this file, with date and time zone, also with --quiet"));
  std::vector<std::string> names;
  for (const auto& [name, level] : kLogLevels) names.emplace_back(name);
  added.push_back(command
                      .add_option_function<std::string>(
                          "--log-level",
                          [log](const std::string& word) {
                            for (const auto& [name, level] : kLogLevels)
                              if (word == name) log->level = level;
                            set_up_log(*log);
                          },
                          "minimum level of log messages")
                      ->check(CLI::IsMember(names))
                      ->default_str("info"));
  for (CLI::Option* option : added) option->group("Log");
}

// Adds the log flags to the program and to every command without subcommands, except the originals'
// programs and groups that have another --quiet.
void add_log_options_everywhere(CLI::App& app, const std::shared_ptr<LogOptions>& log) {
  const auto below = app.get_subcommands(nullptr);
  if (app.get_option_no_throw("--quiet") != nullptr) return;
  if (below.empty() || app.get_parent() == nullptr) add_log_options(app, log);
  for (CLI::App* command : below)
    if (command->get_group() != kOriginals) add_log_options_everywhere(*command, log);
}

using AddCommand = void (*)(CLI::App&);
struct CommandGroup {
  const char* title;
  std::vector<AddCommand> add;
};

// The commands in the order of `smelt help`.
const std::vector<CommandGroup> kCommands{
    {"Plan", {add_new_command, add_advise_command, add_plan_command}},
    {"Train",
     {add_run_command, add_train_command, add_finetune_command, add_eval_command,
      add_metrics_command, add_replay_command}},
    {"Watch", {add_status_command, add_compare_command, add_report_command, add_clean_command}},
    {"Inference",
     {add_predict_command, add_fill_command, add_generate_command, add_detect_command,
      add_embed_command, add_retrieve_command, add_serve_command}},
    {"Convert", {add_export_command, add_convert_command, add_inspect_command}},
    {"Compress", {add_compress_command}},
    {"Data", {add_vocab_command, add_tokenize_command, add_data_command}},
    {"Hugging Face Hub", {add_hub_command}},
    {"Cloud", {add_cloud_command, add_storage_command, add_pod_command}},
    {"Devices", {add_setup_command, add_bench_command, add_compile_command}},
    {kOriginals,
     {add_create_pretraining_data_command, add_run_pretraining_command, add_electra_command,
      add_jestimator_command, add_ttt_command, add_ctpu_command, add_tpu_vm_command}},
    {"Help", {add_help_command, add_completion_command}}};

void add_commands(CLI::App& app) {
  app.formatter(help_formatter());
  app.footer(
      "`smelt help recipe` lists the fields of a recipe; `smelt help WORD` finds commands for a "
      "word such as resume.");
  app.set_version_flag("--version", SMELT_VERSION);
  for (const CommandGroup& group : kCommands)
    for (const AddCommand add : group.add) {
      const auto before = app.get_subcommands(nullptr).size();
      add(app);
      const auto all = app.get_subcommands(nullptr);
      for (std::size_t i = before; i < all.size(); ++i) all[i]->group(group.title);
    }
  add_log_options_everywhere(app, std::make_shared<LogOptions>());
  settle_options(app);
}

constexpr const char* kNoOutput = "standard output: cannot be written to";

// Returns true if all output is written, or if the command writes its results to files and the
// reader of its output has closed the pipe.
bool output_is_settled() { return std::cout.flush() || has_outlived_output_reader(); }

// Reports an error on standard error and in the log file. Returns the exit code.
int end_by(const Ending& ending) {
  const bool is_error = ending.code != kStoppedExit;
  std::cerr << (!is_error                 ? "stopped: "
                : ending.code == kBugExit ? "bug: "
                                          : "error: ")
            << ending.text << "\n";
  log_to_file(is_error ? LogLevel::error : LogLevel::warning, ending.text);
  return ending.code;
}

int run_command(CLI::App& app, int argc, char** argv) {
  add_commands(app);
  const auto arguments = arguments_of(app, argc, argv);
  if (arguments.empty()) {
    print_first_screen();
  } else {
    app.require_subcommand(1);
    parse(app, arguments, field_named);
  }
  if (!output_is_settled()) throw SystemError(kNoOutput);
  return kSuccessExit;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  set_up_log();
  end_at_signals();
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the size limit becomes an error with a message
  CLI::App app("Pre-train, fine-tune and compress BERT, RoBERTa, ELECTRA and T5 on your own text.",
               "smelt");
  try {
    return run_command(app, argc, argv);
  } catch (const CLI::Success& wanted) {
    const int status = app.exit(wanted);
    return std::cout.flush() ? status : end_by({kSystemExit, kNoOutput});
  } catch (const ExitStatus& end) {
    return end.status();
  } catch (...) {
    return end_by(ending_of(std::current_exception()));
  }
}

}  // namespace smelt::cli
