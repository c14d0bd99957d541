#include "train/trainer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <iomanip>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "checkpoint/checkpoint.h"
#include "data/description.h"
#include "data/prefetch.h"
#include "format/json_difference.h"
#include "store/folder_lock.h"
#include "store/path.h"
#include "train/compiled_step.h"
#include "train/job_program.h"
#include "train/resume.h"
#include "train/rewind.h"
#include "train/stop_signal.h"
#include "train/taken_weights.h"

namespace smelt {
namespace {

class Trainer {
 public:
  explicit Trainer(const TrainJob& job);
  TrainSummary run();

 private:
  std::optional<ModelState> restored_state();
  void take_given();
  void introduce() const;
  void compile();
  void step(Progress& progress);
  void take_steps(Progress& progress);
  void read_report(Progress& progress);
  [[noreturn]] void stop_at_bad_step(double loss, double norm);
  void rewind();
  void read_from(std::int64_t step);
  void show(Progress& progress, std::int64_t done);
  void pause(Progress& progress, bool check, bool save);
  void check(const HostState& host);
  void save(const HostState& host);
  void read_data();
  std::string where_to_go_on() const;
  std::string what_steadies() const;
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
  std::optional<Prefetch> batches_;
  std::optional<Buffer> report_;  // of the newest step, not yet read
  ReportSums since_line_, since_check_, last_;
  std::int64_t step_ = 0, saved_step_ = -1;
  std::int64_t steps_before_ = 0;  // of the run that the weights are of, where they count
  std::int64_t first_batch_ = 0;   // of step 0 of all
  SpikeRecord spikes_;
  std::optional<std::int64_t> spike_at_;  // the step from which to go back
};

void check_described(const TrainJob& job, const ExampleSource& source) {
  if (const auto description = source.description())
    check_description(
        *description,
        {.examples = source.size(), .vocab = job.vocab, .settings = job.task.described});
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
  if (!job.overwrite)
    state_ = fitting(advice("train: the state"), [this] { return restored_state(); });
  if (!job.init.empty()) take_given();
  if (state_ && step_ >= job.config.schedule.total_steps) return;  // nothing will run
  if (job.overwrite) lock_->clear_folder();
  job.accepted();
  compile();
}

// For a new run.
void Trainer::take_given() {
  if (state_) {
    spdlog::info("init {} is not used: this run has a checkpoint of its own", job_.init);
    return;
  }
  const auto in_vocabulary = [&](std::string_view parameter) {
    const DimNames dims = job_.task.dim_names ? job_.task.dim_names(parameter) : DimNames();
    return !dims.empty() && dims.front().name == "vocab";
  };
  taken_ = take_weights(program_.state, load_weights(job_.init), in_vocabulary);
  spdlog::info("{}", table_of(*taken_));
  if (const auto other = other_vocabulary(taken_->given, job_.vocab); !other.empty())
    spdlog::warn("{} {}", taken_->given.where, other);
  settings_["init"] = taken_->given.where;
  if (job_.take_step && taken_->given.step > 0)
    settings_["steps_before"] = step_ = steps_before_ = taken_->given.step;
  if (taken_->given.model.is_null() || !settings_.contains("model")) return;
  if (const auto other = first_difference(taken_->given.model, settings_["model"], "model"))
    spdlog::warn("{}: was made with {} {}, this run has {}", taken_->given.where, other->name,
                 other->was.dump(), other->is.dump());
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
    compiled_.emplace(client_, program_, advice("train: a step"));
  }
  summary_.compile_seconds = seconds_since(start);
  if (fresh.valid())
    state_.emplace(fitting(advice("train: the state"), [&] { return fresh.get(); }));
  taken_.reset();
}

std::optional<ModelState> Trainer::restored_state() {
  const auto checkpoint = job_.resume_from.empty() ? load_latest_checkpoint(job_.model_dir)
                                                   : load_checkpoint(job_.resume_from);
  if (!checkpoint) return std::nullopt;
  const std::string& where = checkpoint->path;
  check_vocabulary(checkpoint->state, job_.vocab, where);
  check_same_run(checkpoint->state, settings_, where);
  for (const char* name : {"init", "steps_before"})
    if (checkpoint->state.contains(name)) settings_[name] = checkpoint->state[name];
  steps_before_ = settings_.value("steps_before", std::int64_t{0});
  spikes_ = SpikeRecord(checkpoint->state);
  auto state =
      ModelState::restore(*client_, program_.placement, program_.state, checkpoint->tensors, where);
  step_ = saved_step_ = checkpoint->step;
  const std::int64_t last = job_.config.schedule.total_steps;
  if (step_ >= last) {
    spdlog::warn("{} is {} the {} steps of this run: nothing is left to do; raise {} to go on",
                 where, step_ == last ? "the end of" : "beyond", last, job_.fields("steps"));
    return state;
  }
  spdlog::info("resuming from {}", where);
  if (const auto changes = changed_schedule(checkpoint->state, settings_, job_.fields);
      !changes.empty())
    spdlog::warn("{}: {}", where, changes);
  return state;
}

void Trainer::step(Progress& progress) {
  const Batch batch = batches_->next();
  Execution execution = compiled_->run(batch, *state_, step_ - steps_before_);
  state_->replace(execution.results);
  read_report(progress);  // of the step before: this one is under way meanwhile
  report_.emplace(std::move(execution.results.front().back()));
  ++step_;
}

std::string Trainer::where_to_go_on() const {
  return saved_step_ < 0 ? std::string("nothing was saved yet")
                         : str("the checkpoint of step ", saved_step_, " is good");
}

std::string Trainer::what_steadies() const {
  return str("lower ", job_.fields("learning_rate"), " or raise ", job_.fields("warmup_steps"),
             "; ", where_to_go_on());
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
  if (!std::isfinite(loss) || !std::isfinite(norm)) stop_at_bad_step(loss, norm);
  const Spikes& spikes = job_.config.spikes;
  if (spikes.action != SpikeAction::none && last_.figure(kSpikeFigure) > 0 &&
      spikes_.found(spikes.action, step_, loss) == SpikeAction::rewind)
    spike_at_ = step_;
  show(progress, step_);
}

// The state is still that of before the step: neither it nor those behind it have changed it.
void Trainer::stop_at_bad_step(double loss, double norm) {
  const std::int64_t before = step_ - 1;
  const auto number = static_cast<std::uint64_t>(before + first_batch_ + spikes_.gone_over());
  const auto found = keep_bad_batch(
      bad_batch_folder(job_.model_dir, step_),
      {.step = step_,
       .argument = before - steps_before_,
       .batch = source_->batch(number, job_.config.batch_size)},
      {.client = client_,
       .program = [&] { return program_of(job_, client_->platform_name(), gradient_program); },
       .state = *state_,
       .settings = settings_});
  throw SystemError(str("train: at step ", step_, " the loss is ", loss, ", the gradient's norm ",
                        norm, "; ", found),
                    what_steadies());
}

void Trainer::rewind() {
  const std::int64_t spike = *std::exchange(spike_at_, std::nullopt);
  report_.reset();
  const Checkpoint checkpoint = smelt::rewind({.model_dir = job_.model_dir,
                                               .spike = spike,
                                               .save_every = job_.save_every,
                                               .first_step = steps_before_},
                                              spikes_);
  state_.reset();  // a device may have room for one state only
  state_ = ModelState::restore(*client_, program_.placement, program_.state, checkpoint.tensors,
                               checkpoint.path);
  step_ = saved_step_ = checkpoint.step;
  const std::int64_t batches = std::max(job_.config.spikes.rewind_skip, spike - step_);
  spikes_.rewound(step_, batches);
  since_line_.clear();
  since_check_.clear();
  read_from(step_);
  spdlog::warn("train: back to {}, over {} batches", checkpoint.path, batches);
}

void Trainer::read_from(std::int64_t step) {
  batches_.emplace(*source_, job_.config.batch_size,
                   static_cast<std::uint64_t>(step + first_batch_ + spikes_.gone_over()));
}

// Between two steps: looks at the state, tells of it and saves it.
void Trainer::pause(Progress& progress, bool check_is_due, bool save_is_due) {
  save_is_due = save_is_due && saved_step_ != step_;
  if (spike_at_ || (!check_is_due && !save_is_due)) return;
  read_report(progress);
  if (spike_at_) return;
  const HostState host = state_->download();
  if (const auto bad = first_not_finite(host))
    throw SystemError(str("train: after step ", step_, " ", *bad, " is not finite"),
                      what_steadies());
  if (check_is_due) check(host);
  if (save_is_due) save(host);
}

void Trainer::check(const HostState& host) {
  TrainCheck found{.first_step = summary_.first_step,
                   .step = step_,
                   .trained = since_check_.measures(),
                   .validation = {},
                   .parameters = parameter_scales(program_.state, host)};
  since_check_.clear();
  if (scorer_) found.validation = scorer_->score(*state_, step_);
  if (job_.checked) job_.checked(found);
}

void Trainer::save(const HostState& host) {
  spikes_.put(settings_);
  save_checkpoint(job_.model_dir, step_, host.tensors, settings_,
                  {.max_to_keep = static_cast<int>(job_.keep), .names = job_.names});
  saved_step_ = step_;
  if (job_.keep_every > 0 && step_ > 0 && step_ % job_.keep_every == 0)
    save_checkpoint(join_path(job_.model_dir, "save"), step_, host.tensors, settings_,
                    {.max_to_keep = 0, .names = job_.names});
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
                                 .loss = since_line_.figure("loss")}));
  else
    progress.line(str("step ", done, "/", total, ": ", text.str(), ", lr ",
                      last_.figure("learning_rate"), ", grad norm ",
                      since_line_.figure("gradient_norm")));
  since_line_.clear();
}

void Trainer::take_steps(Progress& progress) {
  const std::int64_t last = job_.config.schedule.total_steps;
  while (step_ < last && !StopSignal::raised()) {
    step(progress);
    if (step_ == last) read_report(progress);
    const bool check_is_due =
        job_.check_every > 0 && (step_ % job_.check_every == 0 || step_ == last);
    pause(progress, check_is_due, step_ % job_.save_every == 0);
    if (spike_at_) rewind();
  }
}

TrainSummary Trainer::run() {
  const std::int64_t last = job_.config.schedule.total_steps;
  summary_.first_step = step_;
  first_batch_ = job_.replay_data ? -step_ : -steps_before_;
  read_from(step_);
  if (job_.dry_run) {
    read_data();
    return summary_;
  }
  const StopSignal stop;
  Progress progress("train", last, "steps", step_);
  const bool rewinds = job_.config.spikes.action == SpikeAction::rewind;
  if ((job_.save_first || rewinds) && saved_step_ < 0) pause(progress, false, true);
  take_steps(progress);
  pause(progress, false, true);
  if (spike_at_) rewind();  // found in the last step before a signal
  summary_.last_step = step_;
  summary_.train_seconds = progress.seconds();
  summary_.sequences_per_second = sequences(step_ - summary_.first_step) / summary_.train_seconds;
  if (step_ < last)
    throw SystemError(str("train: stopped by a signal at step ", step_, " of ", last, "; saved"),
                      "run the same command again to go on from there");
  if (last_.batches() > 0) {
    for (const std::string& name : program_.report.figures)
      summary_.last[name] = last_.figure(name);
    for (const MeasuredValue& m : last_.measures()) summary_.last[m.name] = m.value;
  }
  return summary_;
}

}  // namespace

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
