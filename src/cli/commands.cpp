#include "cli/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <iostream>

#include "base/closed_pipe.h"
#include "base/error.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "base/stop_notice.h"
#include "cli/cmd_bench.h"
#include "cli/cmd_clean.h"
#include "cli/cmd_cloud.h"
#include "cli/cmd_compile.h"
#include "cli/cmd_compress.h"
#include "cli/cmd_convert.h"
#include "cli/cmd_ctpu.h"
#include "cli/cmd_data.h"
#include "cli/cmd_detect.h"
#include "cli/cmd_finetune.h"
#include "cli/cmd_generate.h"
#include "cli/cmd_help.h"
#include "cli/cmd_metrics.h"
#include "cli/cmd_model.h"
#include "cli/cmd_plan.h"
#include "cli/cmd_pod.h"
#include "cli/cmd_predict.h"
#include "cli/cmd_run.h"
#include "cli/cmd_setup.h"
#include "cli/cmd_storage.h"
#include "cli/cmd_tokenize.h"
#include "cli/cmd_tpu_vm.h"
#include "cli/cmd_track.h"
#include "cli/cmd_vocab.h"
#include "console/parse_arguments.h"
#include "originals/bert_run.h"
#include "originals/cmd_electra.h"
#include "originals/cmd_jestimator.h"
#include "originals/cmd_ttt.h"
#include "originals/create_pretraining_data.h"

namespace smelt {
namespace {

// What all options of all commands have in common.
void settle_options(CLI::App& app) {
  CLI::Validator booleans = CLI::IsMember(
      {"true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0"}, CLI::ignore_case);
  booleans.description("");  // which --help would show of each flag
  for (CLI::Option* option : app.get_options()) {
    // CLI11 says "stoll" and no more of a flag's value that is no boolean.
    if (option->get_expected_max() == 0) option->check(booleans);
    if (option->get_required()) option->check(is_not_empty, "");
    // A flag takes one value each time, as it is: not all that follow, nor "[a, b]" for a list.
    if (!option->get_positional()) option->allow_extra_args(false);
  }
  for (CLI::App* command : app.get_subcommands(nullptr)) settle_options(*command);
}

using AddCommand = void (*)(CLI::App&);
struct CommandGroup {
  const char* title;
  std::vector<AddCommand> add;
};

// In the order of `smelt help`.
const std::vector<CommandGroup> kCommands{
    {"Everything from one recipe", {add_run_command, add_finetune_command, add_plan_command}},
    {"Its stages",
     {add_pretrain_command, add_replay_command, add_eval_command, add_export_command}},
    {"A trained model",
     {add_predict_command, add_fill_command, add_generate_command, add_detect_command,
      add_convert_command, add_compress_command, add_inspect_command, add_metrics_command}},
    {"Runs", {add_status_command, add_compare_command, add_report_command, add_clean_command}},
    {"Vocabularies and examples", {add_vocab_command, add_tokenize_command, add_data_command}},
    {kOriginals,
     {add_create_pretraining_data_command, add_run_pretraining_command, add_electra_command,
      add_jestimator_command, add_ttt_command}},
    {"Machines",
     {add_cloud_command, add_ctpu_command, add_tpu_vm_command, add_storage_command,
      add_pod_command}},
    {"Devices and speed", {add_setup_command, add_bench_command, add_compile_command}},
    {"Help", {add_help_command, add_completion_command}}};

void add_commands(CLI::App& app) {
  app.require_subcommand(1);
  app.formatter(help_formatter());
  app.footer("`smelt help recipe` lists the fields of a recipe.");
  app.set_version_flag("--version", SMELT_VERSION);
  for (const CommandGroup& group : kCommands)
    for (const AddCommand add : group.add) {
      const auto before = app.get_subcommands(nullptr).size();
      add(app);
      const auto all = app.get_subcommands(nullptr);
      for (std::size_t i = before; i < all.size(); ++i) all[i]->group(group.title);
    }
  settle_options(app);
}

constexpr const char* kNoOutput = "standard output: cannot be written to";

// Returns whether all output is written, or is of a command whose results are files and which has
// lost the reader of its output.
bool output_is_settled() { return std::cout.flush() || has_outlived_output_reader(); }

}  // namespace

int run_command_line(int argc, char** argv) {
  set_up_log();
  std::signal(SIGXFSZ, SIG_IGN);  // too large a file is an error with a message
  CLI::App app("Raw text in, a pre-trained language model out.", "smelt");
  try {
    add_commands(app);
    parse(app, arguments_of(app, argc, argv));
    if (!output_is_settled()) throw SystemError(kNoOutput);
    return 0;
  } catch (const CLI::Success& wanted) {
    const int status = app.exit(wanted);
    if (std::cout.flush()) return status;
    std::cerr << "error: " << kNoOutput << "\n";
    return 1;
  } catch (const ExitStatus& end) {
    return end.status();
  } catch (const UsageError& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 2;
  } catch (const Stopped& stopped) {
    std::cerr << "stopped: " << stopped.what() << "\n";
    return kStoppedExit;
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
