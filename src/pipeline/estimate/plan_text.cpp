#include "pipeline/estimate/plan_text.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "base/error.h"
#include "base/number_format.h"
#include "base/plural.h"

namespace smelt::pipeline {
namespace {

// Formats a duration: "4.2 h", "12 min", "3.1 days".
std::string time_words(double seconds) {
  if (seconds < 90) return str(std::lround(seconds), " s");
  if (seconds < 2 * 3600) return str(std::lround(seconds / 60), " min");
  if (seconds < 48 * 3600) return str(rounded(seconds / 3600, 1), " h");
  return str(rounded(seconds / 86400, 1), " days");
}

std::string dollars(double value) {
  return str("$", rounded(value, value < 10 ? 2 : value < 100 ? 1 : 0));
}

std::string dollars(const std::optional<cost_model::Estimate>& cost) {
  return cost ? dollars(cost->likely) : "?";
}

// Formats a cost: "$101 ($75 to $580)".
std::string dollars_with_range(const std::optional<cost_model::Estimate>& cost) {
  return cost ? str(dollars(cost->likely), " (", dollars(cost->low), " to ", dollars(cost->high),
                    ")")
              : "?";
}

std::string step_words(const cost_model::Estimate& step) {
  return str(rounded(1e3 * step.likely, step.likely < 0.1 ? 1 : 0), " ms (",
             rounded(1e3 * step.low, step.low < 0.1 ? 1 : 0), "-",
             rounded(1e3 * step.high, step.high < 0.1 ? 1 : 0), ")");
}

// Returns "~" for a GPU, for which estimates are less accurate than for a TPU; otherwise empty.
std::string_view mark(const PlanRow& row) { return row.type.is_gpu() ? "~" : ""; }

std::string memory_words(const PlanRow& row) {
  const double used = row.form().compiled.bytes();
  return str(bytes_text(used), " of ", bytes_text(row.memory()));
}

std::vector<std::string> cells(const PlanRow& row) {
  const bool unknown =
      !row.tried.empty() && row.tried.back().compiled.end == cost_model::CompileEnd::failed;
  if (!row.fits()) return {row.type.name, unknown ? "not known" : "no"};
  const double examples = static_cast<double>(row.batch) / row.form().step->likely;
  return {row.type.name,
          "yes",
          memory_words(row),
          row.form().words,
          str(mark(row), step_words(*row.form().step)),
          rounded(examples, 0),
          percent(row.share_of_peak()),
          time_words(row.time.seconds.likely),
          dollars(row.cost.on_demand),
          dollars(row.cost.spot)};
}

const std::vector<std::string> kHeads{"type",      "fits",       "device memory", "variant",
                                      "step time", "examples/s", "of peak",       "run",
                                      "on demand", "spot"};

std::string table(const Plan& plan) {
  std::vector<std::vector<std::string>> lines{kHeads};
  for (const PlanRow& row : plan.rows) lines.push_back(cells(row));
  std::vector<std::size_t> widths(kHeads.size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::ostringstream out;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    for (std::size_t i = 0; i < lines[l].size(); ++i)
      out << std::left << std::setw(static_cast<int>(widths[i]) + 2) << lines[l][i];
    const bool cheapest = plan.cheapest && l == *plan.cheapest + 1;
    const bool fastest = plan.fastest && l == *plan.fastest + 1;
    out << (cheapest && fastest ? "cheapest and fastest"
            : cheapest          ? "cheapest"
            : fastest           ? "fastest"
                                : "")
        << "\n";
  }
  return out.str();
}

// Returns why the run does not fit a type: the compiler's message for the smallest variant that was
// tried.
std::string why_not(const PlanRow& row) {
  if (!row.problem.empty()) return row.problem;
  if (row.tried.empty()) return "no variant of the step could be compiled";
  const PlannedForm& last = row.tried.back();
  if (row.type.is_gpu() && last.compiled.end == cost_model::CompileEnd::does_not_fit)
    return str(
        "the step needs too much memory, estimated from its state and the temporaries of a "
        "TPU program: ",
        last.compiled.problem, " (", last.words, ")");
  return str(last.compiled.problem, " (", last.words, ")");
}

// Returns how much of a device's memory the parts of the step use, and how much is free.
std::string parts(const PlanRow& row) {
  const cost_model::Compiled& c = row.form().compiled;
  return str(bytes_text(row.parameter_bytes), " parameters, ", bytes_text(row.slot_bytes),
             " optimizer, ", bytes_text(c.temporaries), " activations and temporaries, ",
             bytes_text(c.code), " program; ", bytes_text(row.memory() - c.bytes()), " free");
}

// Returns a line about the bytes that each device sends per step along the mesh axes `s.axes`.
std::string sent_words(const PlanRow& row, const cost_model::SentBytes& s) {
  return str("  sent       over axes ", s.axes, ": ", bytes_text(s.all_reduce + s.other),
             " per device and step, ", bytes_text(s.asynchronous_all_reduce + s.asynchronous_other),
             " of them overlapped with computation; ",
             rounded(1e3 * cost_model::communication_seconds(row.type, s), 1),
             " ms at link speed\n");
}

std::string evaluation_words(const PlanRow& row) {
  const cost_model::Compiled& c = *row.evaluation;
  if (c.end != cost_model::CompileEnd::fits)
    return str("not possible: ", c.problem, "; lower eval.batch_size");
  return str(row.scored ? step_words(*row.scored) + " per batch, " : "", bytes_text(c.bytes()),
             " per device; ",
             row.work.evaluations > 0
                 ? counted(std::lround(row.work.evaluations), "batch", "batches") + " in the run"
                 : "the number of batches is unknown, and their time is not included");
}

// Returns the settings that select the variant, unless it is the default one.
std::string variant_text(const PlanRow& row) {
  std::vector<std::string> words;
  for (const std::string& setting : row.form().settings)
    words.push_back(str(setting.starts_with("--") ? "" : "--set ", setting));
  if (words.empty()) return "";
  if (!row.is_selected_automatically()) return str("  needs      ", join(words, " "), "\n");
  if (row.form().turn == 0) return "";
  const auto before = std::ranges::count_if(row.tried, [&](const PlannedForm& form) {
    return form.turn && *form.turn < *row.form().turn;
  });
  return str("  variant    selected automatically, because ", counted(before, "variant"),
             " before it did not fit; ", join(words, " "), " skips compiling ",
             before == 1 ? "it" : "them", "\n");
}

std::string speed_words(const PlanRow& row) {
  const double examples = static_cast<double>(row.batch) / row.form().step->likely;
  return str("  speed      ", rounded(examples, 0), " examples/s, ",
             rounded(examples * static_cast<double>(row.tokens), 0), " tokens/s\n");
}

// Returns the time and cost that preemptions add at spot prices.
std::string spot_words(const PlanRow& row) {
  const double more = row.time.spot_seconds.likely - row.time.seconds.likely;
  const bool priced = row.price != nullptr && row.price->spot;
  return str("  on spot    ", time_words(row.time.spot_seconds.likely), " with about ",
             rounded(row.time.preemptions, 1), " preemptions, which cost ", time_words(more),
             priced ? str(" and ", dollars(*row.price->spot * row.type.chips * more / 3600)) : "",
             "\n");
}

std::string price_words(const PlanRow& row, std::string_view now) {
  if (row.price == nullptr) return "  price      unknown: set one with --prices\n";
  const cost_model::Price& price = *row.price;
  const std::string old = cost_model::old_price_warning(price, now);
  const auto rented = [&](std::string_view how, const std::optional<double>& of_chip) {
    return of_chip ? str(dollars(*of_chip * row.type.chips), " an hour ", how, ", ")
                   : std::string();
  };
  return str("  price      ", rented("on demand", price.on_demand), rented("on spot", price.spot),
             rented("committed", price.committed), "in ", price.region, ": ", price.source, ", ",
             price.date, old.empty() ? "" : ", ", old, "\n");
}

std::string run_words(const PlanRow& row) {
  if (row.seconds > 0)
    return str("  run        ", time_words(row.time.seconds.likely), ", about ", row.work.steps,
               " steps: the length of the run is a time\n");
  const cost_model::Estimate steps = row.form().step->times(static_cast<double>(row.work.steps));
  return str("  run        ", time_words(row.time.seconds.low), " to ",
             time_words(row.time.seconds.high), ", its steps ", time_words(steps.low), " to ",
             time_words(steps.high), "\n");
}

std::string row_text(const PlanRow& row, std::string_view now) {
  std::ostringstream out;
  out << row.type.name << "  " << (row.type.is_gpu() ? "by " : "") << row.type.topology << ", "
      << counted(row.type.chips, row.type.is_gpu() ? "GPU" : "chip") << ", "
      << counted(row.type.devices, "device") << ", " << counted(row.type.hosts, "machine")
      << (row.type.is_gpu() ? ": operations, bytes and temporaries are taken from a TPU program"
          : row.type.image.empty() ? std::string()
                                   : ", image " + row.type.image)
      << "\n";
  if (!row.fits()) {
    out << "  not possible: " << why_not(row) << "\n";
    if (row.largest_batch)
      out << "  batch      " << *row.largest_batch << " fits as " << row.tried.back().words << "\n";
    return out.str();
  }
  out << "  memory     " << parts(row) << "\n";
  out << variant_text(row);
  if (!row.packing.empty()) out << "  packing    " << row.packing << "\n";
  for (const cost_model::SentBytes& sent : row.form().compiled.sent) out << sent_words(row, sent);
  if (row.largest_batch && row.larger_unknown.empty())
    out << "  batch      up to " << *row.largest_batch << " fit with this variant\n";
  else if (row.largest_batch)
    out << "  batch      at least " << *row.largest_batch
        << " fit with this variant; for twice as many, " << row.larger_unknown << "\n";
  out << speed_words(row) << run_words(row) << spot_words(row);
  if (row.evaluation) out << "  evaluation " << evaluation_words(row) << "\n";
  const double save = cost_model::seconds_to_save(row.type, row.work.checkpoint_bytes);
  out << "  checkpoint " << bytes_text(row.work.checkpoint_bytes) << ", about " << time_words(save)
      << " to write" << (save > 30 ? ": longer than the 30 s of a preemption's notice" : "")
      << "\n";
  out << price_words(row, now);
  return out.str();
}

std::string advice(const Plan& plan) {
  if (!plan.fastest)
    return "the run fits none of these types: choose larger ones with --on, a smaller batch or "
           "more "
           "micro-batches\n";
  const PlanRow& fast = plan.rows[*plan.fastest];
  const auto summary = [](const PlanRow& row) {
    return str(row.type.name,
               row.seconds > 0 ? str(" makes about ", row.work.steps, " steps in ")
                               : std::string(" takes "),
               time_words(row.time.seconds.likely),
               row.cost.spot ? str(", ", dollars(row.cost.spot), " on spot") : "",
               row.cost.on_demand ? str(", ", dollars(row.cost.on_demand), " on demand") : "");
  };
  if (!plan.cheapest || *plan.cheapest == *plan.fastest)
    return str("rent a ", fast.type.name, ": ", summary(fast), ".\n");
  const PlanRow& cheap = plan.rows[*plan.cheapest];
  return str("rent a ", cheap.type.name, " to pay the least",
             cheap.seconds > 0 ? " for each step: " : ": ", summary(cheap), "; the fastest, ",
             summary(fast), ".\n");
}

Json json(const cost_model::Estimate& e) {
  return {{"low", e.low}, {"likely", e.likely}, {"high", e.high}};
}
Json json(const std::optional<cost_model::Estimate>& e) { return e ? json(*e) : Json(); }

Json json(const PlannedForm& form, const cost_model::Accelerator& type) {
  const cost_model::Compiled& c = form.compiled;
  Json sent = Json::object();
  for (const cost_model::SentBytes& s : c.sent)
    sent[s.axes] = {{"all_reduce_bytes", s.all_reduce},
                    {"other_bytes", s.other},
                    {"asynchronous_bytes", s.asynchronous_all_reduce + s.asynchronous_other},
                    {"seconds", cost_model::communication_seconds(type, s)}};
  return {{"form", form.words},
          {"settings", form.settings},
          {"fits", c.end == cost_model::CompileEnd::fits},
          {"problem", c.problem},
          {"device_bytes", c.bytes()},
          {"argument_bytes", c.arguments},
          {"temporary_bytes", c.temporaries},
          {"code_bytes", c.code},
          {"cycles", c.cycles},
          {"moved_bytes", c.moved},
          {"product_flops", form.products.flops},
          {"sent", sent},
          {"compile_seconds", c.compile_seconds},
          {"kept", c.from_cache},
          {"work_seconds", form.work.work},
          {"told_seconds", form.work.communication},
          {"told_behind_seconds", form.work.exposed},
          {"step_seconds", json(form.step)}};
}

Json evaluation_json(const PlanRow& row) {
  return {{"fits", row.evaluation->end == cost_model::CompileEnd::fits},
          {"problem", row.evaluation->problem},
          {"device_bytes", row.evaluation->bytes()},
          {"batch_seconds", json(row.scored)},
          {"batches", row.work.evaluations}};
}

Json json(const PlanRow& row) {
  Json out{{"type", row.type.name},
           {"topology", row.type.topology},
           {"chips", row.type.chips},
           {"devices", row.type.devices},
           {"machines", row.type.hosts},
           {"image", row.type.image},
           {"fits", row.fits()},
           {"device_memory_bytes", row.memory()},
           {"batch", row.batch},
           {"tokens_of_example", row.tokens},
           {"rough", row.type.is_gpu()},
           {"factor", json(row.factor)},
           {"longest_run", row.longest_run},
           {"tried", Json::array()}};
  if (!row.unknown.empty()) out["unknown"] = row.unknown;
  if (!row.packing.empty()) out["packing"] = row.packing;
  out["packed_time"] = row.packed_time;
  for (const PlannedForm& form : row.tried) out["tried"].push_back(json(form, row.type));
  if (row.largest_batch) out["largest_batch"] = *row.largest_batch;
  if (!row.larger_unknown.empty()) out["larger_unknown"] = row.larger_unknown;
  if (!row.fits()) {
    out["problem"] = why_not(row);
    return out;
  }
  out.update(Json{{"form", row.form().words},
                  {"taken_by_itself", row.is_selected_automatically()},
                  {"step_seconds", json(*row.form().step)},
                  {"share_of_peak", row.share_of_peak()},
                  {"examples_per_second", static_cast<double>(row.batch) / row.form().step->likely},
                  {"run_seconds", json(row.time.seconds)},
                  {"spot_run_seconds", json(row.time.spot_seconds)},
                  {"preemptions", row.time.preemptions},
                  {"checkpoint_bytes", row.work.checkpoint_bytes},
                  {"on_demand_dollars", json(row.cost.on_demand)},
                  {"spot_dollars", json(row.cost.spot)}});
  if (row.evaluation) out["evaluation"] = evaluation_json(row);
  if (row.price != nullptr)
    out["price"] = {
        {"region", row.price->region}, {"source", row.price->source}, {"date", row.price->date}};
  return out;
}

// Returns PlanRow::unknown, which is the same for all types.
std::string unknown_words(const Plan& plan) {
  for (const PlanRow& row : plan.rows)
    if (!row.unknown.empty()) return row.unknown + "\n";
  return "";
}

std::string longest_words(const Plan& plan) {
  double longest = 1;
  for (const PlanRow& row : plan.rows)
    if (row.fits()) longest = std::max(longest, row.longest_run);
  if (longest <= 1) return "";
  return str("The upper bound of a run is ", rounded(longest, 1),
             " times its likely step time: published runs took up to this long, with evaluation, "
             "input and waiting.\n");
}

}  // namespace

std::string plan_text(const Plan& plan) {
  const std::string now = cost_model::this_month();
  std::string out = table(plan) + "\n";
  for (const PlanRow& row : plan.rows) out += row_text(row, now);
  return out + "\n" + advice(plan) +
         str("Times come from the TPU compiler's program and a cost model "
             "(docs/explanation/cost-model.md); nothing was run.\n",
             longest_words(plan), unknown_words(plan),
             std::ranges::any_of(plan.rows, [](const PlanRow& r) { return r.type.is_gpu(); })
                 ? "~ marks rougher estimates: a GPU's time from the roofline of a TPU program's "
                   "operations and bytes.\n"
                 : "");
}

std::string planned_run_text(const PlanRow& row) {
  return str(time_words(row.time.seconds.likely), " (", time_words(row.time.seconds.low), " to ",
             time_words(row.time.seconds.high), ") on a ", row.type.name, ", ",
             dollars_with_range(row.cost.on_demand), " on demand, ",
             dollars_with_range(row.cost.spot), " on spot",
             row.price == nullptr ? "" : str(" by prices of ", row.price->date), "; a step ",
             step_words(*row.form().step));
}

Json plan_json(const Plan& plan) {
  Json out{{"rows", Json::array()}, {"cheapest", Json()}, {"fastest", Json()}};
  for (const PlanRow& row : plan.rows) out["rows"].push_back(json(row));
  if (plan.cheapest) out["cheapest"] = plan.rows[*plan.cheapest].type.name;
  if (plan.fastest) out["fastest"] = plan.rows[*plan.fastest].type.name;
  return out;
}

}  // namespace smelt::pipeline
