#include "cli/commands/cmd_job.h"

#include <memory>

#include "base/error.h"
#include "cli/commands/cmd_workers.h"
#include "cli/commands/job_options.h"
#include "cli/commands/worker_verbs.h"
#include "cli/options/number_check.h"
#include "cloud/remote_job.h"
#include "io/filesystem/folder.h"

namespace smelt {
namespace {

void add_machine_options(CLI::App& command, JobOptions& o) {
  command.add_option("--type", o.type, "of the machine that a recipe is run on, as v3-8");
  command.add_flag("--spot", o.spot, "cheaper, and may be taken away: another is made then");
  command.add_flag("--queued", o.queued, "wait in each zone's queue for it");
  command.add_option("--turn", o.turn,
                     "so long in a zone's queue, then in the next zone's; default: 2h");
  command.add_option("--runtime-version", o.version, "default: the type's own");
  command.add_option("--network", o.network, "default: the project's");
  command.add_option("--subnetwork", o.subnetwork, "default: the network's");
  command.add_option("--service-account", o.service_account,
                     "that the machine has; default: the project's");
  command.add_option("--user", o.user, "who signs in to it; default: who one is here");
}

void add_job_options(CLI::App& command, JobOptions& o) {
  command.add_option("--bucket", o.bucket,
                     "gs://NAME, or a folder in it, for data and checkpoints");
  command.add_flag("--far-bucket", o.far_bucket,
                   "it may lie in another region: slow, and its traffic is paid for");
  command
      .add_option("--budget", o.budget,
                  "US dollars for all its machines, never exceeded at the prices that it shows")
      ->check(dollars_above_zero());
  command.add_option("--until", o.until, "when it ends at the latest: 2026-12-01, or 6h from now");
  command.add_option("--package", o.package, "what scripts/package has made, a .tar.zst");
  command.add_option("--name", o.name, "of its folder in the bucket; default: that of out");
  command.add_option("--set", o.settings, "a field over the recipe's, e.g. train.steps=1000");
  command.add_option("--price", o.price, "of the machine, dollars an hour; default: as known")
      ->check(CLI::Range(0.001, 1e5));
  command.add_option("--prices", o.prices, "a file of prices before those that are known");
  command.add_option("--attempts", o.attempts, "starts in a row without a new checkpoint")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command.add_option("--silence", o.silence,
                     "the machine deletes itself after so long without this; default: 1h");
  command.add_option("--patience", o.patience, "given up so long without a machine; default: 24h");
  command.add_option("--poll", o.poll, "seconds between looks at it")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 600.0));
  command.add_flag("--yes", o.yes, "run it without asking");
  command.add_flag("--json", o.json, "the job's journal at its end on standard output");
}

// What a recipe needs besides.
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
      throw UsageError(str("smelt cloud run ", o.recipe, ": a recipe needs ", flag),
                       "add what is missing of --type v3-8 --zone us-central1-a --bucket gs://NAME "
                       "--budget 50 --package FILE");
  if (is_for_workers)
    throw UsageError(str("smelt cloud run ", o.recipe,
                         ": --worker is for a machine's command; a "
                         "recipe is run on all of its workers"),
                     "leave out --worker");
  run_job(o);
}

// A budget that nobody keeps to would be worse than none.
void refuse_flags(const std::vector<CLI::Option*>& of_recipes, const std::string& machine) {
  for (const CLI::Option* option : of_recipes)
    if (option->count() > 0)
      throw UsageError(str("smelt cloud run ", machine, ": ", option->get_name(),
                           " is for a recipe, and this is a machine's command"),
                       "smelt cloud run RECIPE.yaml");
}

bool is_recipe(const std::string& what) {
  return what.ends_with(".yaml") || what.ends_with(".yml") || exists(what);
}

void add_run(CLI::App& cloud) {
  auto* command = cloud.add_subcommand(
      "run", "run a recipe on a rented machine, from upload to results; or a command on a machine");
  auto w = std::make_shared<WorkerOptions>();
  auto o = std::make_shared<JobOptions>();
  auto stop = std::make_shared<bool>(false);
  w->workers = "all";
  command->add_option("what", w->name, "a recipe; or a machine that is there, or USER@ it")
      ->required();
  auto* what = command->add_option("--command", w->command,
                                   "on a machine: what is run by the workers' shell, and goes on");
  command->add_flag("--stop", *stop, "on a machine: end the command that runs")->excludes(what);
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
                       "add --command 'COMMAND' or --stop, or name a recipe's file");
    }
    refuse_flags(of_recipes, w->name);
    w->command = *stop ? stop_job() : start_job(w->command);
    run_on_workers(*w);
  });
}

void add_watch(CLI::App& cloud) {
  auto* command =
      cloud.add_subcommand("watch", "supervise a job again, from this machine or another");
  auto o = std::make_shared<WatchOptions>();
  command->add_option("place", o->place, "the folder of its results, or the job's in the bucket")
      ->required();
  command->add_option("--out", o->out, "where results go; default: by the job's name");
  command->add_flag("--end", o->end, "end it, with a checkpoint, and delete all that it made");
  command->add_flag("--json", o->json, "the job's journal at its end on standard output");
  command->add_option("--poll", o->poll, "seconds between looks at it")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 600.0));
  command->add_option("--ssh-option", o->ssh_options, "as ssh's -o; several times");
  command->add_option("--ssh-config", o->ssh_config, "a file of ssh's options");
  command->callback([o] { watch_job(*o); });
}

}  // namespace

void add_job_commands(CLI::App& cloud) {
  add_run(cloud);
  add_watch(cloud);
}

}  // namespace smelt
