#include "train/trainer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <iomanip>
#include <sstream>

#include "base/clock.h"
#include "base/error.h"
#include "base/nearest_name.h"
#include "base/progress.h"
#include "data/description.h"
#include "data/prefetch.h"
#include "store/folder_lock.h"
#include "train/compiled_step.h"
#include "train/resume.h"
#include "train/saver.h"
#include "train/start.h"
#include "train/stop_signal.h"

namespace smelt {
namespace {

class Trainer {
 public:
  explicit Trainer(const TrainJob& job);
  TrainSummary run();

 private:
  void introduce() const;
  void compile();
  void step(Progress& progress);
  void read_report(Progress& progress);
  void show(Progress& progress, std::int64_t done);
  void pause(Progress& progress, bool check, bool save);
  std::optional<double> check(const HostState& host);
  void read_data();
  MemoryAdvice advice(const std::string& what) const {
    return advice_for_training(what, job_.fields);
  }
  double sequences(std::int64_t steps) const {
    return static_cast<double>(steps * job_.config.batch_size);
  }

  const TrainJob& job_;
  std::optional<FolderLock> lock_;
  std::unique_ptr<const ExampleSource> source_;
  std::shared_ptr<const Client> client_;
  nlohmann::json settings_;  // that a checkpoint must have been made with
  StepProgram program_;
  TrainSummary summary_;
  std::optional<CompiledStep> compiled_;
  std::optional<Scorer> scorer_;
  std::optional<TakenWeights> taken_;  // until the state is there
  std::optional<ModelState> state_;
  std::optional<Saver> saver_;
  std::optional<Prefetch> batches_;
  std::optional<Buffer> report_;  // of the newest step, not yet read
  ReportSums since_line_, since_check_, last_;
  std::int64_t step_ = 0;
  std::int64_t steps_before_ = 0;  // of the run that the weights are of, where they count
};

Compute compute_of(const TrainJob& job, std::string_view platform) {
  return job.compute ? compute_for(platform, *job.compute, job.fields) : job.config.compute;
}

void check_described(const TrainJob& job, const ExampleSource& source) {
  if (const auto description = source.description())
    check_description(
        *description,
        {.examples = source.size(), .vocab = job.vocab, .settings = job.task.described});
}

// UsageError when the validation does not have what the best is kept of.
void check_best(const TrainJob& job, const std::optional<Scorer>& scorer) {
  if (job.keep_best.empty()) return;
  std::vector<std::string> known;
  if (scorer)
    for (const ReportedMeasure& m : scorer->program().report.measures) known.push_back(m.name);
  if (std::ranges::find(known, job.keep_best) == known.end())
    throw UsageError(str("train: ", job.fields("keep_best"), " is '", job.keep_best,
                         "', which no validation measures"),
                     known.empty() ? "have it validate" : did_you_mean(job.keep_best, known));
}

Trainer::Trainer(const TrainJob& job)
    : job_(job),
      source_(open_examples(
          {.input = job.data, .features = job.task.features, .seed = job.config.seed})),
      client_(open_device(job.device, static_cast<int>(job.config.devices))),
      settings_(run_settings(job.task, job.config, *source_, job.vocab)),
      program_(training_program(job, client_->platform_name())),
      since_line_(program_.report),
      since_check_(program_.report),
      last_(program_.report) {
  settings_["precision"] =
      job.compute ? job.compute->precision : std::string(dtype_name(job.config.compute.dtype));
  check_described(job, *source_);
  if (!job.dry_run) lock_.emplace(job.model_dir, "train");
  Start start = start_of(job, program_, *client_, settings_);
  step_ = start.step;
  steps_before_ = start.steps_before;
  saver_.emplace(job, settings_, start);
  state_ = std::move(start.state);
  taken_ = std::move(start.taken);
  if (state_ && step_ >= job.config.schedule.total_steps) return;  // nothing will run
  if (job.overwrite) lock_->clear_folder();
  job.accepted();
  compile();
}

// Before the device is busy for long.
void Trainer::introduce() const {
  std::int64_t parameters = 0;
  for (const StateTensor& t : std::span(program_.state.tensors).first(program_.state.values))
    parameters += t.shape.elements();
  spdlog::info("train: {} examples, a model ({}) of {} parameters; compiling", source_->size(),
               job_.task.name, parameters);
}

// A new model's weights are drawn meanwhile.
void Trainer::compile() {
  introduce();
  std::future<ModelState> fresh;
  if (!state_)
    fresh = std::async(std::launch::async, [this] {
      return ModelState::fresh(*client_, program_.placement, program_.state, job_.config.seed,
                               taken_ ? taken_->parameters : TensorMap());
    });
  const auto start = Clock::now();
  if (step_ < job_.config.schedule.total_steps) {
    if (job_.validation)
      scorer_.emplace(client_, job_.task, program_.placement,
                      compute_of(job_, client_->platform_name()), *job_.validation, job_.fields);
    check_best(job_, scorer_);
    compiled_.emplace(client_, program_, advice("train: a step"));
  }
  summary_.compile_seconds = seconds_since(start);
  if (fresh.valid())
    state_.emplace(fitting(advice("train: the state"), [&] { return fresh.get(); }));
  taken_.reset();
}

void Trainer::step(Progress& progress) {
  const Batch batch = batches_->next();
  Execution execution = compiled_->run(batch, *state_, step_ - steps_before_);
  state_->replace(execution.results);
  read_report(progress);  // of the step before: this one is under way meanwhile
  report_.emplace(std::move(execution.results.front().back()));
  ++step_;
}

// Of the newest step, which has then ended.
void Trainer::read_report(Progress& progress) {
  if (!report_) return;
  const auto report =
      fitting(advice(str("train: step ", step_)), [&] { return report_->to_host<float>(); });
  report_.reset();
  last_.clear();
  last_.add(report);
  since_line_.add(report);
  since_check_.add(report);
  const double loss = last_.figure("loss"), norm = last_.figure("gradient_norm");
  if (!std::isfinite(loss) || !std::isfinite(norm))
    throw SystemError(
        str("train: at step ", step_, " the loss is ", loss, ", the gradient's norm ", norm),
        saver_->what_steadies());
  show(progress, step_);
}

// Between two steps: looks at the state, tells of it and begins to save it.
void Trainer::pause(Progress& progress, bool check_is_due, bool save_is_due) {
  if (!check_is_due && !save_is_due) return;
  read_report(progress);
  const auto start = Clock::now();
  saver_->wait();
  StateCopy copy = state_->start_copy();
  summary_.save_seconds += seconds_since(start);
  Saver::Kinds kinds{.regular = save_is_due};
  if (check_is_due) kinds.best = check(copy.host());
  if (kinds.regular || kinds.best) saver_->save(step_, std::move(copy), kinds);
}

// Gives the value that is the best so far.
std::optional<double> Trainer::check(const HostState& host) {
  saver_->require_finite(step_, host);
  TrainCheck found{.first_step = summary_.first_step,
                   .step = step_,
                   .trained = since_check_.measures(),
                   .validation = {},
                   .parameters = parameter_scales(program_.state, host)};
  since_check_.clear();
  if (scorer_) found.validation = scorer_->score(*state_, step_);
  if (job_.checked) job_.checked(found);
  if (!found.validation || !saver_->is_best(*found.validation)) return std::nullopt;
  return found.validation->measure(job_.keep_best).value;
}

// All that a run does up to its first check, but for its steps.
void Trainer::read_data() {
  const std::int64_t steps = std::min(job_.config.schedule.total_steps - step_,
                                      std::max<std::int64_t>(1, job_.check_every));
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < steps; ++i) (void)batches_->next();
  spdlog::info("dry run: {} batches of {} examples read in {:.1f} s, nothing trained or written",
               std::max<std::int64_t>(0, steps), job_.config.batch_size, seconds_since(start));
  if (!scorer_) return;
  scorer_->read();
  spdlog::info("dry run: {} batches of the validation read", scorer_->batches());
}

// Means since the last line, once `done` steps are done.
void Trainer::show(Progress& progress, std::int64_t done) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(3) << "loss " << since_line_.figure("loss");
  for (const MeasuredValue& m : since_line_.measures()) text << ", " << m.name << " " << m.value;
  text << std::setprecision(1) << ", " << sequences(done - summary_.first_step) / progress.seconds()
       << " seq/s";
  if (!job_.log_line || progress.on_terminal()) progress.update(done, text.str());
  const std::int64_t total = job_.config.schedule.total_steps;
  if (done % job_.log_every != 0 && done != total) return;
  if (job_.log_line)
    progress.line(job_.log_line({.step = done,
                                 .total = total,
                                 .first_step = summary_.first_step,
                                 .seconds = progress.seconds(),
                                 .input_seconds = batches_->waited_seconds(),
                                 .loss = since_line_.figure("loss")}));
  else
    progress.line(str("step ", done, "/", total, ": ", text.str(), ", lr ",
                      last_.figure("learning_rate"), ", grad norm ",
                      since_line_.figure("gradient_norm")));
  since_line_.clear();
}

TrainSummary Trainer::run() {
  const std::int64_t last = job_.config.schedule.total_steps;
  summary_.first_step = step_;
  batches_.emplace(*source_, job_.config.batch_size,
                   static_cast<std::uint64_t>(job_.replay_data ? 0 : step_ - steps_before_));
  if (job_.dry_run) {
    read_data();
    return summary_;
  }
  const StopSignal stop;
  Progress progress("train", last, "steps", step_);
  if (job_.save_first && saver_->newest() < 0) pause(progress, false, true);
  while (step_ < last && !StopSignal::raised()) {
    step(progress);
    saver_->look();
    const bool check_is_due =
        job_.check_every > 0 && (step_ % job_.check_every == 0 || step_ == last);
    pause(progress, check_is_due, saver_->is_due(step_));
  }
  pause(progress, false, saver_->newest() != step_);
  const auto ended = Clock::now();
  saver_->finish();
  summary_.save_seconds += seconds_since(ended);
  summary_.last_step = step_;
  summary_.train_seconds = progress.seconds();
  summary_.input_seconds = batches_->waited_seconds();
  summary_.sequences_per_second = sequences(step_ - summary_.first_step) / summary_.train_seconds;
  if (step_ < last)
    throw Stopped(str("train: stopped by a signal at step ", step_, " of ", last, "; saved"),
                  "run the same command again to go on from there");
  if (last_.batches() > 0) {
    for (const std::string& name : program_.report.figures)
      summary_.last[name] = last_.figure(name);
    for (const MeasuredValue& m : last_.measures()) summary_.last[m.name] = m.value;
  }
  return summary_;
}

}  // namespace

StepProgram training_program(const TrainJob& job, std::string_view platform) {
  TrainingConfig config = job.config;
  config.compute = compute_of(job, platform);
  return train_program(job.task, config,
                       placement_for(platform, config.devices, config.reduction,
                                     partition_for(job.mesh, config.devices, job.fields)));
}

TrainSummary train(const TrainJob& job) {
  const TrainSummary s = Trainer(job).run();
  if (s.last_step > s.first_step)
    spdlog::info(
        "train: {} steps in {} ({:.1f} sequences/s, padding counted), compiled in {:.1f} s; the "
        "model is in {}",
        s.last_step - s.first_step, duration_text(s.train_seconds), s.sequences_per_second,
        s.compile_seconds, job.model_dir);
  return s;
}

}  // namespace smelt
