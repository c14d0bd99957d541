#include "pipeline/compression/compress_notes.h"

#include <algorithm>
#include <cmath>

#include "base/number_format.h"
#include "base/str.h"

namespace smelt::pipeline {
namespace {

constexpr double kBusy = 1.5;  // load average above which measured times are unreliable

bool is_lower_better(const std::string& metric) { return metric == "mse"; }

double number_of(const OrderedJson& value) {
  return value.is_number() ? value.get<double>() : std::nan("");
}

double score_of_model(const OrderedJson& report, const OrderedJson& model) {
  const std::string metric = report["metrics"][0];
  const double value = number_of(model["scores"][metric]["value"]);
  return is_lower_better(metric) ? -value : value;
}

// Returns the step of the model's compression that used this method; null if none did.
const OrderedJson* step_with(const OrderedJson& model, std::string_view method) {
  for (const OrderedJson& step : model["steps"])
    if (step.is_object() && step.value("method", "") == method) return &step;
  return nullptr;
}

bool was_trained(const OrderedJson& model) {
  for (const OrderedJson& step : model["steps"])
    if (step.is_object() && (step.contains("tuned") || step.value("method", "") == "distill"))
      return true;
  return false;
}

std::string score_note(const OrderedJson& report, const OrderedJson& model) {
  const std::string metric = report["metrics"][0];
  const OrderedJson& d = model["against_base"][metric];
  const double low = number_of(d["low"]), high = number_of(d["high"]);
  if (std::isnan(low) || std::isnan(high)) return str("no score: ", metric, " is not defined");
  const bool worse = is_lower_better(metric) ? low > 0 : high < 0,
             better = is_lower_better(metric) ? high < 0 : low > 0;
  const std::string difference = str(rounded(number_of(d["difference"]), 4), " of ", metric, " [",
                                     rounded(low, 4), ", ", rounded(high, 4), "]");
  if (worse) return str("lower score than the base: ", difference);
  if (better) return {};
  return str("no difference of ", metric, " from the base was measured: ", difference,
             "; differences smaller than this interval cannot be detected");
}

// Returns a note with the sizes at which the model was not measured to be faster.
std::string speed_note(const OrderedJson& model) {
  std::vector<std::string> not_faster;
  for (const OrderedJson& one : model["latency"])
    if (number_of(one["speed_up"]["low"]) <= 1)
      not_faster.push_back(str(one["batch"], " x ", one["length"]));
  if (not_faster.empty()) return {};
  if (not_faster.size() == model["latency"].size()) return "not faster at any measured size";
  return str("not faster at batch x length ", join(not_faster, ", "));
}

std::vector<std::string> notes_of(const OrderedJson& report, const OrderedJson& base,
                                  const OrderedJson& model) {
  std::vector<std::string> out;
  const auto add = [&](std::string note) {
    if (!note.empty()) out.push_back(std::move(note));
  };
  const OrderedJson* int8 = step_with(model, "weights int8");
  if ((int8 != nullptr && int8->value("activations", "floats") == "floats") ||
      step_with(model, "weights int4") != nullptr)
    add("no faster matmuls and no less memory during inference: integers are converted to floats "
        "when the model is loaded");
  if (step_with(model, "sparse") != nullptr) {
    add("no faster matmuls and no less memory during inference: zeros are multiplied like other "
        "numbers");
    if (!was_trained(model))
      add("not the best score at this sparsity: the model was not trained after pruning");
  }
  if (step_with(model, "prune") != nullptr && !was_trained(model))
    add("not the best score at this size: the model was not trained after pruning");
  add(score_note(report, model));
  add(speed_note(model));
  if (model["bytes"] >= base["bytes"]) add("no smaller folder");
  if (model.contains("peak_bytes") &&
      number_of(model["peak_bytes"]) >= 0.98 * number_of(base["peak_bytes"]))
    add("no less memory: its process used as much as the base's");
  return out;
}

// Returns whether another model has at least the same score at a lower or equal cost, and is better
// in one of the two.
bool is_beaten(const OrderedJson& report, const OrderedJson& model, auto&& cost) {
  const double score = score_of_model(report, model), own = cost(model);
  return std::ranges::any_of(report["models"], [&](const OrderedJson& other) {
    const double theirs = score_of_model(report, other), cost_of_other = cost(other);
    return theirs >= score && cost_of_other <= own && (theirs > score || cost_of_other < own);
  });
}

std::vector<std::string> not_measured(const OrderedJson& report) {
  std::vector<std::string> out;
  const auto has_student = std::ranges::any_of(
      report["models"], [](const OrderedJson& model) { return model["role"] == "student"; });
  if (!has_student)
    out.emplace_back(
        "Whether a small dense model would score as well: the report has no dense student of equal "
        "size (--student).");
  out.emplace_back(
      "How much scores depend on the training seed: the report has one model of each kind, and "
      "intervals come from the test rows alone.");
  if (!report["rows"].contains("dev"))
    out.emplace_back(
        "Whether a model that is chosen with this table keeps its score: choose with other rows "
        "(--dev), and report the test once.");
  const OrderedJson& machine = report["machine"];
  if (number_of(machine["load_before"]) > kBusy)
    out.push_back(str("Times on a quiet machine: its load was ",
                      rounded(number_of(machine["load_before"]), 2),
                      " before anything was measured. ",
                      "The models ran in turn, so ratios are more reliable than times."));
  out.emplace_back("Other machines, other devices, and other programs than smelt.");
  return out;
}

}  // namespace

void add_compress_notes(OrderedJson& report) {
  const auto bytes = [](const OrderedJson& model) { return number_of(model["bytes"]); };
  const auto latency = [](const OrderedJson& model) {
    return number_of(model["latency"][0]["p50_ms"]);
  };
  const OrderedJson& base = report["models"][0];
  std::vector<OrderedJson> notes, beaten;
  for (const OrderedJson& model : report["models"]) {
    notes.emplace_back(model["role"] == "base" ? std::vector<std::string>()
                                               : notes_of(report, base, model));
    beaten.push_back({{"bytes", is_beaten(report, model, bytes)},
                      {"latency", is_beaten(report, model, latency)}});
  }
  for (std::size_t i = 0; i < notes.size(); ++i) {
    report["models"][i]["not_given"] = notes[i];
    report["models"][i]["beaten"] = beaten[i];
  }
  report["not_measured"] = not_measured(report);
}

}  // namespace smelt::pipeline
