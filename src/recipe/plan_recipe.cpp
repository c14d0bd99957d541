#include "recipe/plan_recipe.h"

#include <algorithm>

#include "base/error.h"
#include "hlo/writer.h"
#include "recipe/run_needs.h"
#include "runtime/find_plugin.h"
#include "step/program.h"

namespace smelt {
namespace {

struct Form {
  std::vector<std::string> settings;
  std::string words;
};

// From the fastest to the one that needs least memory; the recipe's own is tried before all.
std::vector<Form> smaller_forms() {
  std::vector<Form> out{{{"train.layers=scan", "train.save=layer"}, "loop, layers saved"}};
  for (const int parts : {2, 4, 8, 16})
    out.push_back({{"train.layers=scan", "train.save=layer", str("train.micro_batches=", parts)},
                   str("loop, layers saved, ", parts, " micro-batches")});
  return out;
}

RunWork work_of(const Recipe& r) {
  const std::int64_t evaluations = r.eval.every > 0 ? r.train.steps / r.eval.every : 0;
  return {.steps = r.train.steps,
          .save_every = r.train.save_minutes > 0 ? r.train.steps : r.train.save_every,
          .checkpoint_bytes = static_cast<double>(r.program->value_bytes + r.program->slot_bytes),
          .evaluation_examples =
              static_cast<double>((evaluations + 1) * r.eval.steps * r.eval.batch_size),
          .batch = static_cast<double>(r.train.batch_size)};
}

class Planner {
 public:
  Planner(const PlanJob& job, const TpuCompiles& compiles,
          const std::function<void(std::size_t, std::size_t)>& progress)
      : job_(job), compiles_(compiles), progress_(progress) {}

  std::vector<PlanRow> rows() {
    std::vector<PlanRow> out;
    for (const Accelerator& type : job_.types) {
      out.emplace_back();
      out.back().type = type;
    }
    for (PlanRow& row : out) describe(row);
    if (std::ranges::none_of(out, [](const PlanRow& row) { return row.problem.empty(); }))
      throw UsageError(out.front().problem, "mend the recipe, or choose other types with --on");
    compile_round(out, {{}, "as the recipe says"}, [](const PlanRow&) { return true; });
    if (job_.all_forms)  // one of them is the recipe's own, whose figures are kept
      for (const Form& form :
           {Form{{"train.layers=unrolled"}, "unrolled"}, Form{{"train.layers=scan"}, "loop"}})
        compile_round(out, form, [](const PlanRow&) { return true; });
    for (const Form& form : smaller_forms())
      compile_round(out, form, [](const PlanRow& row) { return !row.fits(); });
    if (job_.largest_batch) find_largest(out);
    return out;
  }

 private:
  Recipe recipe(const Accelerator& type, const std::vector<std::string>& more) const {
    std::vector<std::string> settings = job_.settings;
    settings.insert(settings.end(), {"train.device=tpu", str("train.devices=", type.devices)});
    settings.insert(settings.end(), more.begin(), more.end());
    return load_recipe(job_.recipe, settings);
  }

  void describe(PlanRow& row) const try {
    const Recipe r = recipe(row.type, {});
    if (!r.program->step) {
      row.problem = "this type of model builds no step before its data are there";
      return;
    }
    row.batch = r.train.batch_size;
    for (const Feature& feature : r.program->step->features)
      row.tokens = std::max(row.tokens, feature.count());
    row.flops = static_cast<double>(row.batch) * r.program->flops_per_example;
    const DeviceMemory memory = device_memory(r);
    row.parameter_bytes = memory.values;
    row.slot_bytes = memory.slots;
    row.work = work_of(r);
  } catch (const UsageError& error) {
    row.problem = error.what();
  }

  // Of a row's step; nullopt where the recipe cannot take the form, as micro-batches that do not
  // divide it.
  std::optional<CompileRequest> request(const PlanRow& row,
                                        const std::vector<std::string>& settings) const try {
    const Recipe r = recipe(row.type, settings);
    return CompileRequest{.program = emit_module(r.program->step->program, "step"),
                          .topology = row.type.topology};
  } catch (const UsageError&) {
    return std::nullopt;
  }

  template <class Wanted>
  void compile_round(std::vector<PlanRow>& rows, const Form& form, const Wanted& wanted) {
    std::vector<PlanRow*> of;
    std::vector<CompileRequest> requests;
    for (PlanRow& row : rows) {
      if (!row.problem.empty() || !wanted(row)) continue;
      if (auto made = request(row, form.settings)) {
        of.push_back(&row);
        requests.push_back(std::move(*made));
      }
    }
    const auto compiled = run(requests);
    for (std::size_t i = 0; i < of.size(); ++i) add(*of[i], form, compiled[i]);
  }

  std::vector<Compiled> run(const std::vector<CompileRequest>& requests) {
    asked_ += requests.size();
    return compiles_.run(requests, [&](std::size_t) {
      ++done_;
      if (progress_) progress_(done_, asked_);
    });
  }

  static void add(PlanRow& row, const Form& form, const Compiled& compiled) {
    PlannedForm out{
        .settings = form.settings, .words = form.words, .compiled = compiled, .step = {}};
    if (compiled.end == CompileEnd::fits) out.step = step_seconds(row.type, compiled);
    row.tried.push_back(std::move(out));
    if (!row.tried.back().step) return;
    if (!row.best || row.tried.back().step->likely < row.form().step->likely)
      row.best = row.tried.size() - 1;
  }

  // Doubles the batch until one does not fit.
  void find_largest(std::vector<PlanRow>& rows) {
    std::vector<PlanRow*> growing;
    for (PlanRow& row : rows)
      if (row.fits()) {
        row.largest_batch = row.batch;
        growing.push_back(&row);
      }
    for (std::int64_t factor = 2; !growing.empty() && factor <= 1024; factor *= 2) {
      std::vector<PlanRow*> of;
      std::vector<CompileRequest> requests;
      for (PlanRow* row : growing) {
        auto settings = row->form().settings;
        settings.push_back(str("train.batch_size=", row->batch * factor));
        if (auto made = request(*row, settings)) {
          of.push_back(row);
          requests.push_back(std::move(*made));
        }
      }
      const auto compiled = run(requests);
      growing.clear();
      for (std::size_t i = 0; i < of.size(); ++i)
        if (compiled[i].end == CompileEnd::fits) {
          of[i]->largest_batch = of[i]->batch * factor;
          growing.push_back(of[i]);
        }
    }
  }

  const PlanJob& job_;
  const TpuCompiles& compiles_;
  const std::function<void(std::size_t, std::size_t)>& progress_;
  std::size_t done_ = 0, asked_ = 0;
};

// What a plan compares rows by: dollars on spot, else on demand.
std::optional<double> least_dollars(const PlanRow& row) {
  if (row.cost.spot) return row.cost.spot->likely;
  if (row.cost.on_demand) return row.cost.on_demand->likely;
  return std::nullopt;
}

void choose(Plan& plan) {
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const PlanRow& row = plan.rows[i];
    if (!row.fits()) continue;
    if (!plan.fastest || row.time.seconds.likely < plan.rows[*plan.fastest].time.seconds.likely)
      plan.fastest = i;
    const auto cost = least_dollars(row);
    if (cost && (!plan.cheapest || *cost < *least_dollars(plan.rows[*plan.cheapest])))
      plan.cheapest = i;
  }
}

}  // namespace

double PlanRow::share_of_peak() const {
  if (!fits()) return 0;
  return flops / (form().step->likely * type.flops * type.devices);
}

Plan plan_recipe(const PlanJob& job, const TpuCompiles& compiles, const Prices& prices,
                 const std::function<void(std::size_t, std::size_t)>& progress) {
  (void)find_plugin("tpu");  // says how to get it
  Plan plan{.rows = Planner(job, compiles, progress).rows(), .cheapest = {}, .fastest = {}};
  for (PlanRow& row : plan.rows) {
    if (!row.fits()) continue;
    row.price = prices.find(row.type.generation, job.region);
    row.time = run_seconds(row.type, *row.form().step, row.work);
    row.cost = run_cost(row.type, row.time, row.price);
  }
  choose(plan);
  return plan;
}

}  // namespace smelt
