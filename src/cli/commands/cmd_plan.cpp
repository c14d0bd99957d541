#include "cli/commands/cmd_plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/nearest_name.h"
#include "base/progress.h"
#include "cli/compat/original_job.h"
#include "cli/options/number_check.h"
#include "cli/options/recipe_option.h"
#include "io/filesystem/file.h"
#include "pipeline/config/text_size.h"
#include "pipeline/estimate/budget.h"
#include "pipeline/estimate/plan_text.h"
#include "pipeline/objectives/load_recipe.h"

namespace smelt::cli {
namespace {

constexpr std::string_view kAuto = "auto";
constexpr std::array kPlannedOriginals{"run_pretraining", "electra", "jestimator"};

struct PlanCommand {
  std::shared_ptr<RecipeOption> recipe;
  std::vector<std::string> more;  // arguments after the recipe: flags of an original program
  std::string on = "v2-8,v3-8,v2-32,v5litepod-8", batch, prices, region, calibrate, html;
  bool all_variants = false, steps_only = false, json = false, again = false;
  std::int64_t minutes = 10;
  double budget = 0;
};

void check_batch(const std::string& word) {
  constexpr std::int64_t kMost = 1 << 24;
  std::int64_t number = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_number = fault == std::errc() && end == word.data() + word.size();
  if (word.empty() || word == kAuto || (is_number && number >= 1 && number <= kMost)) return;
  throw UsageError(str("smelt plan: --batch '", word, "' is neither an integer from 1 to ", kMost,
                       " nor 'auto'"),
                   "set the number of examples per step, or auto");
}

// Returns the recipe's settings, with the batch size of --batch.
std::vector<std::string> settings_of(const PlanCommand& c) {
  std::vector<std::string> out = c.recipe->settings;
  if (!c.batch.empty() && c.batch != kAuto) out.push_back("train.batch_size=" + c.batch);
  return out;
}

// Throws UsageError for unknown flags and for a command that cannot be planned.
void refuse_words(const PlanCommand& c) {
  if (c.more.empty()) return;
  const std::string& first = c.recipe->path;
  const std::vector<std::string> planned(kPlannedOriginals.begin(), kPlannedOriginals.end());
  if (first == "ttt" || first == "create_pretraining_data" || nearest_name(first, planned))
    throw UsageError(str("smelt plan: '", first, "' is not a command that can be planned"),
                     did_you_mean(first, planned));
  throw UsageError(str("smelt plan: unknown argument '", c.more.front(), "'"),
                   "see `smelt plan --help`; flags of an original's command go after --");
}

// Returns a function that plans the recipe, or the original's command line, on a machine.
std::function<pipeline::PlannedRun(const cost_model::Accelerator&)> run_of(const PlanCommand& c) {
  if (std::ranges::find(kPlannedOriginals, c.recipe->path) == kPlannedOriginals.end()) {
    refuse_words(c);
    for (const std::string& setting : c.recipe->settings)
      if (setting.starts_with("train.device"))
        log_warning("--set {} has no effect in a plan: each type has its own devices", setting);
    return [path = c.recipe->path, settings = settings_of(c),
            is_open = c.batch == kAuto](const cost_model::Accelerator& type) {
      auto on = settings;
      if (is_open) {  // --batch auto starts with the recipe's batch size if the devices divide it
        const std::int64_t batch = pipeline::load_recipe(path, settings).train.batch_size;
        if (const std::int64_t over = batch % type.devices; over != 0)
          on.push_back(str("train.batch_size=", batch - over + type.devices));
      }
      return pipeline::planned_run(pipeline::recipe_on(type, path, on));
    };
  }
  if (const bool set = !c.recipe->settings.empty(); set || settings_of(c).size() > 0)
    throw UsageError(
        str("smelt plan: ", set ? "--set" : "--batch " + c.batch, " with ", c.recipe->path),
        str(set ? "--set is" : "--batch N is", " only for recipes: use the original's own flags"));
  std::vector<std::string> words{c.recipe->path};
  words.insert(words.end(), c.more.begin(), c.more.end());
  return [job = original_job(words)](const cost_model::Accelerator& type) {
    return pipeline::PlannedRun{.job = job(type.devices)};
  };
}

bool is_of_original(const PlanCommand& c) {
  return std::ranges::find(kPlannedOriginals, c.recipe->path) != kPlannedOriginals.end();
}

// Describes what the budget buys. For an original's run, passes over the text are unknown.
std::string budget_of(const PlanCommand& c, const pipeline::Plan& plan) {
  if (!is_of_original(c))
    return pipeline::budget_text(plan, c.budget,
                                 pipeline::load_recipe(c.recipe->path, settings_of(c)));
  return pipeline::budget_text(
      plan, c.budget, [](std::int64_t) { return std::optional<double>(); }, "");
}

void run_plan(const PlanCommand& c) {
  check_batch(c.batch);
  pipeline::PlanJob job{.run_on = run_of(c),
                        .types = cost_model::find_accelerators("--on", c.on),
                        .all_variants = c.all_variants,
                        .largest_batch = c.batch == kAuto,
                        .steps_only = c.steps_only,
                        .region = c.region};
  const cost_model::Prices prices =
      c.prices.empty() ? cost_model::Prices() : cost_model::Prices(c.prices);
  if (!c.region.empty()) prices.check_region(c.region);
  const cost_model::TpuCompiles compiles(
      cost_model::TpuCompiles::user_cache_folder(),
      {.time_limit = std::chrono::minutes(c.minutes), .ignore_cache = c.again});
  if (!c.calibrate.empty()) job.factors.insert(pipeline::calibration(c.calibrate, compiles));
  std::optional<Progress> bar;
  std::size_t bars_of = 0;
  pipeline::PlanCallbacks callbacks;
  callbacks.progress = [&](std::size_t done, std::size_t of) {
    if (of != bars_of) bar.reset();  // more programs than before
    bars_of = of;
    if (!bar) bar.emplace("compiling", static_cast<std::int64_t>(of), "programs");
    bar->update(static_cast<std::int64_t>(done));
  };
  if (!c.json)
    callbacks.first = [&, begun = false](const pipeline::PlanRow& row) mutable {
      bar.reset();
      if (!std::exchange(begun, true))
        std::cout << "Results with layers in a loop; next, unrolled layers, which a run of this "
                     "length uses by "
                     "default, are compiled:\n";
      std::cout << "  "
                << (row.fits() ? pipeline::planned_run_text(row)
                               : row.type.name + ": does not fit this way")
                << "\n"
                << std::flush;
    };
  // Errors of the recipe are reported before a missing TPU compiler.
  if (!is_of_original(c)) (void)pipeline::load_recipe(c.recipe->path, settings_of(c));
  const pipeline::Plan plan = pipeline::plan_run(job, compiles, prices, callbacks);
  bar.reset();
  if (!c.html.empty()) io::write_file(c.html, pipeline::plan_page(plan));
  std::cout << (c.json ? pipeline::plan_json(plan).dump(2) + "\n" : pipeline::plan_text(plan));
  if (!c.json && !is_of_original(c))
    std::cout << "Run: "
              << pipeline::run_length_text(pipeline::load_recipe(c.recipe->path, settings_of(c)))
              << "\n";
  if (c.budget > 0 && !c.json) std::cout << "\n" << budget_of(c, plan);
}

}  // namespace

void add_plan_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "plan", "estimate time, memory and cost of a recipe on TPUs and GPUs, without having one");
  auto c = std::make_shared<PlanCommand>();
  c->recipe = add_recipe_options(*command);
  command
      ->add_option(
          "--on", c->on,
          "TPU types by Google's names, e.g. v3-8,v5litepod-8, or GPUs, e.g. h100x8,l4; all: "
          "one machine of each TPU generation; gpus: one of each kind of GPU")
      ->capture_default_str();
  command->add_flag(
      "--all-forms", c->all_variants,
      "try both unrolled layers, which take longer to compile, and a loop over layers");
  command->add_option(
      "--batch", c->batch,
      "examples per step instead of the recipe's; auto: the recipe's, and the largest "
      "batch that fits");
  command
      ->add_option("--budget", c->budget,
                   "budget in US dollars: also show the steps and passes over the text that each "
                   "type can do "
                   "with it, and which type to choose")
      ->check(dollars_above_zero());
  command->add_flag("--steps-only", c->steps_only, "count only training steps, no evaluations");
  command->add_option("--prices", c->prices,
                      "a YAML file of prices that override smelt's own (docs/guides/plan.md)");
  command->add_option(
      "--calibrate", c->calibrate,
      "folder of a run on TPUs or GPUs; its measured step times correct the estimates");
  command->add_option("--html", c->html, "write an HTML page with charts to this file");
  command->add_option("--region", c->region, "region of the prices, e.g. us-central1");
  command->add_option("--minutes", c->minutes, "time limit of one compilation, in minutes")
      ->check(number_from(1))
      ->capture_default_str();
  command->add_flag("--again", c->again, "do not use cached results of earlier compilations");
  command->add_flag("--json", c->json, "print one JSON object");
  command->allow_extras();
  command->footer(
      "A run of an original program is planned from its own flags, without its data:\n"
      "  smelt plan --on v3-8 -- run_pretraining --bert_config_file=… --train_batch_size=256 …");
  command->callback([c, command] {
    c->more = command->remaining();
    std::erase(c->more, "--");
    run_plan(*c);
  });
}

}  // namespace smelt::cli
