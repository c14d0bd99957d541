#include "cli/cloud/cmd_job.h"

#include <memory>

#include "base/error.h"
#include "cli/cloud/cmd_workers.h"
#include "cli/cloud/job_options.h"
#include "cli/cloud/worker_verbs.h"
#include "cli/options/number_check.h"
#include "cloud/remote_job.h"
#include "io/filesystem/folder.h"

namespace smelt::cli {
namespace {

void add_machine_options(CLI::App& command, JobOptions& o) {
  command.add_option("--type", o.type, "TPU type for a recipe, such as v3-8");
  command.add_flag("--spot", o.spot, "use spot machines: cheaper; a preempted machine is replaced");
  command.add_flag("--queued", o.queued, "request the machine through each zone's queue");
  command.add_option("--turn", o.turn,
                     "how long to wait in a zone's queue before trying the next zone; default: 2h");
  command.add_option("--runtime-version", o.version,
                     "runtime version of the machine; default: that of the type");
  command.add_option("--network", o.network, "VPC network; default: the project's default network");
  command.add_option("--subnetwork", o.subnetwork, "subnetwork; default: that of the network");
  command.add_option(
      "--service-account", o.service_account,
      "service account of the machine; default: the project's default service account");
  command.add_option("--user", o.user, "user name on the machine; default: your local user name");
}

void add_job_options(CLI::App& command, JobOptions& o) {
  command.add_option("--bucket", o.bucket,
                     "bucket for data and checkpoints: gs://NAME, or a folder in it");
  command.add_flag("--far-bucket", o.far_bucket,
                   "allow a bucket in another region: slower, and network traffic costs money");
  command
      .add_option("--budget", o.budget,
                  "maximum US dollars for all machines of the job, at the prices shown")
      ->check(dollars_above_zero());
  command.add_option("--until", o.until,
                     "latest end of the job: a date such as 2026-12-01, or a duration such as 6h");
  command.add_option("--package", o.package, "smelt package (.tar.zst), made by scripts/package");
  command.add_option("--name", o.name,
                     "name of the job's folder in the bucket; default: last part of recipe's out");
  command.add_option("--set", o.settings, "override a recipe field, e.g. train.steps=1000");
  command
      .add_option("--price", o.price,
                  "price of the machine in US dollars per hour; default: from smelt's price list")
      ->check(CLI::Range(0.001, 1e5));
  command.add_option("--prices", o.prices, "a YAML file of prices that override smelt's own");
  command
      .add_option("--attempts", o.attempts,
                  "maximum number of starts in a row without a new checkpoint")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command.add_option(
      "--silence", o.silence,
      "the machine deletes itself if it has not heard from this command for this long; "
      "default: 1h");
  command.add_option("--patience", o.patience,
                     "give up after this long without a machine; default: 24h");
  command.add_option("--poll", o.poll, "seconds between status requests")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 600.0));
  command.add_flag("--yes", o.yes, "run without a confirmation prompt");
  command.add_flag("--json", o.json, "print the job's journal as JSON at the end");
}

// Runs a recipe as a job; throws UsageError if a flag that a recipe needs is missing.
void run_recipe_there(const WorkerOptions& w, JobOptions o, bool is_for_workers) {
  o.recipe = w.name;
  o.zones = w.zone;
  o.project = w.project;
  o.internal = w.internal_ip;
  o.dry_run = w.dry_run;
  o.ssh_config = w.config;
  o.ssh_options = w.options;
  for (const auto& [flag, value] : {std::pair<const char*, std::string>{"--type", o.type},
                                    {"--zone", o.zones == "-" ? "" : o.zones},
                                    {"--bucket", o.bucket},
                                    {"--package", o.package}})
    if (value.empty())
      throw UsageError(
          str("smelt cloud run ", o.recipe, ": a recipe needs ", flag),
          "add the missing flags of --type v3-8 --zone us-central1-a --bucket gs://NAME "
          "--budget 50 --package FILE");
  if (is_for_workers)
    throw UsageError(str("smelt cloud run ", o.recipe,
                         ": --worker is only for commands on a machine; a "
                         "recipe runs on all workers"),
                     "remove --worker");
  run_job(o);
}

// Refuses flags of recipes for a command on a machine: a budget, for instance, would be ignored.
void refuse_flags(const std::vector<CLI::Option*>& of_recipes, const std::string& machine) {
  for (const CLI::Option* option : of_recipes)
    if (option->count() > 0)
      throw UsageError(str("smelt cloud run ", machine, ": ", option->get_name(),
                           " is only for recipes, not for commands on a machine"),
                       "smelt cloud run RECIPE.yaml");
}

bool is_recipe(const std::string& what) {
  return what.ends_with(".yaml") || what.ends_with(".yml") || io::exists(what);
}

void add_run(CLI::App& cloud) {
  auto* command = cloud.add_subcommand(
      "run",
      "run a recipe on a rented machine, from upload to results; or run a command on an existing "
      "machine");
  auto w = std::make_shared<WorkerOptions>();
  auto o = std::make_shared<JobOptions>();
  auto stop = std::make_shared<bool>(false);
  w->workers = "all";
  command->add_option("what", w->name, "a recipe; or the name of a machine, or USER@NAME")
      ->required();
  auto* what =
      command->add_option("--command", w->command,
                          "on a machine: command to run in the workers' shell, in the background");
  command->add_flag("--stop", *stop, "on a machine: stop the running command")->excludes(what);
  add_worker_options(*command, *w);
  const auto before = std::ssize(command->get_options());
  add_machine_options(*command, *o);
  add_job_options(*command, *o);
  auto of_recipes = command->get_options();
  of_recipes.erase(of_recipes.begin(), of_recipes.begin() + before);
  const auto* workers = command->get_option("--worker");
  command->callback([w, o, stop, what, workers, of_recipes] {
    if (!*stop && what->count() == 0) {
      if (is_recipe(w->name)) return run_recipe_there(*w, *o, workers->count() > 0);
      throw UsageError(str("smelt cloud run ", w->name, ": nothing to run"),
                       "add --command 'COMMAND' or --stop, or name a recipe file");
    }
    refuse_flags(of_recipes, w->name);
    w->command = *stop ? cloud::stop_job() : cloud::start_job(w->command);
    run_on_workers(*w);
  });
}

void add_watch(CLI::App& cloud) {
  auto* command =
      cloud.add_subcommand("watch", "monitor a job again, from this machine or another");
  auto o = std::make_shared<WatchOptions>();
  command
      ->add_option("place", o->place,
                   "the folder of the job's results, or its folder in the bucket")
      ->required();
  command->add_option("--out", o->out, "folder for the results; default: from the job's name");
  command->add_flag("--end", o->end, "stop the job after a checkpoint, and delete its machines");
  command->add_flag("--json", o->json, "print the job's journal as JSON at the end");
  command->add_option("--poll", o->poll, "seconds between status requests")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 600.0));
  command->add_option("--ssh-option", o->ssh_options, "ssh -o option; may be given several times");
  command->add_option("--ssh-config", o->ssh_config, "ssh configuration file");
  command->callback([o] { watch_job(*o); });
}

}  // namespace

void add_job_commands(CLI::App& cloud) {
  add_run(cloud);
  add_watch(cloud);
}

}  // namespace smelt::cli
