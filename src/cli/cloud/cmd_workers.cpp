#include "cli/cloud/cmd_workers.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/cloud/project_flag.h"
#include "cli/cloud/worker_verbs.h"
#include "cloud/remote_job.h"

namespace smelt::cli {
void add_worker_options(CLI::App& command, WorkerOptions& o) {
  command.add_option("--worker", o.workers, "workers: all, or numbers from 0, such as 0,2-4")
      ->capture_default_str();
  command.add_option("--zone", o.zone, "zone of the machine; default: search all zones");
  add_project_flag(command, o.project);
  command.add_flag("--internal-ip", o.internal_ip, "connect to internal IP addresses");
  command.add_option("--ssh-option", o.options,
                     "ssh -o option, e.g. ProxyCommand=…; may be given several times");
  command.add_option("--ssh-config", o.config, "ssh configuration file instead of the user's own");
  command.add_flag("--dry-run", o.dry_run, "show the ssh commands without running them");
}

namespace {

void add_ssh(CLI::App& cloud) {
  auto* command = cloud.add_subcommand("ssh", "run a command on workers, or open a shell on one");
  auto o = std::make_shared<WorkerOptions>();
  command->add_option("name", o->name, "name of the machine, or USER@NAME")->required();
  command->add_option("flags", o->flags,
                      "ssh's own flags after --, such as -- -L 6006:localhost:6006");
  command->add_option("--command", o->command, "command to run; default: a shell");
  command->add_option("--timeout", o->timeout,
                      "stop the command after this time, such as 90s or 2h");
  add_worker_options(*command, *o);
  command->callback([o] { run_on_workers(*o); });
}

void add_logs(CLI::App& cloud) {
  auto* command = cloud.add_subcommand("logs", "show the output of smelt cloud run");
  auto o = std::make_shared<WorkerOptions>();
  auto lines = std::make_shared<int>(100);
  auto follow = std::make_shared<bool>(false);
  o->workers = "all";
  command->add_option("name", o->name, "name of the machine, or USER@NAME")->required();
  command->add_option("--lines", *lines, "number of last lines to show")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000'000));
  command->add_flag("--follow", *follow,
                    "show new output until the command ends; Ctrl-C stops only the output");
  add_worker_options(*command, *o);
  command->callback([o, lines, follow] {
    o->command = cloud::show_job(*lines, *follow);
    run_on_workers(*o);
  });
}

void add_cp(CLI::App& cloud) {
  auto* command = cloud.add_subcommand("cp", "copy files to or from workers (NAME:PATH)");
  auto o = std::make_shared<WorkerOptions>();
  auto paths = std::make_shared<std::vector<std::string>>();
  command->add_option("paths", *paths, "FROM… TO; one side is on the machine")
      ->required()
      ->expected(2, -1);
  add_worker_options(*command, *o);
  command->callback([o, paths] {
    o->to = paths->back();
    o->from.assign(paths->begin(), paths->end() - 1);
    copy_to_or_from_workers(*o);
  });
}

}  // namespace

void add_worker_commands(CLI::App& cloud) {
  add_ssh(cloud);
  add_logs(cloud);
  add_cp(cloud);
}

}  // namespace smelt::cli
