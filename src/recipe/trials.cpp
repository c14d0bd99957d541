#include "recipe/trials.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>
#include <sstream>

#include "base/error.h"
#include "base/words.h"
#include "metrics/named.h"
#include "recipe/given_vocabulary.h"
#include "recipe/objective_type.h"
#include "recipe/pipeline.h"
#include "recipe/predictions.h"
#include "store/path.h"

namespace smelt {
namespace {

// Every choice of one value for each field of the grid.
std::vector<std::vector<std::string>> choices(const std::vector<std::string>& grid) {
  std::vector<std::vector<std::string>> out{{}};
  for (const std::string& axis : grid) {
    const auto equals = axis.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == axis.size())
      throw UsageError(str("--grid: '", axis, "' names no field and values"),
                       "write it as --grid train.learning_rate=1e-5,3e-5");
    const std::string field = axis.substr(0, equals + 1), values = axis.substr(equals + 1);
    std::vector<std::vector<std::string>> longer;
    for (const auto& before : out)
      for (const std::string_view value : split(values, ',')) {
        longer.push_back(before);
        longer.back().push_back(str(field, trim(value)));
      }
    out = std::move(longer);
  }
  return out;
}

// "train.learning_rate=1e-5" -> "learning_rate=1e-5"
std::string name_of(const std::vector<std::string>& settings) {
  std::vector<std::string> names;
  for (const std::string& setting : settings) {
    const auto dot = setting.find('.'), equals = setting.find('=');
    names.push_back(dot < equals ? setting.substr(dot + 1) : setting);
  }
  return join(names, ",");
}

// The same encoder and vocabulary without the weights.
std::vector<std::string> fresh_settings(const Recipe& r) {
  if (r.train.init.empty())
    throw UsageError("finetune: --against-fresh, but train.init names no weights",
                     "name the pre-trained model with --set train.init=…");
  return {"train.init=", "model.like=" + r.train.init, "vocab.file=" + given_vocabulary(r)};
}

std::string folder_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == ',' || c == '*' || c == '?' || c == ' '; }, '_');
  return name;
}

class Trials {
 public:
  explicit Trials(const TrialsJob& job) : job_(job), base_(load_recipe(job.recipe, job.settings)) {
    if (!base_.type->write_predictions)
      throw UsageError(str("finetune: a model of type ", base_.type->name,
                           " predicts nothing of single examples"),
                       "take a recipe of model.type classify");
    metric_ = job.metric.empty() ? base_.type->metric(base_) : job.metric;
    against_ = job.against;
    if (job.against_fresh)
      for (std::string& setting : fresh_settings(base_)) against_.push_back(std::move(setting));
  }

  TrialsSummary run() {
    TrialsSummary out;
    out.metric = metric_;
    for (const auto& choice : choices(job_.grid)) {
      const ScoreOf first = run_kind(choice, "trials", out.trials);
      if (against_.empty()) continue;
      auto settings = choice;
      settings.insert(settings.end(), against_.begin(), against_.end());
      const ScoreOf second = run_kind(settings, "against", out.against);
      out.against.back().name = out.trials.back().name;
      out.margins.push_back(paired_bootstrap(examples_, first, second, job_.resample));
    }
    out.examples = examples_;
    const auto best = std::ranges::max_element(out.trials, {},
                                               [](const Trial& trial) { return trial.mean.value; });
    out.best = static_cast<std::size_t>(best - out.trials.begin());
    return out;
  }

 private:
  // The mean score of its runs.
  ScoreOf run_kind(const std::vector<std::string>& settings, const std::string& arm,
                   std::vector<Trial>& out) {
    Trial trial;
    trial.name = name_of(settings);
    trial.settings = settings;
    std::vector<ScoreOf> scores;
    for (std::int64_t i = 0; i < job_.seeds; ++i) {
      const std::string folder =
          join_path(join_path(join_path(base_.out, arm), folder_name(trial.name)),
                    str("seed-", base_.train.seed + i));
      trial.folders.push_back(folder);
      scores.push_back(run_one(settings, folder, base_.train.seed + i));
    }
    std::vector<std::size_t> all(examples_);
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (const ScoreOf& score : scores) trial.scores.push_back(score(all));
    const auto mean = [scores](std::span<const std::size_t> examples) {
      double sum = 0;
      for (const ScoreOf& score : scores) sum += score(examples);
      return sum / static_cast<double>(scores.size());
    };
    trial.mean = bootstrap(examples_, mean, job_.resample);
    double squares = 0;
    for (const double score : trial.scores)
      squares += (score - trial.mean.value) * (score - trial.mean.value);
    if (job_.seeds > 1) trial.spread = std::sqrt(squares / static_cast<double>(job_.seeds - 1));
    out.push_back(std::move(trial));
    return mean;
  }

  ScoreOf run_one(const std::vector<std::string>& settings, const std::string& folder,
                  std::int64_t seed) {
    std::vector<std::string> all = job_.settings;
    all.insert(all.end(), settings.begin(), settings.end());
    all.push_back("out=" + folder);
    all.push_back(str("train.seed=", seed));
    const Recipe recipe = load_recipe(job_.recipe, all);
    spdlog::info("finetune: {}", folder);
    run_recipe(recipe);
    const std::string path = RecipePaths(recipe).predictions;
    const ReadPredictions predicted = read_predictions(path, predicted_field(metric_));
    if (examples_ == 0) labels_ = predicted.is;
    examples_ = predicted.said.size();
    if (predicted.is != labels_)
      throw UsageError(str(path, ": not the examples of the other runs"),
                       "leave data: out of --grid and --against, or remove the folder");
    return metric_of(metric_, predicted.said, predicted.is);
  }

  const TrialsJob& job_;
  Recipe base_;
  std::string metric_;
  std::vector<std::string> against_;
  std::size_t examples_ = 0;
  JsonValues labels_;
};

std::string number(double value) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(4) << value;
  return out.str();
}

void put_trial(const Trial& trial, const std::string& mark, std::ostringstream& out) {
  out << "  " << std::left << std::setw(36) << (trial.name.empty() ? "all" : trial.name)
      << number(trial.mean.value) << " ± " << number(trial.spread) << "   ["
      << number(trial.mean.low) << ", " << number(trial.mean.high) << "]" << mark << "\n";
}

nlohmann::ordered_json interval_json(const Interval& i) {
  return {{"value", i.value}, {"low", i.low}, {"high", i.high}};
}

nlohmann::ordered_json trial_json(const Trial& t) {
  return {{"name", t.name},     {"settings", t.settings},        {"folders", t.folders},
          {"scores", t.scores}, {"mean", interval_json(t.mean)}, {"spread", t.spread}};
}

}  // namespace

TrialsSummary run_trials(const TrialsJob& job) { return Trials(job).run(); }

std::string trials_text(const TrialsSummary& s) {
  std::ostringstream out;
  out << s.metric << " of " << counted(s.examples, "held-out example") << ", mean and spread of "
      << counted(s.trials.front().scores.size(), "seed") << " [95 % of resampled examples]\n";
  for (std::size_t i = 0; i < s.trials.size(); ++i) {
    put_trial(s.trials[i], s.trials.size() > 1 && i == s.best ? "  best" : "", out);
    if (s.against.empty()) continue;
    Trial other = s.against[i];
    other.name = "against it";
    put_trial(other, "", out);
    const PairedTest& margin = s.margins[i];
    out << "    margin " << number(margin.difference.value) << " [" << number(margin.difference.low)
        << ", " << number(margin.difference.high) << "], p " << margin.p_value << "\n";
  }
  return out.str();
}

nlohmann::ordered_json trials_json(const TrialsSummary& s) {
  nlohmann::ordered_json out{{"metric", s.metric}, {"examples", s.examples}};
  for (const Trial& trial : s.trials) out["trials"].push_back(trial_json(trial));
  for (const Trial& trial : s.against) out["against"].push_back(trial_json(trial));
  for (const PairedTest& margin : s.margins)
    out["margins"].push_back(
        {{"difference", interval_json(margin.difference)}, {"p_value", margin.p_value}});
  out["best"] = s.trials[s.best].name;
  return out;
}

}  // namespace smelt
