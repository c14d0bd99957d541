#include "pipeline/estimate/advise.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/number_format.h"
#include "base/progress.h"
#include "data/preprocess/prose.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/recipe.h"
#include "pipeline/estimate/budget.h"

namespace smelt::pipeline {
namespace {

constexpr std::int64_t kAdvisedBatch = 256, kAdvisedTokens = 128;
// How much of the text is checked for its encoding.
constexpr std::uint64_t kCheckedBytes = 16 << 20;
constexpr double kUsualPasses = 40;
constexpr double kCopies = 5;     // copies of the text in BERT's examples
constexpr double kFilled = 0.85;  // share of an example's tokens that are not padding

// Returns the share of the peak FLOP/s that a training step of BERT-base reaches according to
// `smelt plan`, without the factor between published and planned run times. Sources:
// tests/golden/published_runs.json; for v2 and v5e, plans of recipes/bert-from-scratch.yaml
// (docs/explanation/cost-model.md). Other TPUs are assumed to reach 0.4.
double share_of_peak(const cost_model::Accelerator& type) {
  static const std::map<std::string, double> kShares{
      {"v2", 0.63}, {"v3", 0.48}, {"v4", 0.36}, {"v5e", 0.43}};
  constexpr double kOfOtherTpus = 0.4, kOfGpus = 0.53;
  const auto found = kShares.find(type.generation);
  return found != kShares.end() ? found->second : type.is_gpu() ? kOfGpus : kOfOtherTpus;
}

// Returns the factor on share_of_peak() for a model of this size, at most 1. Narrow models
// reach less than BERT-base: on a v3, ELECTRA-small reaches 0.2 of the peak and BERT-tiny 0.15.
double share_of_size(const ModelSize& size) {
  return std::pow(std::min(1.0, size.hidden / 768.0), 0.65);
}

double encoder_parameters(const ModelSize& m, double vocabulary) {
  return 12.0 * m.layers * m.hidden * m.hidden + vocabulary * m.hidden;
}

// Returns the FLOPs of a training example: three times the model's matmuls (forward and backward)
// and the output layer for 15 % of the tokens. An ELECTRA has a loss at every token and a generator
// of a quarter of the size.
double example_operations(const AdvisedStep& step) {
  const double H = step.size.hidden, L = step.size.layers, T = step.tokens;
  const double words = 0.15 * T * (H * H + H * static_cast<double>(step.vocabulary));
  const double bert = 72 * L * H * H * T + 12 * L * H * T * T + 6 * words;
  return (step.kind == "electra" ? 1.35 : 1.0) * bert;
}

// Returns the bytes of parameters, gradients and Adam's state in f32, and of a device's
// activations.
double device_memory_of(const ModelSize& m, double parameters,
                        const cost_model::Accelerator& type) {
  const double rows = static_cast<double>(kAdvisedBatch) / type.devices;
  return 16 * parameters + rows * kAdvisedTokens * m.hidden * 34.0 * m.layers;
}

// Widens the interval: for base and large models, the compiled work differs from the estimate by up
// to a quarter.
cost_model::Estimate widened(const cost_model::Estimate& step) {
  constexpr double kWithin = 1.25;
  return {.low = step.low / kWithin, .likely = step.likely, .high = step.high * kWithin};
}

// Returns the plan row for the recipe of starter_text(), with default values for other fields.
PlanRow planned_row(const AdviceRow& row, const cost_model::Accelerator& type,
                    const cost_model::Price* price, const AdviceJob& job, const TextSize& text) {
  PlanRow out;
  out.type = type;
  out.price = price;
  out.batch = kAdvisedBatch;
  out.tokens = kAdvisedTokens;
  out.factor = cost_model::usual_factor(type);
  out.longest_run = cost_model::longest_run(type);
  const cost_model::StepWork work = advised_work({.size = row.size,
                                                  .kind = job.kind,
                                                  .vocabulary = row.vocabulary,
                                                  .batch = kAdvisedBatch,
                                                  .tokens = kAdvisedTokens},
                                                 type);
  out.tried = {{.settings = {},
                .words = "by arithmetic",
                .compiled = {},
                .products = {},
                .work = work,
                .step = widened(*cost_model::step_seconds(work, out.factor))}};
  out.best = 0;
  const auto eval_batch = static_cast<double>(EvalSection().batch_size);
  out.final_evaluations =
      held_out_examples(text.bytes * TextSection().heldout, kAdvisedTokens) / eval_batch;
  // A forward pass takes a third of a step.
  out.scored = out.form().step->times(eval_batch / kAdvisedBatch / 3);
  out.work = {.steps = kStarterEvalEvery,
              .save_every = train::CheckpointOptions().save_interval_steps,
              .checkpoint_bytes = 12 * row.parameters,
              .evaluations = 2 * out.final_evaluations};
  return out;
}

AdviceRow row_of(const ModelSize& m, const cost_model::Accelerator& type,
                 const cost_model::Price* price, const AdviceJob& job, const TextSize& text) {
  AdviceRow row;
  row.size = m;
  row.vocabulary = suitable_vocabulary(text).pieces;
  row.spot = job.spot && price->spot.has_value();
  row.parameters = encoder_parameters(m, static_cast<double>(row.vocabulary));
  row.memory = device_memory_of(m, row.parameters, type);
  row.plan = planned_row(row, type, price, job, text);
  const auto paid = steps_within(row.plan, job.budget, row.spot).value_or(0);
  const double tokens_of_step = kFilled * kAdvisedTokens * kAdvisedBatch;
  const double wanted = std::ceil(kUsualPasses * text.tokens / tokens_of_step);
  row.steps = static_cast<std::int64_t>(std::min(static_cast<double>(paid), wanted));
  row.passes = static_cast<double>(row.steps) * tokens_of_step / std::max(1.0, text.tokens);
  const cost_model::RunTime time = time_of(row.plan, row.steps);
  const cost_model::RunCost cost = cost_model::run_cost(type, time, price);
  row.hours = (row.spot ? time.spot_seconds : time.seconds).times(1 / 3600.0);
  row.dollars = row.spot ? *cost.spot : *cost.on_demand;
  return row;
}

// Minimum tokens of text per parameter. A model that is too large for its text memorizes it.
constexpr double kTokensOfParameter = 0.3;

std::optional<std::size_t> best_of(const Advice& advice) {
  std::optional<std::size_t> best;
  const auto is_better = [&](const AdviceRow& a, const AdviceRow& b) {
    const auto enough = [&](const AdviceRow& row) {
      return advice.text.tokens >= kTokensOfParameter * row.parameters && row.passes >= 5;
    };
    if (enough(a) != enough(b)) return enough(a);
    if (a.size.hidden != b.size.hidden) return enough(a) == (a.size.hidden > b.size.hidden);
    if (std::abs(a.passes - b.passes) > 0.5) return a.passes > b.passes;
    return a.dollars.likely < b.dollars.likely;
  };
  for (std::size_t i = 0; i < advice.rows.size(); ++i)
    if (advice.rows[i].fits() && advice.rows[i].steps > 0 &&
        (!best || is_better(advice.rows[i], advice.rows[*best])))
      best = i;
  return best;
}

// Formats a factor: "1.07 (0.8 to 1.5)".
std::string factor_text(const cost_model::Estimate& factor) {
  return str(significant(factor.likely, 3), " (", significant(factor.low, 3), " to ",
             significant(factor.high, 3), ")");
}

// Returns the kind of machine to which the type's factor between published and planned run times
// applies, and the published runs that it was measured on (docs/explanation/cost-model.md).
std::string factor_source(const cost_model::Accelerator& type) {
  if (type.is_gpu()) return " on GPUs (NVIDIA's BERT and ELECTRA on A100s)";
  if (type.generation == "v4") return " on v4 (MLPerf's BERT-large)";
  return " on TPUs (Chinese-ELECTRA on a v3-8)";
}

// Returns the assumptions behind the estimates, for the types in the table.
std::string sources_text(const Advice& advice) {
  std::vector<std::string> shares, factors;
  const auto add_once = [](std::vector<std::string>& to, const std::string& text) {
    if (std::ranges::find(to, text) == to.end()) to.push_back(text);
  };
  bool has_tpus = false;
  for (const AdviceRow& row : advice.rows) {
    const cost_model::Accelerator& type = row.plan.type;
    has_tpus = has_tpus || !type.is_gpu();
    add_once(shares, str(type.name, " ", percent(share_of_peak(type))));
    add_once(factors, str(factor_text(row.plan.factor), factor_source(type)));
  }
  return str(
      "Estimates. Time of a step = FLOPs / (peak FLOP/s x utilization) x factor.\nUtilization of "
      "BERT-base, from compiled plans: ",
      join(shares, ", "),
      ".\nFactor, from published runs (measured by planned time): ", join(factors, "; "), ".\n",
      has_tpus ? str("The slowest known run on TPUs (of the BERT paper) took ",
                     significant(cost_model::kLongestRun, 3), " times its likely time.\n")
               : "",
      "docs/explanation/cost-model.md lists these runs. `smelt plan RECIPE --budget N` compiles "
      "the step: its "
      "estimate is better.\n");
}

std::string estimate_text(const cost_model::Estimate& e, int digits) {
  return str(rounded(e.likely, digits), " (", rounded(e.low, digits), " to ",
             rounded(e.high, digits), ")");
}

std::vector<std::string> advice_cells(const AdviceRow& row, std::size_t number, bool chosen) {
  return {str(number, chosen ? " *" : ""),
          row.size.name,
          str(rounded(row.parameters / 1e6, 0), " M"),
          row.plan.type.name,
          str(bytes_text(row.memory), row.fits() ? "" : " too much"),
          str(row.steps),
          rounded(row.passes, row.passes < 10 ? 1 : 0),
          estimate_text(row.hours, row.hours.likely < 10 ? 1 : 0),
          estimate_text(row.dollars, row.dollars.likely < 10 ? 1 : 0),
          str(row.spot ? "spot, " : "on demand, ", row.plan.price->date)};
}

}  // namespace

cost_model::StepWork advised_work(const AdvisedStep& step, const cost_model::Accelerator& type) {
  const double operations = static_cast<double>(step.batch) * example_operations(step);
  // In data parallelism, the gradients of all parameters are all-reduced. The tied embedding table
  // counts twice, as input embedding and as output layer.
  const double vocabulary = static_cast<double>(step.vocabulary), n = type.devices;
  const double gradients = 4 * (encoder_parameters(step.size, 2 * vocabulary));
  const double communication = cost_model::communication_seconds(
      type, {.axes = "data", .all_reduce = 2 * (n - 1) / n * gradients});
  return {.work = operations / (type.flops * n * share_of_peak(type) * share_of_size(step.size)),
          .communication = communication,
          .exposed = communication};
}

Advice advise(const AdviceJob& job, const cost_model::Prices& prices) {
  const auto text = text_size(io::expand_files(job.input, "advise"));
  if (!text)
    throw UsageError(str("advise: ", job.input, " is not on this machine"),
                     "name local files; a part of the text is enough");
  if (text->tokens < 1)
    throw UsageError(str("advise: ", job.input, " contains no text"), "give files with text");
  text::DocumentOptions read;
  read.input = job.input;
  read.sentences = text::Cut::prose;
  data::check_prose(read, kCheckedBytes);
  Advice out{.text = *text, .rows = {}, .unpriced = {}, .best = {}};
  const auto price_of = [&](const cost_model::Accelerator& type) {
    const cost_model::Price* price = prices.find(type.generation);
    return price != nullptr && price->on_demand ? price : nullptr;
  };
  for (const cost_model::Accelerator& type : job.types)
    if (price_of(type) == nullptr) out.unpriced.push_back(type.name);
  for (const ModelSize& size : model_sizes())
    for (const cost_model::Accelerator& type : job.types)
      if (const cost_model::Price* price = price_of(type))
        out.rows.push_back(row_of(size, type, price, job, *text));
  if (out.rows.empty())
    throw UsageError(
        str("advise: no price is known for ", join(out.unpriced, ", ")),
        "give prices with --prices FILE (docs/guides/plan.md), or name other types with "
        "--on");
  out.best = best_of(out);
  return out;
}

std::string advice_text(const Advice& advice, const AdviceJob& job) {
  std::vector<std::vector<std::string>> lines{{"row", "size", "parameters", "device", "memory",
                                               "steps", "passes", "hours (range)",
                                               "dollars (range)", "price of"}};
  for (std::size_t i = 0; i < advice.rows.size(); ++i)
    lines.push_back(advice_cells(advice.rows[i], i + 1, advice.best == i));
  std::string out =
      str("text: ", bytes_text(advice.text.bytes), ", about ", count_text(advice.text.tokens),
          " tokens; ", usual_passes(advice.text.bytes), " passes over it are usual\nsteps of ",
          kAdvisedBatch, " x ", kAdvisedTokens, " tokens for at most $",
          rounded(job.budget, job.budget < 10 ? 2 : 0), ", and at most ", rounded(kUsualPasses, 0),
          " passes:\n", table_text(lines));
  if (!advice.unpriced.empty())
    out += str("omitted because no price is known (add prices with --prices FILE): ",
               join(advice.unpriced, ", "), "\n");
  if (!advice.best)
    out +=
        "no row fits into the budget and the memory of its device: raise --budget, or name other "
        "types with --on\n";
  if (advice.best) {
    const AdviceRow& row = advice.rows[*advice.best];
    const double wanted = kTokensOfParameter * row.parameters;
    const std::string mark = str("* row ", *advice.best + 1, ": ");
    if (advice.text.tokens >= wanted)
      out += mark + "the largest model that this text is enough for\n";
    else
      out += str(mark, "this text is too small even for this model, which needs about ",
                 count_text(wanted), " tokens: add text, or continue the training of a model in ",
                 "your language (`smelt new continue`)\n");
  }
  return out + sources_text(advice);
}

std::string advised_recipe(const AdviceRow& row, const AdviceJob& job, const TextSize& text) {
  StarterRecipe starter{.kind = job.kind, .input = job.input};
  starter.size = row.size;
  const cost_model::Accelerator& type = row.plan.type;
  starter.text = text;
  starter.steps = row.steps;
  starter.device = type.is_gpu() ? "gpu" : "tpu";
  starter.precision = type.is_gpu() ? "bf16" : "";
  starter.type = type.name;
  starter.devices = type.devices;
  starter.batch_size = static_cast<int>(row.plan.batch);
  return starter_text(starter);
}

}  // namespace smelt::pipeline
