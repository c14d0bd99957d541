#include "pipeline/sweep/trials.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "base/nearest_name.h"
#include "base/plural.h"
#include "evaluation/metrics/named.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/row_commands.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/predictions.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/stages/run_history.h"

namespace smelt::pipeline {
namespace {

constexpr const char* kTrials = "trials";
constexpr std::string_view kSeed = "seed-";
constexpr const char* kAgainst = "against";

// Throws UsageError for settings that the trials choose themselves: train.seed and out.
void check_is_open(const char* flag, const std::string& setting) {
  const std::string field = setting.substr(0, setting.find('='));
  if (field == "train.seed")
    throw UsageError(
        str(flag, ": train.seed cannot be set, because the runs of a trial differ in it"),
        "set the number of seeds with --seeds, and the first one with --set train.seed=…");
  if (field == "out")
    throw UsageError(str(flag, ": out cannot be set, because it contains the folders of all runs"),
                     "set it with --set out=…");
}

// Splits "train.optimizer.learning_rate=1e-5,3e-5" into "train.optimizer.learning_rate=1e-5" and
// "train.optimizer.learning_rate=3e-5".
std::vector<std::string> settings_of(const std::string& axis) {
  const auto equals = axis.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == axis.size())
    throw UsageError(str("--grid: '", axis, "' must name a field and its values"),
                     "write it as --grid train.optimizer.learning_rate=1e-5,3e-5");
  check_is_open("--grid", axis);
  std::vector<std::string> out;
  for (const std::string_view value : split(std::string_view(axis).substr(equals + 1), ',')) {
    std::string setting = str(axis.substr(0, equals + 1), trim(value));
    if (std::ranges::find(out, setting) != out.end())
      throw UsageError(str("--grid: ", setting, " is given twice"), "name each value once");
    out.push_back(std::move(setting));
  }
  return out;
}

// Returns every combination of one value for each field of the grid.
std::vector<std::vector<std::string>> choices(const std::vector<std::string>& grid) {
  std::vector<std::vector<std::string>> out{{}};
  std::set<std::string> fields;
  for (const std::string& axis : grid) {
    const auto settings = settings_of(axis);
    if (const std::string field = axis.substr(0, axis.find('=')); !fields.insert(field).second)
      throw UsageError(str("--grid: ", field, " is given twice"),
                       str("name all its values at once: --grid ", field, "=A,B"));
    std::vector<std::vector<std::string>> longer;
    for (const auto& before : out)
      for (const std::string& setting : settings) {
        longer.push_back(before);
        longer.back().push_back(setting);
      }
    out = std::move(longer);
  }
  return out;
}

// Shortens "train.optimizer.learning_rate=1e-5" to "learning_rate=1e-5".
std::string name_of(const std::vector<std::string>& settings) {
  std::vector<std::string> names;
  for (const std::string& setting : settings) {
    const auto dot = setting.rfind('.', setting.find('='));
    names.push_back(dot == setting.npos ? setting : setting.substr(dot + 1));
  }
  return join(names, ",");
}

// Returns whether a lower value of the metric is better.
bool is_error(const std::string& metric) { return metric == "mse"; }

bool fits(const Recipe& r, const std::string& metric) {
  SamplePrediction sample = r.type->sample_prediction(r);
  const bool of_probabilities = evaluation::predicted_field(metric) == "probabilities";
  if (of_probabilities && sample.of_words) return false;
  if (of_probabilities) sample.prediction = {{"a", 0.5}, {"b", 0.5}};
  if (const auto colon = metric.find(':'); colon != std::string::npos) {
    const Json label = metric.substr(colon + 1);
    if (sample.of_words) sample.prediction = sample.label = Json::array({label});
    if (sample.label.is_string()) sample.prediction = sample.label = label;
  }
  try {
    (void)evaluation::metric_of(metric, {sample.prediction}, {sample.label}, sample.of_words);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

// Throws UsageError, before anything is trained, if the metric does not fit the model's
// predictions. An empty metric is valid: it means the default, which may not be known yet.
void check_metric(const Recipe& r, const std::string& metric) {
  if (metric.empty() || fits(r, metric)) return;
  auto known = evaluation::metric_names();
  if (std::ranges::find(known, metric) == known.end() && metric.find(':') == std::string::npos)
    (void)evaluation::metric_of(metric, {}, {});  // throws if the name is unknown
  std::erase_if(known, [&](const std::string& name) { return !fits(r, name); });
  const SamplePrediction sample = r.type->sample_prediction(r);
  throw UsageError(str("--metric: ", metric, " does not fit this model's predictions, such as ",
                       sample.prediction.dump(), " for the label ", sample.label.dump()),
                   str("give one of ", join(known, ", ")));
}

// Throws UsageError before the first run is trained if the metric names a label that does not
// exist.
void check_label(const Recipe& r, const std::string& metric) {
  const auto colon = metric.find(':');
  if (colon == std::string::npos || !r.type->classes) return;
  const std::string label = metric.substr(colon + 1);
  const auto classes = r.type->classes(r);
  if (classes.empty() || std::ranges::find(classes, label) != classes.end()) return;
  throw UsageError(str("--metric: ", metric, ": '", label, "' is not one of the ",
                       counted(classes.size(), "class", "classes"), " of data.train"),
                   did_you_mean(label, classes));
}

// Returns settings for the same encoder and vocabulary, but random initial weights.
std::vector<std::string> fresh_settings(const Recipe& r) {
  if (r.train.init_from.empty())
    throw UsageError("finetune: --against-fresh needs train.init_from, which is empty",
                     "name the pre-trained model with --set train.init_from=…");
  return {"train.init_from=", "model.like=" + r.train.init_from,
          "vocab.file=" + given_vocabulary(r)};
}

// Returns a folder name for settings. A name that is long or has special characters ends in a
// checksum.
std::string folder_name(const std::vector<std::string>& settings) {
  static constexpr std::string_view kPlain =
      "-_.=+0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::size_t kLongest = 60;
  const auto shortened_by = [&](const std::string& name, std::size_t most) {
    std::string out = name.substr(0, most);
    for (char& c : out)
      if (kPlain.find(c) == std::string_view::npos) c = '_';
    return out == name ? name : str(out, "-", io::hex_text(io::crc32c(name)));
  };
  std::vector<std::string> parts;
  for (const std::string& setting : settings)
    parts.push_back(shortened_by(name_of({setting}), kLongest));
  return shortened_by(join(parts, "_"), 3 * kLongest);
}

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> out;
  if (!io::is_folder(folder)) return out;
  for (const std::string& name : io::list_folder(folder))
    if (const std::string path = io::join_path(folder, name); io::is_folder(path))
      out.push_back(path);
  return out;
}

class Trials {
 public:
  explicit Trials(const TrialsJob& job) : job_(job), base_(load_recipe(job.recipe, job.settings)) {
    allow_segment_command(base_);
    if (!base_.type->write_predictions)
      throw UsageError(str("finetune: a model of type ", base_.type->name,
                           " makes no predictions for single examples"),
                       "use a recipe of model.type classify");
    metric_ = job.metric.empty() ? base_.type->metric(base_) : job.metric;
    check_metric(base_, metric_);
    check_label(base_, metric_);
    if (RecipePaths(base_).heldout_records.empty())
      throw UsageError("finetune: no held-out examples to compare runs on",
                       "name some with --set data.validation=…");
  }

  TrialsSummary run() {
    TrialsSummary out;
    for (const Kinds& kinds : all_kinds()) {
      const evaluation::ScoreOf first = run_kind(kinds.own, out.trials);
      if (!kinds.other) continue;
      const evaluation::ScoreOf second = run_kind(*kinds.other, out.against);
      out.margins.push_back(evaluation::paired_bootstrap(examples_, first, second, job_.resample));
    }
    out.metric = metric_;
    out.lower_is_better = is_error(metric_);
    out.examples = examples_;
    out.best = best_trial(out);
    return out;
  }

 private:
  struct Kind {
    std::string name;
    std::vector<std::string> settings;
    std::string place;
  };
  struct Kinds {
    Kind own;
    // Control run to compare with.
    std::optional<Kind> other;
  };

  // Loads all recipes, so that invalid settings are reported before anything runs.
  std::vector<Kinds> all_kinds() const {
    for (const std::string& setting : job_.against) check_is_open("--against", setting);
    std::vector<Kinds> out;
    for (const auto& choice : choices(job_.grid)) {
      out.push_back({.own = {name_of(choice), choice, place(kTrials, choice)}, .other = {}});
      const Recipe own = checked(choice);
      if (job_.against.empty() && !job_.against_fresh) continue;
      auto settings = choice;
      settings.insert(settings.end(), job_.against.begin(), job_.against.end());
      auto words = settings;
      if (job_.against_fresh) {
        words.emplace_back("fresh");
        for (std::string& setting : fresh_settings(own)) settings.push_back(std::move(setting));
      }
      (void)checked(settings);
      out.back().other = {out.back().own.name, settings, place(kAgainst, words)};
    }
    return out;
  }

  // Loads a recipe. Throws UsageError if its predictions cannot be compared with those of the other
  // runs, because the metric does not fit or the held-out rows differ.
  Recipe checked(const std::vector<std::string>& settings) const {
    Recipe r = load(settings);
    check_metric(r, metric_);
    std::vector<std::string> of_rows{"validation", "test"};
    if (r.data.value("validation", "").empty())
      of_rows = {"validation", "train", "test", "validation_share", "seed"};
    for (const std::string& field : of_rows)
      if (r.data.contains(field) && r.data.at(field) != base_.data.at(field))
        throw UsageError(str("finetune: data.", field, " is ", r.data.at(field).dump(),
                             " in one run, ", base_.data.at(field).dump(),
                             " in the recipe: the runs would hold out different examples"),
                         "remove it from --grid and --against");
    return r;
  }
  Recipe load(const std::vector<std::string>& settings) const {
    std::vector<std::string> all = job_.settings;
    all.insert(all.end(), settings.begin(), settings.end());
    return load_recipe(job_.recipe, all);
  }
  std::string place(const std::string& arm, const std::vector<std::string>& words) const {
    return io::join_path(io::join_path(base_.out, arm), folder_name(words));
  }

  // Runs all seeds of one combination of settings and appends the trial to `out`. Returns a
  // function that computes the score on given examples, averaged over the seeds.
  evaluation::ScoreOf run_kind(const Kind& kind, std::vector<Trial>& out) {
    Trial trial;
    trial.name = kind.name;
    trial.settings = kind.settings;
    std::vector<evaluation::ScoreOf> scores;
    for (std::int64_t i = 0; i < job_.seeds; ++i) {
      const std::string folder = io::join_path(kind.place, str(kSeed, base_.train.seed + i));
      trial.folders.push_back(folder);
      scores.push_back(run_one(kind.settings, folder, base_.train.seed + i));
    }
    std::vector<std::size_t> all(examples_);
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (const evaluation::ScoreOf& score : scores) trial.scores.push_back(score(all));
    const auto mean = [scores](std::span<const std::size_t> examples) {
      double sum = 0;
      for (const evaluation::ScoreOf& score : scores) sum += score(examples);
      return sum / static_cast<double>(scores.size());
    };
    trial.mean = evaluation::bootstrap(examples_, mean, job_.resample);
    double squares = 0;
    for (const double score : trial.scores)
      squares += (score - trial.mean.value) * (score - trial.mean.value);
    if (job_.seeds > 1) trial.spread = std::sqrt(squares / static_cast<double>(job_.seeds - 1));
    out.push_back(std::move(trial));
    return mean;
  }

  evaluation::ScoreOf run_one(std::vector<std::string> settings, const std::string& folder,
                              std::int64_t seed) {
    settings.insert(settings.end(), rows_.begin(), rows_.end());
    settings.push_back("out=" + folder);
    settings.push_back(str("train.seed=", seed));
    const Recipe recipe = load(settings);
    if (const auto other = changes_since_start(recipe))
      throw UsageError(str("finetune: ", folder, " contains another run: ", *other),
                       "choose another folder with --set out=…, or remove that one");
    log_info("finetune: {}", folder);
    run_recipe(recipe);
    if (rows_.empty()) rows_ = stored_row_settings(recipe);
    if (metric_.empty()) metric_ = recipe.type->metric(recipe);
    const std::string path = RecipePaths(recipe).predictions;
    const ReadPredictions predicted = read_predictions(path, evaluation::predicted_field(metric_));
    if (examples_ == 0) labels_ = predicted.labels;
    examples_ = predicted.predictions.size();
    if (predicted.labels != labels_)
      throw UsageError(str(path, ": the examples differ from those of the other runs"),
                       "remove fields of data: from --grid and --against, or delete the folder");
    return evaluation::metric_of(metric_, predicted.predictions, predicted.labels,
                                 predicted.of_words);
  }

  const TrialsJob& job_;
  Recipe base_;
  // Empty until the first run has made its examples, if the default metric depends on them.
  std::string metric_;
  std::size_t examples_ = 0;
  evaluation::JsonValues labels_;
  // Files with the output of row commands in the first run, which the other runs use.
  std::vector<std::string> rows_;
};

std::string number(double value) {
  if (std::isnan(value)) return "undefined";
  std::ostringstream out;
  out << std::fixed << std::setprecision(4) << value;
  return out.str();
}

void put_trial(const Trial& trial, const std::string& mark, std::ostringstream& out) {
  out << "  " << std::left << std::setw(34) << (trial.name.empty() ? "this recipe" : trial.name)
      << "  " << number(trial.mean.value) << " ± " << number(trial.spread) << "   ["
      << number(trial.mean.low) << ", " << number(trial.mean.high) << "]" << mark << "\n";
}

OrderedJson interval_json(const evaluation::Interval& i) {
  return {{"value", i.value}, {"low", i.low}, {"high", i.high}};
}

OrderedJson trial_json(const Trial& t) {
  return {{"name", t.name},     {"settings", t.settings},        {"folders", t.folders},
          {"scores", t.scores}, {"mean", interval_json(t.mean)}, {"spread", t.spread}};
}

}  // namespace

std::optional<std::size_t> best_trial(const TrialsSummary& s) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < s.trials.size(); ++i) {
    const double score = s.trials[i].mean.value;
    if (std::isnan(score)) continue;
    const double least = best ? s.trials[*best].mean.value : score;
    if (!best || (s.lower_is_better ? score < least : score > least)) best = i;
  }
  return best;
}

std::optional<std::string> best_folder(const TrialsSummary& s) {
  const auto best = best_trial(s);
  if (!best) return {};
  const std::vector<double>& scores = s.trials[*best].scores;
  const auto at =
      s.lower_is_better ? std::ranges::min_element(scores) : std::ranges::max_element(scores);
  return s.trials[*best].folders.at(static_cast<std::size_t>(at - scores.begin()));
}

std::vector<std::string> trial_folders(const std::string& out) {
  std::vector<std::string> folders;
  for (const char* arm : {kTrials, kAgainst})
    for (const std::string& kind : folders_in(io::join_path(out, arm))) {
      if (io::path_name(kind).starts_with(kSeed)) {  // a run of a sweep without --grid
        folders.push_back(kind);
        continue;
      }
      for (const std::string& run : folders_in(kind)) folders.push_back(run);
    }
  return folders;
}

TrialsSummary run_trials(const TrialsJob& job) { return Trials(job).run(); }

std::string trials_text(const TrialsSummary& s) {
  std::ostringstream out;
  out << s.metric << " of " << counted(s.examples, "held-out example")
      << ", mean ± standard deviation over " << counted(s.trials.front().scores.size(), "seed")
      << " [95 % interval over resampled examples]"
      << (s.lower_is_better ? "; lower is better" : "") << "\n";
  for (std::size_t i = 0; i < s.trials.size(); ++i) {
    put_trial(s.trials[i], s.trials.size() > 1 && i == s.best ? "  best" : "", out);
    if (s.against.empty()) continue;
    Trial other = s.against[i];
    other.name = "variant of --against";
    put_trial(other, "", out);
    const evaluation::PairedTest& margin = s.margins[i];
    out << "    difference " << number(margin.difference.value) << " ["
        << number(margin.difference.low) << ", " << number(margin.difference.high) << "], p "
        << margin.p_value << (s.lower_is_better ? "; below 0 is better" : "; above 0 is better")
        << "\n";
  }
  if (const auto folder = best_folder(s))
    out << "the best run: " << *folder << "\n";
  else
    out << "no best run: " << s.metric
        << " is undefined for these examples, for instance because a class is missing\n";
  return out.str();
}

OrderedJson trials_json(const TrialsSummary& s) {
  OrderedJson out{{"metric", s.metric}, {"examples", s.examples}};
  for (const Trial& trial : s.trials) out["trials"].push_back(trial_json(trial));
  for (const Trial& trial : s.against) out["against"].push_back(trial_json(trial));
  for (const evaluation::PairedTest& margin : s.margins)
    out["margins"].push_back(
        {{"difference", interval_json(margin.difference)}, {"p_value", margin.p_value}});
  out["lower_is_better"] = s.lower_is_better;
  out["best"] = s.best ? OrderedJson(s.trials[*s.best].name) : nullptr;
  const auto folder = best_folder(s);
  out["best_folder"] = folder ? OrderedJson(*folder) : nullptr;
  return out;
}

}  // namespace smelt::pipeline
