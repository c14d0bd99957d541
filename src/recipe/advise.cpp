#include "recipe/advise.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/figures.h"
#include "base/progress.h"
#include "recipe/recipe.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace {

constexpr std::int64_t kAdvisedBatch = 256, kAdvisedTokens = 128;
constexpr double kUsualPasses = 40;
constexpr double kCopies = 5;     // of the text in BERT's examples
constexpr double kFilled = 0.85;  // of an example's tokens

// Share of a device's peak that a step reaches: as plans of BERT-base on TPUs have it, less for
// narrow models, and less on GPUs (docs/plan.md, docs/gpu.md).
double share_of_peak(const Accelerator& type, const ModelSize& size) {
  const double base = type.is_gpu() ? 0.25 : 0.38;
  return base * std::sqrt(std::min(1.0, size.hidden / 768.0));
}

double encoder_parameters(const ModelSize& m) {
  return 12.0 * m.layers * m.hidden * m.hidden + 30000.0 * m.hidden;
}

// Operations of a training example: the model's products, three times for forward and backward; the
// words of 20 masked tokens.
double example_operations(const ModelSize& m) {
  const double H = m.hidden, L = m.layers, T = kAdvisedTokens;
  return 72 * L * H * H * T + 12 * L * H * T * T + 6 * 20 * (H * H + H * 30000);
}

// An ELECTRA's discriminator has a loss at each token, and a generator of a quarter beside it.
double kind_factor(const std::string& kind) { return kind == "electra" ? 1.35 : 1.0; }

// State of Adam in f32 with the gradients, and activations of a device's rows.
double device_memory_of(const ModelSize& m, const Accelerator& type) {
  const double rows = static_cast<double>(kAdvisedBatch) / type.devices;
  return 16 * encoder_parameters(m) + rows * kAdvisedTokens * m.hidden * 34.0 * m.layers;
}

Estimate step_of(const ModelSize& m, const Accelerator& type, const std::string& kind) {
  const double seconds = kAdvisedBatch * example_operations(m) * kind_factor(kind) /
                         (type.flops * type.devices * share_of_peak(type, m));
  return Estimate{.low = 0.75 * seconds, .likely = seconds, .high = 1.5 * seconds};
}

AdviceRow row_of(const ModelSize& m, const Accelerator& type, const Price* price,
                 const AdviceJob& job, const TextSize& text) {
  AdviceRow row;
  row.size = m;
  row.type = type;
  row.price = price;
  row.spot = job.spot && price->spot.has_value();
  row.parameters = encoder_parameters(m);
  row.memory = device_memory_of(m, type);
  row.step = step_of(m, type, job.kind);
  row.batch = kAdvisedBatch;
  const double an_hour = (row.spot ? *price->spot : *price->on_demand) * type.chips;
  const double paid = std::max(0.0, job.budget / an_hour * 3600 - kStartSeconds) / row.step.likely;
  const double tokens_of_step = kFilled * kAdvisedTokens * kAdvisedBatch;
  const double wanted = std::ceil(kUsualPasses * text.tokens / tokens_of_step);
  row.steps = static_cast<std::int64_t>(std::min(paid, wanted));
  row.passes = static_cast<double>(row.steps) * tokens_of_step / std::max(1.0, text.tokens);
  const Estimate seconds = row.step.times(static_cast<double>(row.steps)).plus(kStartSeconds);
  row.hours = seconds.times(1 / 3600.0);
  row.hours.high = std::max(row.hours.high, longest_run(type) * row.hours.likely);
  row.dollars = row.hours.times(an_hour);
  return row;
}

// Words of a text for each parameter that it can teach: a model far larger than its text learns it
// by heart.
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

std::string estimate_text(const Estimate& e, int digits) {
  return str(rounded(e.likely, digits), " (", rounded(e.low, digits), " to ",
             rounded(e.high, digits), ")");
}

std::vector<std::string> advice_cells(const AdviceRow& row, std::size_t number, bool chosen) {
  return {str(number, chosen ? " *" : ""),
          row.size.name,
          str(rounded(row.parameters / 1e6, 0), " M"),
          row.type.name,
          str(bytes_text(row.memory), row.fits() ? "" : " too much"),
          str(row.steps),
          rounded(row.passes, row.passes < 10 ? 1 : 0),
          estimate_text(row.hours, row.hours.likely < 10 ? 1 : 0),
          estimate_text(row.dollars, row.dollars.likely < 10 ? 1 : 0),
          str(row.spot ? "spot, " : "on demand, ", row.price->date)};
}

}  // namespace

Advice advise(const AdviceJob& job, const Prices& prices) {
  const auto text = text_size(expand_files(job.input, "advise"));
  if (!text)
    throw UsageError(str("advise: ", job.input, " is not on this machine"),
                     "give files of this machine, of which a part is enough");
  Advice out{.text = *text, .rows = {}, .best = {}};
  for (const ModelSize& size : model_sizes())
    for (const Accelerator& type : job.types) {
      const Price* price = prices.find(type.generation);
      if (price == nullptr || !price->on_demand) continue;
      out.rows.push_back(row_of(size, type, price, job, *text));
    }
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
          kAdvisedBatch, " x ", kAdvisedTokens, " tokens for at most $", rounded(job.budget, 0),
          ", and at most ", rounded(kUsualPasses, 0), " passes:\n", table_text(lines));
  if (advice.best) {
    const AdviceRow& row = advice.rows[*advice.best];
    const double wanted = kTokensOfParameter * row.parameters;
    const std::string mark = str("* row ", *advice.best + 1, ": ");
    if (advice.text.tokens >= wanted)
      out += mark + "the largest model that this text is enough for\n";
    else
      out += str(mark, "this text is too small even for this model, which wants about ",
                 count_text(wanted), " tokens: add text, or continue the training of a model in ",
                 "your language (`smelt new continue`)\n");
  }
  return out +
         "Estimates by arithmetic; `smelt plan RECIPE --budget N` compiles the step and is "
         "closer.\n";
}

std::string advised_recipe(const AdviceRow& row, const AdviceJob& job) {
  StarterRecipe starter{.kind = job.kind, .input = job.input};
  starter.size = row.size;
  starter.steps = row.steps;
  starter.device = row.type.is_gpu() ? "gpu" : "tpu";
  starter.precision = row.type.is_gpu() ? "bf16" : "";
  starter.type = row.type.name;
  starter.devices = row.type.devices;
  starter.batch_size = static_cast<int>(row.batch);
  return starter_text(starter);
}

}  // namespace smelt
