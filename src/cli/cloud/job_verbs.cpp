#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <random>
#include <regex>

#include "base/duration.h"
#include "base/error.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "base/run_program.h"
#include "base/stop_signal.h"
#include "checkpoint/storage/checkpoint.h"
#include "cli/cloud/cmd_doctor.h"
#include "cli/cloud/job_options.h"
#include "cli/cloud/job_recipe.h"
#include "cli/cloud/job_results.h"
#include "cli/cloud/job_watch.h"
#include "cli/cloud/machine_price.h"
#include "cli/options/confirm.h"
#include "cloud/file_hash.h"
#include "cloud/job_shell.h"
#include "cloud/journal_object.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/hub/hub_digest.h"
#include "pipeline/estimate/budget.h"
#include "pipeline/objectives/load_recipe.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::cli {
namespace {

std::string job_name(const JobOptions& o, const pipeline::Recipe& recipe) {
  static const std::regex form("[A-Za-z0-9][A-Za-z0-9._-]{0,99}");
  if (!o.name.empty() && !std::regex_match(o.name, form))
    throw UsageError(str("--name '", o.name, "': invalid job name"),
                     "start with a letter or digit; use letters, digits, '.', '_' and '-', at most "
                     "100 characters");
  if (!o.name.empty()) return o.name;
  const std::string name = io::path_name(recipe.out);
  if (io::is_remote(recipe.out))
    throw UsageError(str("out: ", recipe.out,
                         ": must be a local folder: the run is stored in --bucket, and its results "
                         "are copied to out"),
                     "name a folder on this machine with --set out=FOLDER");
  return name;
}

cost_model::Prices prices_of(const JobOptions& o) {
  return o.prices.empty() ? cost_model::Prices() : cost_model::Prices(o.prices);
}

std::vector<cloud::JobSpec::Zone> zones_of(const JobOptions& o,
                                           const cost_model::Accelerator& type) {
  std::vector<cloud::JobSpec::Zone> out;
  const cost_model::Prices prices = prices_of(o);
  for (const std::string& zone : cloud::split_zones(o.zones)) {
    cloud::require_zone(zone);
    const auto known = machine_price(prices, type, zone, o.spot);
    if (o.price <= 0 && !known)
      throw UsageError(str("--budget: the price of a ", type.name, o.spot ? ", spot," : "", " in ",
                           zone, " is unknown, so the budget cannot be checked"),
                       "set the price per hour with --price DOLLARS, or a price list with "
                       "--prices FILE");
    out.push_back({zone, o.price > 0 ? o.price : known->an_hour});
  }
  return out;
}

double silence_of(const std::string& text) {
  constexpr double kLeast = 600;  // an upload or a bad network may be silent for minutes
  const auto seconds = static_cast<double>(parse_duration("--silence", text).count());
  if (seconds < kLeast)
    throw UsageError(
        str("--silence: ", text, " is too short: a slow network can cause pauses of this length"),
        "use --silence 10m or more");
  return seconds;
}

double turn_of(const JobOptions& o) {
  if (!o.queued) throw UsageError("--turn: only for queued machines", "add --queued");
  return static_cast<double>(parse_duration("--turn", o.turn).count());
}

cloud::JobSpec spec_of(const JobOptions& o, const cost_model::Accelerator& type,
                       const pipeline::Recipe& recipe) {
  if (o.budget == 0)
    throw UsageError("--budget is missing: a job needs a limit in US dollars", "add --budget 50");
  if (o.version == "tpu-vm-base")
    throw UsageError("--runtime-version: tpu-vm-base is Ubuntu 20.04, which smelt does not run on",
                     str("use --runtime-version ", type.image));
  cloud::JobSpec spec;
  spec.zones = zones_of(o, type);
  spec.node = {.accelerator_type = type.name,
               .runtime_version = o.version.empty() ? type.image : o.version,
               .spot = o.spot,
               .network = o.network,
               .subnetwork = o.subnetwork,
               .external_ips = !o.internal,
               .service_account = o.service_account};
  spec.queued = o.queued;
  spec.folder = io::join_path(o.bucket, job_name(o, recipe));
  spec.user = o.user.empty() ? cloud::local_user() : o.user;
  cloud::require_user(spec.user);
  spec.command = str("smelt run ", shell_word(io::join_path(spec.folder, "recipe.yaml")));
  spec.package = o.package;
  spec.setup = recipe.train.device == "tpu" ? "tpu" : "";
  spec.budget = o.budget;
  spec.until = o.until.empty() ? 0 : parse_until(o.until);
  spec.attempts = o.attempts;
  if (!o.silence.empty()) spec.silence = silence_of(o.silence);
  if (!o.patience.empty())
    spec.patience = static_cast<double>(parse_duration("--patience", o.patience).count());
  if (!o.turn.empty()) spec.turn = turn_of(o);
  return spec;
}

std::string new_id() {
  std::random_device source;
  return io::digest_of_text(str(source(), source(), ::getpid()), true).hex.substr(0, 10);
}

bool is_same_recipe(const cloud::JobSpec& spec, const StagedRecipe& staged) {
  const std::string recipe = io::join_path(spec.folder, "recipe.yaml");
  return io::exists(recipe) && io::read_file(recipe, io::kSmallFileBytes) == staged.text;
}

// Throws UsageError if the folder's job is done with this recipe, or running with another one.
// `same` is true if the recipes are the same.
void require_goes_on(const cloud::JobJournal& journal, const cloud::JobSpec& spec, bool same) {
  if (same && journal.outcome == "done" && journal.step == cloud::JobStep::ended)
    throw UsageError(str(spec.folder, ": the job of this recipe is done"),
                     str("smelt cloud watch ", spec.folder,
                         " copies its results; for another job use --name NAME"));
  if (same || !journal.outcome.empty() || journal.step == cloud::JobStep::stage) return;
  throw UsageError(str(spec.folder, ": its running job has another recipe or other settings"),
                   str("for another job use --name NAME; smelt cloud watch ", spec.folder,
                       " monitors the running one (add --end to stop it)"));
}

// Throws UsageError if a flag differs from the setting of the running job. Flags that are not given
// keep their value.
void require_same_settings(const JobOptions& o, const cloud::JobSpec& was,
                           const cloud::JobSpec& is) {
  const auto zones = [](const cloud::JobSpec& spec) {
    std::vector<std::string> names;
    for (const cloud::JobSpec::Zone& zone : spec.zones) names.push_back(zone.name);
    return join(names, ",");
  };
  const auto word = [](bool value) { return value ? "set" : "not set"; };
  struct Setting {
    const char* flag;
    std::string was, is;
    bool is_named = true;
  };
  const Setting all[] = {
      {"--type", was.node.accelerator_type, is.node.accelerator_type},
      {"--zone", zones(was), zones(is)},
      {"--spot", word(was.node.spot), word(is.node.spot)},
      {"--queued", word(was.queued), word(is.queued)},
      {"--internal-ip", word(!was.node.external_ips), word(!is.node.external_ips)},
      {"--runtime-version", was.node.runtime_version, o.version, !o.version.empty()},
      {"--network", was.node.network, o.network, !o.network.empty()},
      {"--subnetwork", was.node.subnetwork, o.subnetwork, !o.subnetwork.empty()},
      {"--service-account", was.node.service_account, o.service_account,
       !o.service_account.empty()},
      {"--user", was.user, o.user, !o.user.empty()},
      {"--project", was.project, o.project, !o.project.empty()}};
  for (const Setting& each : all)
    if (each.is_named && each.was != each.is)
      throw UsageError(str(was.folder, ": ", each.flag, " is ", each.is,
                           "; in the running job it is ", each.was.empty() ? "not set" : each.was),
                       str("use the old value, or --name NAME for another job; smelt cloud watch ",
                           was.folder, " --end stops the running one"));
}

// Returns the journal of the folder's job with its changeable settings updated, or that of a new
// job.
cloud::JobJournal journal_of(const JobOptions& o, cloud::JobSpec spec,
                             const std::optional<std::string>& kept, const StagedRecipe& staged) {
  cloud::JobJournal journal;
  if (!kept) {
    spec.run = new_id();
    journal.spec = std::move(spec);
    return journal;
  }
  journal = cloud::parse_journal(*kept, io::join_path(spec.folder, cloud::kJournalName));
  const bool same = is_same_recipe(spec, staged);
  require_goes_on(journal, spec, same);
  spec.run = journal.spec.run;
  if (journal.step == cloud::JobStep::stage) {  // nothing has been created yet
    journal.spec = std::move(spec);
    return journal;
  }
  if (journal.outcome.empty()) {  // running: only deadline, silence and prices may change
    require_same_settings(o, journal.spec, spec);
    journal.spec.budget = spec.budget;
    journal.spec.zones = spec.zones;  // updates their prices
    if (cloud::JobMachine* machine = journal.there())
      for (const cloud::JobSpec::Zone& zone : spec.zones)
        if (zone.name == machine->zone) machine->dollars_an_hour = zone.dollars_an_hour;
    if (spec.until > 0) journal.spec.until = spec.until;
    journal.spec.attempts = spec.attempts;
    if (!o.silence.empty()) journal.spec.silence = spec.silence;
    if (!o.patience.empty()) journal.spec.patience = spec.patience;
    if (!o.turn.empty()) journal.spec.turn = spec.turn;
    return journal;
  }
  if (journal.step != cloud::JobStep::ended && same) return journal;  // it is already ending
  if (journal.step != cloud::JobStep::ended)
    throw UsageError(
        str(spec.folder, ": a job of another recipe is being stopped: ", journal.why),
        str("wait for it with smelt cloud watch ", spec.folder, ", then repeat this command"));
  cloud::JobJournal next;  // keeps the money spent so far
  next.spec = std::move(spec);
  next.machines = std::move(journal.machines);
  next.starts = journal.starts;
  return next;
}

// Throws UsageError, before anything is created, if budget or time are too small for any training.
void require_enough(const JobOptions& o, const cloud::JobJournal& journal) {
  const double now = seconds_now(), paid = cloud::dollars_so_far(journal, now);
  const cloud::JobTimes times{.poll = o.poll};
  const double need = times.useful + times.closing + times.poll;
  if (journal.step != cloud::JobStep::stage ||
      cloud::time_to_close(journal, times, now).seconds > 0)
    return;
  double rate = 0;
  for (const cloud::JobSpec::Zone& zone : journal.spec.zones)
    rate = std::max(rate, zone.dollars_an_hour);
  const double least = paid + rate * need / 3600;
  if (journal.spec.budget <= least)
    throw UsageError(str("--budget: $", dollars(journal.spec.budget), ", of which $", dollars(paid),
                         " is spent, is too low: starting, saving and deleting a machine at $",
                         dollars(rate), " an hour costs $", dollars(least - paid)),
                     str("--budget ", std::ceil(least + rate), " pays for an hour of training"));
  throw UsageError(
      str("--until: ", o.until, " is too soon: creating the machine, saving and deleting it takes ",
          std::ceil(need / 60), " minutes"),
      "use a later --until");
}

std::string time_text(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm time{};
  ::gmtime_r(&whole, &time);
  return str(std::put_time(&time, "%Y-%m-%d %H:%MZ"));
}

// Returns the expected cost at the price of the first zone.
std::string likely_cost(const cloud::JobSpec& spec,
                        const std::optional<cost_model::RunTime>& planned) {
  if (!planned) return "training time and cost are unknown";
  const cost_model::Estimate& seconds = spec.node.spot ? planned->spot_seconds : planned->seconds;
  const double hours = seconds.likely / 3600;
  return str("likely $", dollars(hours * spec.zones.front().dollars_an_hour), ": it trains for ",
             rounded(hours, 1), " hours");
}

// Prints the price in each zone with its date and source, and a warning if one is old.
void show_prices(const JobOptions& o, const cloud::JobSpec& spec,
                 const cost_model::Accelerator& type, std::ostream& out) {
  const cost_model::Prices prices = prices_of(o);
  bool some_old = false;
  for (const cloud::JobSpec::Zone& zone : spec.zones) {
    out << "  " << zone.name << ": $" << dollars(zone.dollars_an_hour) << " an hour";
    const auto known = machine_price(prices, type, zone.name, spec.node.spot);
    if (o.price > 0) {
      out << " (--price)";
    } else if (known && known->an_hour == zone.dollars_an_hour) {
      const std::string old = cost_model::old_price_warning(known->price, cost_model::this_month());
      out << " (of " << known->price.date << ", " << known->price.source
          << (old.empty() ? "" : "; ") << old << ")";
      some_old = some_old || !old.empty();
    }
    out << "\n";
  }
  if (some_old)
    out << "  warning: the budget uses a price that is older than " << cost_model::kOldPriceMonths
        << " months; look up the current one and set it with --price DOLLARS or --prices FILE\n";
}

void show(const JobOptions& o, const cloud::JobJournal& journal,
          const cost_model::Accelerator& type, const std::optional<cost_model::RunTime>& time) {
  const cloud::JobSpec& spec = journal.spec;
  std::ostream& out = o.json ? std::cerr : std::cout;
  out << o.recipe << ": " << spec.node.accelerator_type << (spec.node.spot ? ", spot" : "")
      << (spec.queued ? ", queued" : "") << ", " << spec.node.runtime_version << ", project "
      << spec.project << "\n";
  show_prices(o, spec, type, out);
  out << "  " << likely_cost(spec, time) << "\n  at most $" << dollars(spec.budget) << ", $"
      << dollars(cloud::dollars_so_far(journal, seconds_now())) << " of it spent\n";
  if (spec.until > 0) out << "  until " << time_text(spec.until) << " at the latest\n";
  out << "  in " << spec.folder << "; results are copied to the recipe's out\n" << std::flush;
}

void note_package(const cloud::JobSpec& has, const cloud::JobSpec& named) {
  if (has.package_sha256 != named.package_sha256)
    std::cerr << "note: the job keeps its package; it does not use " << named.package << "\n";
}

// Runs all checks for the job and throws UsageError if one fails.
CheckedRecipe require_good(const JobOptions& o, const cloud::JobSpec& spec,
                           const cost_model::Accelerator& type) {
  cloud::DoctorRequest ask{o.project, spec.node.accelerator_type, {},        o.bucket,
                           o.package, o.service_account,          spec.user, o.far_bucket};
  for (const cloud::JobSpec::Zone& zone : spec.zones) ask.zones.push_back(zone.name);
  auto checks = cloud::examine(ask, [] { return job_api(); });
  CheckedRecipe judged = judge_recipe(o.recipe, o.settings, &type);
  checks.push_back(judged.check);
  print_checks(o.json ? std::cerr : std::cout, checks);
  if (!are_good(checks)) throw ExitStatus(1);
  return judged;
}

// Throws UsageError if the run in `out` has a newer checkpoint than the job, whose results would
// overwrite it.
void require_older_results(const cloud::JobSpec& spec, const std::string& out) {
  require_no_newer(spec, out,
                   str("--set out=FOLDER --name ", io::path_name(spec.folder),
                       " copies its results to another folder"));
}

// Warns that the word segmentation command must be installed on the machine by the user.
void warn_of_segment_command(const pipeline::Recipe& recipe) {
  const std::string& command = recipe.vocab.segment_command;
  if (!command.empty() && command != text::kNoSegmentCommand)
    log_warning(
        "vocab.segment_command: '{}' must be installed on the machine, smelt does not install it; "
        "or "
        "make the data on this machine and set data.records",
        command);
}

// Returns the options. If the recipe has train.budget.usd, sets train.steps: to the steps of the
// job's recipe in the bucket if that has the same budget, or else to the steps that a plan finds
// for the budget.
JobOptions with_steps_of_job(JobOptions o) {
  const pipeline::Recipe recipe = pipeline::load_recipe(o.recipe, o.settings);
  warn_of_segment_command(recipe);
  if (recipe.train.budget.usd == 0) return o;
  const std::string staged =
      io::join_path(io::join_path(o.bucket, job_name(o, recipe)), "recipe.yaml");
  if (const auto steps =
          io::exists(staged) ? pipeline::steps_of_budget_in(staged, recipe) : std::nullopt)
    o.settings.push_back("train.steps=" + *steps);
  else
    o.settings = pipeline::with_steps_of_budget(o.recipe, o.settings);
  return o;
}

void run_resolved_job(const JobOptions& o) {
  const pipeline::Recipe recipe = pipeline::load_recipe(o.recipe, o.settings);
  const cost_model::Accelerator type = cost_model::creatable_tpu("--type", o.type);
  cloud::JobSpec spec = spec_of(o, type, recipe);
  cloud::JobJournal fresh;
  fresh.spec = spec;
  fresh.spec.until = 0;  // a running job may be monitored until its own deadline
  require_enough(o, fresh);
  const CheckedRecipe judged = require_good(o, spec, type);
  cloud::GoogleApi api = job_api();
  spec.project = cloud::project_of(o.project, api);
  spec.package_sha256 = cloud::file_sha256(spec.package);
  StagedRecipe staged = staged_recipe(recipe, spec.folder);
  staged.files.push_back({spec.package, cloud::staged_package(spec)});
  const auto journal = [&](const std::optional<std::string>& kept) {
    return journal_of(o, spec, kept, staged);
  };
  const auto kept = cloud::JournalObject(api, spec.folder).read();
  const cloud::JobJournal planned = journal(kept);
  if (!kept) require_no_input(api, spec.folder);
  require_own_folder(api, recipe.out, planned, "--set out=FOLDER");
  require_older_results(planned.spec, recipe.out);
  if (planned.step == cloud::JobStep::stage) require_same_run(staged, spec.folder);
  require_enough(o, planned);
  show(o, planned, type, judged.planned);
  note_package(planned.spec, spec);
  if (o.dry_run) return;
  require_agreement(o.yes, "run it?", "nothing was created; --yes runs it");
  JobLead lead{.folder = spec.folder,
               .journal = journal,
               .out = recipe.out,
               .poll = o.poll,
               .ssh_config = o.ssh_config,
               .ssh_options = o.ssh_options,
               .json = o.json};
  lead.stage = [&](const auto& tell, const auto& require_lead) {
    stage_files(api, staged.files, spec.folder, tell, require_lead);
    require_lead();
    io::write_file(io::join_path(spec.folder, "recipe.yaml"), staged.text);
  };
  lead_job(api, lead);
}

}  // namespace

// Converts a budget into steps before anything is rented.
void run_job(const JobOptions& o) { run_resolved_job(with_steps_of_job(o)); }

}  // namespace smelt::cli
