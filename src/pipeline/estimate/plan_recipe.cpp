#include "pipeline/estimate/plan_recipe.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "compiler/stablehlo/writer.h"
#include "evaluation/tracking/run_record.h"
#include "model/train_step/model_flops.h"
#include "model/train_step/program.h"
#include "pjrt/find_plugin.h"
#include "train/job_program.h"
#include "train/memory_variant.h"

namespace smelt::pipeline {
namespace {

const train::MemoryVariant kOwn{};

std::string own_words(const train::TrainJob& job) {
  const bool unrolled = train::compute_of(job, "tpu").layers == model::Layers::unrolled;
  const std::int64_t parts = job.config.micro_batches;
  return str(unrolled ? "unrolled" : "loop", parts > 1 ? str(", ", parts, " micro-batches") : "");
}

double bytes_of(const compiler::Shape& shape) {
  return static_cast<double>(shape.elements()) *
         static_cast<double>(compiler::dtype_size_bytes(shape.dtype));
}

// Adds the bytes of parameters and optimizer state per device, sharded and replicated.
void add_state(PlanRow& row, const model::StepProgram& step) {
  const model::PartitionRules& mesh = step.placement.partition;
  const auto split = static_cast<double>(mesh.size("fsdp") * mesh.size("tensor"));
  for (const model::StateTensor& tensor : step.held.tensors)
    row.parameter_bytes += bytes_of(tensor.shape) / split;
  for (std::size_t i = 0; i < step.state.tensors.size(); ++i) {
    const double bytes = bytes_of(step.state.tensors[i].shape);
    row.work.checkpoint_bytes += bytes;
    (i < step.state.values ? row.parameter_bytes : row.slot_bytes) += bytes / split;
  }
}

void add_factor(PlanRow& row, const PlanJob& job) {
  const auto found = job.factors.find(row.type.generation);
  const bool measured = found != job.factors.end();
  row.factor = measured ? found->second : cost_model::usual_factor(row.type);
  row.longest_run = measured ? 1 : cost_model::longest_run(row.type);
}

// Returns the job for a type. For a GPU, sets the layer mode (unrolled or loop) that `auto` selects
// on a GPU, because the program is compiled for a TPU, on which `auto` may select the other one.
train::TrainJob as_on(const cost_model::Accelerator& type, train::TrainJob job) {
  if (!type.is_gpu()) return job;
  if (!job.on.compute) job.on.compute = model::ComputeOptions();
  job.on.compute->layers = train::compute_of(job, "gpu").layers;
  return job;
}

cost_model::StepProducts products_of(const cost_model::Accelerator& type,
                                     const model::StepProgram& step, const train::TrainJob& job) {
  if (!type.is_gpu()) return {};
  const model::ComputePolicy compute = train::compute_of(job, "tpu");
  return {.flops = model::product_flops(step.program.results) / type.devices,
          .of = compute.dtype,
          .exact = compute.exact_products};
}

// Returns `compiled`, with its end set to does_not_fit if the program needs more memory than a GPU
// has free, given that its driver and libraries use a share of kOwn.
cost_model::Compiled as_fits(const cost_model::Accelerator& type, cost_model::Compiled compiled) {
  constexpr double kOwn = 0.06;
  if (!type.is_gpu() || compiled.end != cost_model::CompileEnd::fits) return compiled;
  const double room = type.memory * (1 - kOwn);
  if (compiled.bytes() <= room) return compiled;
  compiled.end = cost_model::CompileEnd::does_not_fit;
  compiled.problem = str(bytes_text(compiled.bytes()), " of ", bytes_text(room), " that are free");
  return compiled;
}

class Planner {
 public:
  Planner(const PlanJob& job, const cost_model::TpuCompiles& compiles,
          const PlanCallbacks& callbacks)
      : job_(job), compiles_(compiles), callbacks_(callbacks) {
    for (const cost_model::Accelerator& type : job_.types) {
      rows_.emplace_back();
      rows_.back().type = type;
      add_factor(rows_.back(), job_);
      runs_.push_back(described(rows_.back()));
    }
    if (std::ranges::none_of(rows_, [](const PlanRow& row) { return row.problem.empty(); }))
      throw UsageError(rows_.front().problem);
  }

  // Plans all types. `finish` completes a row from its best variant.
  std::vector<PlanRow> rows(const std::function<void(PlanRow&)>& finish) {
    const auto any = [](const PlanRow&) { return true; };
    if (callbacks_.first && is_unrolled_by_itself())
      compile_round(train::kScanVariant, any, [&](PlanRow row) {
        finish(row);
        callbacks_.first(row);
      });
    compile_round(kOwn, any);
    if (job_.all_variants)  // the run's own variant is one of them
      for (const train::MemoryVariant& form : {train::kUnrolledVariant, train::kScanVariant})
        compile_round(form, any);
    for (const train::MemoryVariant& form : train::memory_fallbacks(any_job()))
      compile_round(form, [&](const PlanRow& row) {
        // If the compiler died or timed out, only a loop over layers, which is easier to compile,
        // is tried next.
        const bool too_large =
            row.tried.empty() ||
            row.tried.back().compiled.end == cost_model::CompileEnd::does_not_fit ||
            form.words == train::kScanVariant.words;
        return !row.fits() && too_large;
      });
    compile_evaluation();
    if (job_.largest_batch) find_largest();
    return rows_;
  }

 private:
  std::optional<PlannedRun> described(PlanRow& row) const try {
    PlannedRun run = job_.run_on(row.type);
    if (job_.steps_only) run.evaluation.reset();
    run.job = as_on(row.type, std::move(run.job));
    const model::StepProgram step = train::training_program(run.job, "tpu");
    row.batch = run.job.config.batch_size;
    for (const io::Feature& feature : step.features)
      row.tokens = std::max(row.tokens, feature.count());
    row.flops = static_cast<double>(row.batch) * model::training_flops(run.job.task);
    add_state(row, step);
    row.unknown = run.unknown;
    row.packing = run.packing;
    row.packed_time = run.packed_time;
    row.flops *= row.packed_time;
    row.seconds = run.job.seconds;
    row.work.steps = row.seconds > 0 ? 1 : run.job.config.schedule.total_steps;
    row.work.save_every = run.job.checkpoint.save_interval_steps;
    row.work.save_minutes = run.job.checkpoint.save_interval_minutes;
    if (run.evaluation && run.evaluation->examples) {
      row.final_evaluations = *run.evaluation->examples *
                              static_cast<double>(run.evaluation->passes) /
                              static_cast<double>(run.evaluation->batch);
      row.work.evaluations = run.evaluation->times * row.final_evaluations;
    }
    return run;
  } catch (const UsageError& error) {
    row.problem = str("on a ", row.type.name, ": ", error.what());
    return std::nullopt;
  }

  // Returns one of the jobs; they differ only in their devices.
  const train::TrainJob& any_job() const {
    return std::ranges::find_if(runs_, [](const auto& run) { return run.has_value(); })
        ->value()
        .job;
  }

  bool is_unrolled_by_itself() const {
    return std::ranges::any_of(runs_, [](const auto& run) {
      return run && (!run->job.on.compute || !run->job.on.compute->layers) &&
             train::compute_of(run->job, "tpu").layers == model::Layers::unrolled;
    });
  }

  struct Made {
    cost_model::CompileRequest request;
    cost_model::StepProducts products;
  };
  static Made made(const PlanRow& row, const train::TrainJob& job, const model::StepProgram& step) {
    return {.request = {.program = compiler::emit_module(step.program, "step"),
                        .topology = row.type.topology},
            .products = products_of(row.type, step, job)};
  }

  // Returns the request to compile the row's step; nullopt if the variant is not possible, for
  // example because the batch size is not divisible by the number of micro-batches.
  static std::optional<Made> request(const PlanRow& row, const train::TrainJob& job) try {
    return made(row, job, train::training_program(job, "tpu"));
  } catch (const UsageError&) {
    return std::nullopt;
  }

  // Compiles the program that `make` returns for each wanted row. Passes the compiler's result and
  // the program's matmuls to `take`. `what` names the programs in the log.
  template <class Wanted, class Make, class Take>
  void round(const std::string& what, const Wanted& wanted, const Make& make, const Take& take) {
    std::vector<std::size_t> of;
    std::vector<cost_model::CompileRequest> requests;
    std::vector<cost_model::StepProducts> products;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!runs_[i] || !wanted(rows_[i])) continue;
      if (auto made = make(i)) {
        of.push_back(i);
        requests.push_back(std::move(made->request));
        products.push_back(made->products);
      }
    }
    asked_ += requests.size();
    const auto done = [&](std::size_t i, const cost_model::Compiled& compiled) {
      take(of[i], as_fits(rows_[of[i]].type, compiled), products[i]);
      ++done_;
      if (callbacks_.progress) callbacks_.progress(done_, asked_);
    };
    compiles_.run(requests, done, [&](std::size_t i) {
      log_info("plan: compiling for {} (type {} of {}): {}", rows_[of[i]].type.name, of[i] + 1,
               rows_.size(), what);
    });
  }

  template <class Wanted>
  void compile_round(const train::MemoryVariant& form, const Wanted& wanted,
                     const std::function<void(const PlanRow&)>& tell = {}) {
    round(
        form.words.empty() ? str("the step, ", own_words(any_job()))
                           : str("the step, ", form.words),
        wanted,
        [&](std::size_t i) -> std::optional<Made> {
          if (is_tried(i, form)) return std::nullopt;
          return request(rows_[i], train::in_form(runs_[i]->job, form));
        },
        [&](std::size_t i, const cost_model::Compiled& compiled,
            const cost_model::StepProducts& products) {
          add(i, form, compiled, products);
          if (tell) tell(rows_[i]);
        });
  }

  bool is_tried(std::size_t at, const train::MemoryVariant& form) const {
    const auto tried = forms_.find(rows_[at].type.name);
    return tried != forms_.end() &&
           std::ranges::any_of(tried->second, [&](const train::MemoryVariant& other) {
             return train::is_same_variant(runs_[at]->job, form, other, "tpu");
           });
  }
  std::optional<std::size_t> turn_of(std::size_t at, const train::MemoryVariant& form) const {
    const train::TrainJob& job = runs_[at]->job;
    std::vector<train::MemoryVariant> order{kOwn};
    if (train::allows_memory_fallback(job))
      for (train::MemoryVariant& smaller : train::memory_fallbacks(job))
        order.push_back(std::move(smaller));
    const auto found = std::ranges::find_if(order, [&](const train::MemoryVariant& other) {
      return train::is_same_variant(job, other, form, "tpu");
    });
    if (found == order.end()) return std::nullopt;
    return found - order.begin();
  }

  void add(std::size_t at, const train::MemoryVariant& form, const cost_model::Compiled& compiled,
           const cost_model::StepProducts& products) {
    PlanRow& row = rows_[at];
    row.tried.push_back({.settings = train::settings_of(form, runs_[at]->job.fields),
                         .words = form.words.empty() ? own_words(runs_[at]->job) : form.words,
                         .turn = turn_of(at, form),
                         .compiled = compiled,
                         .products = products,
                         .work = cost_model::step_work(row.type, compiled, products),
                         .step = {}});
    forms_[row.type.name].push_back(form);
    PlannedForm& tried = row.tried.back();
    if (compiled.end == cost_model::CompileEnd::fits)
      tried.step = cost_model::step_seconds(tried.work, row.factor);
    if (!tried.step) return;
    tried.step = tried.step->times(row.packed_time);
    if (!row.best || tried.step->likely < row.form().step->likely) row.best = row.tried.size() - 1;
  }

  train::TrainJob best_job(std::size_t i) const {
    return train::in_form(runs_[i]->job, forms_.at(rows_[i].type.name).at(*rows_[i].best));
  }

  void compile_evaluation() {
    round(
        "the evaluation", [](const PlanRow& row) { return row.fits(); },
        [&](std::size_t i) -> std::optional<Made> {
          if (!runs_[i]->evaluation) return std::nullopt;
          const PlannedEvaluation& e = *runs_[i]->evaluation;
          const train::TrainJob job = best_job(i);
          const model::ShardingPlan placement =
              model::placement_for("tpu", job.on.devices, model::Reduction::global,
                                   model::partition_for(job.on.mesh, job.on.devices, job.fields));
          return made(rows_[i], job,
                      model::eval_program(job.task, e.batch, placement,
                                          train::compute_of(job, "tpu"), e.passes));
        },
        [&](std::size_t i, const cost_model::Compiled& compiled,
            const cost_model::StepProducts& products) {
          PlanRow& row = rows_[i];
          row.evaluation = compiled;
          if (compiled.end == cost_model::CompileEnd::fits)
            row.scored = cost_model::step_seconds(
                cost_model::step_work(row.type, compiled, products), row.factor);
        });
  }

  // Doubles the batch size until one does not fit. Halves it if it does not fit in any variant.
  void find_largest() {
    for (PlanRow& row : rows_)
      if (row.fits()) row.largest_batch = row.batch;
    for (std::int64_t factor = 2; factor <= 1024; factor *= 2) {
      find_batch([&](const PlanRow& row) { return row.largest_batch == row.batch * factor / 2; },
                 [&](std::int64_t batch) { return batch * factor; });
      find_batch(
          [&](const PlanRow& row) {
            return !row.largest_batch && row.batch % factor == 0 && !row.tried.empty() &&
                   row.tried.back().compiled.end == cost_model::CompileEnd::does_not_fit;
          },
          [&](std::int64_t batch) { return batch / factor; });
    }
  }

  // Compiles another batch size with the best variant, or with the one that needs the least memory.
  template <class Wanted>
  void find_batch(const Wanted& wanted, const std::function<std::int64_t(std::int64_t)>& other) {
    round(
        "another batch size", wanted,
        [&](std::size_t i) {
          train::TrainJob job =
              rows_[i].fits() ? best_job(i)
                              : train::in_form(runs_[i]->job, forms_.at(rows_[i].type.name).back());
          job.config.batch_size = other(job.config.batch_size);
          return request(rows_[i], job);
        },
        [&](std::size_t i, const cost_model::Compiled& compiled, const cost_model::StepProducts&) {
          if (compiled.end == cost_model::CompileEnd::fits)
            rows_[i].largest_batch = other(rows_[i].batch);
          else if (compiled.end != cost_model::CompileEnd::does_not_fit)
            rows_[i].larger_unknown = compiled.problem;
        });
  }

  const PlanJob& job_;
  const cost_model::TpuCompiles& compiles_;
  const PlanCallbacks& callbacks_;
  std::vector<PlanRow> rows_;
  std::vector<std::optional<PlannedRun>> runs_;  // one per row
  // The variants in PlanRow::tried, in the same order, by the name of the row's accelerator type.
  std::map<std::string, std::vector<train::MemoryVariant>> forms_;
  std::size_t done_ = 0, asked_ = 0;
};

// Returns the work of the row's run with another number of steps.
cost_model::RunWork work_of(const PlanRow& row, std::int64_t steps) {
  cost_model::RunWork work = row.work;
  const auto before = static_cast<double>(std::max<std::int64_t>(1, work.steps));
  const double during = work.evaluations - row.final_evaluations;
  work.evaluations = row.final_evaluations + during * static_cast<double>(steps) / before;
  work.steps = steps;
  return work;
}

// Returns the time without its range. If the length of a run is a time, only its number of steps is
// uncertain.
cost_model::RunTime exact_time(cost_model::RunTime time) {
  for (cost_model::Estimate* e : {&time.seconds, &time.spot_seconds}) e->low = e->high = e->likely;
  return time;
}

// If the length of the run is a time, computes the number of steps that fit in it, together with
// the evaluations and saves.
void set_steps_of_time(PlanRow& row) {
  if (row.seconds == 0) return;
  constexpr std::int64_t kMany = 1'000'000;
  const auto likely = [&](std::int64_t steps) { return time_of(row, steps).seconds.likely; };
  const double step = (likely(kMany) - likely(0)) / static_cast<double>(kMany);
  row.work = work_of(row, std::max<std::int64_t>(1, std::llround(row.seconds / step)));
}

// Returns the cost that a plan compares: the spot price, or else the on-demand price.
// If the length of the run is a time, this is the cost of one step, because the slowest machine
// would otherwise often be the cheapest.
std::optional<double> lowest_cost(const PlanRow& row) {
  const auto& cost = row.cost.spot ? row.cost.spot : row.cost.on_demand;
  if (!cost) return std::nullopt;
  return row.seconds > 0 ? cost->likely / static_cast<double>(row.work.steps) : cost->likely;
}

// Returns the time that a plan compares: the time of the run, or of one step if the
// length of the run is a time.
double compared_time(const PlanRow& row) {
  const double seconds = row.time.seconds.likely;
  return row.seconds > 0 ? seconds / static_cast<double>(row.work.steps) : seconds;
}

}  // namespace

void choose(Plan& plan) {
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const PlanRow& row = plan.rows[i];
    if (!row.fits()) continue;
    if (!plan.fastest || compared_time(row) < compared_time(plan.rows[*plan.fastest]))
      plan.fastest = i;
    const auto cost = lowest_cost(row);
    if (cost && (!plan.cheapest || *cost < *lowest_cost(plan.rows[*plan.cheapest])))
      plan.cheapest = i;
  }
}

cost_model::RunTime time_of(const PlanRow& row, std::int64_t steps) {
  return cost_model::run_seconds(row.type, *row.form().step, work_of(row, steps), row.scored,
                                 row.longest_run);
}

std::pair<std::string, cost_model::Estimate> calibration(const std::string& run,
                                                         const cost_model::TpuCompiles& compiles) {
  const evaluation::RunRecord record = evaluation::read_run(run);
  const std::string kind = record.start.value("device", "");
  const std::int64_t devices = record.start.value("devices", std::int64_t{0});
  const cost_model::Accelerator* type = cost_model::slice_of(kind, devices);
  const std::string where = "--calibrate: " + run;
  if (type == nullptr)
    throw UsageError(str(where, ": unknown machine: the run used ", devices, " x ", kind),
                     "use a run on a machine type that --on accepts");
  std::vector<double> rates;
  if (const auto curve = record.lines.find("sequences_per_second"); curve != record.lines.end())
    for (const evaluation::CurvePoint& p : curve->second) rates.push_back(p.value);
  if (rates.empty())
    throw UsageError(where + " has logged no steps", "name a run that has trained");
  std::ranges::nth_element(rates, rates.begin() + std::ssize(rates) / 2);
  const double seconds = record.start.at("batch_size").get<double>() / rates[rates.size() / 2];
  const Plan plan = plan_run(
      {.run_on =
           [&](const cost_model::Accelerator& on) { return planned_run(recipe_on(on, run, {})); },
       .types = {*type}},
      compiles, cost_model::Prices());
  const PlanRow& row = plan.rows.front();
  const auto taken = row.taken();
  if (!taken)
    throw UsageError(str(where, ": ", row.tried.front().compiled.problem),
                     "use a run whose own step fits its devices");
  const double factor =
      cost_model::measured_factor(row.tried[*taken].work, seconds / row.packed_time);
  return {type->generation, {0.9 * factor, factor, 1.1 * factor}};
}

Plan plan_run(const PlanJob& job, const cost_model::TpuCompiles& compiles,
              const cost_model::Prices& prices, const PlanCallbacks& callbacks) {
  (void)pjrt::find_plugin("tpu");  // throws with instructions if it is missing
  const auto finish = [&](PlanRow& row) {
    if (!row.fits()) return;
    row.price = prices.find(row.type.generation, job.region);
    set_steps_of_time(row);
    row.time =
        cost_model::run_seconds(row.type, *row.form().step, row.work, row.scored, row.longest_run);
    if (row.seconds > 0) row.time = exact_time(row.time);
    row.cost = cost_model::run_cost(row.type, row.time, row.price);
  };
  Plan plan{.rows = Planner(job, compiles, callbacks).rows(finish), .cheapest = {}, .fastest = {}};
  std::ranges::for_each(plan.rows, finish);
  choose(plan);
  return plan;
}

}  // namespace smelt::pipeline
