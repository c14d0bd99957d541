#include "train/trainer.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iomanip>

#include "base/error.h"
#include "base/progress.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/layout.h"
#include "data/bert_prefetch.h"
#include "data/description.h"
#include "format/crc32c.h"
#include "train/compiled_step.h"

namespace smelt {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Turns SIGTERM and SIGINT into a flag while a run lasts: the step under way ends, then the run
// saves.
class StopSignal {
 public:
  StopSignal() {
    stop_ = 0;
    for (int i = 0; i < 2; ++i) old_[i] = std::signal(kSignals[i], [](int s) { stop_ = s; });
  }
  ~StopSignal() {
    for (int i = 0; i < 2; ++i) std::signal(kSignals[i], old_[i]);
  }
  static bool raised() { return stop_ != 0; }

 private:
  static constexpr std::array<int, 2> kSignals{SIGTERM, SIGINT};
  static inline volatile std::sig_atomic_t stop_ = 0;
  std::array<void (*)(int), 2> old_{};
};

class Trainer {
 public:
  explicit Trainer(const PretrainJob& job);
  PretrainSummary run();

 private:
  ModelState initial_state();
  void step();
  void read_metrics();
  void save();
  void report(Progress& progress);
  nlohmann::json saved_settings() const;

  const PretrainJob& job_;
  BertRecordSource source_;
  std::shared_ptr<const Client> client_;
  nlohmann::json settings_;  // that a checkpoint must have been made with
  PretrainingProgram program_;
  PretrainSummary summary_;
  std::optional<CompiledStep> compiled_;
  std::optional<ModelState> state_;
  std::optional<BertPrefetch> batches_;
  std::optional<Buffer> metrics_;  // of the newest step, not yet read
  std::int64_t step_ = 0, saved_step_ = -1;
};

BertRecordOptions record_options(const PretrainJob& job) {
  return {.input = job.data,
          .seq_length = job.config.batch.seq_length,
          .max_predictions = job.config.batch.max_predictions,
          .vocab_size = job.config.model.vocab_size,
          .type_vocab_size = job.config.model.type_vocab_size,
          .seed = job.config.seed};
}

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Tells data apart without reading all of them: how many records, what stands in some of them from
// the first to the last, and what their description says.
nlohmann::json data_fingerprint(const BertRecordSource& source) {
  constexpr std::uint64_t kSample = 64;
  std::uint32_t sum = 0;
  for (std::uint64_t i = 0; i < kSample; ++i) {
    const BertBatch b = source.batch_in_order(i * (source.size() - 1) / (kSample - 1), 1);
    for (const auto* values : {&b.input_ids, &b.input_mask, &b.segment_ids, &b.masked_lm_positions,
                               &b.masked_lm_ids, &b.next_sentence_labels})
      sum = crc32c(bytes_of(*values), sum);
    sum = crc32c(bytes_of(b.masked_lm_weights), sum);
  }
  return {{"records", source.size()}, {"crc32c", sum}};
}

void check_described(const PretrainJob& job, const BertRecordSource& source) {
  const auto& files = source.index().files();
  const auto description = find_description(files);
  if (!description || description->files.size() != files.size())
    return;  // a part of what is described
  check_description(*description, {.examples = source.size(),
                                   .seq_length = job.config.batch.seq_length,
                                   .max_predictions = job.config.batch.max_predictions,
                                   .vocab = job.vocab,
                                   .next_sentence = job.config.next_sentence});
}

Trainer::Trainer(const PretrainJob& job)
    : job_(job),
      source_(record_options(job)),
      client_(open_device(job.device, static_cast<int>(job.config.devices))) {
  check_described(job, source_);
  settings_ = saved_settings();
  build_train_step(job.config, program_);
  const auto start = Clock::now();
  compiled_.emplace(client_, job.config, program_);
  summary_.compile_seconds = seconds_since(start);
  state_.emplace(initial_state());
}

// What makes a run the same run: how the data are read, what is computed from them.
nlohmann::json Trainer::saved_settings() const {
  const PretrainingConfig& c = job_.config;
  const AdamW& o = c.optimizer;
  return {{"model", bert_config_json(c.model)},
          {"data", data_fingerprint(source_)},
          {"seed", c.seed},
          {"batch_size", c.batch.batch_size},
          {"seq_length", c.batch.seq_length},
          {"max_predictions", c.batch.max_predictions},
          {"optimizer",
           {{"bias_correction", o.bias_correction == BiasCorrection::on},
            {"beta1", o.beta1},
            {"beta2", o.beta2},
            {"epsilon", o.epsilon},
            {"weight_decay", o.weight_decay},
            {"clip_norm", c.clip_norm}}},
          {"reduction", c.reduction == Reduction::global ? "global" : "per_replica"},
          {"next_sentence", c.next_sentence}};
}

ModelState Trainer::initial_state() {
  const int devices = static_cast<int>(job_.config.devices);
  const auto checkpoint = load_latest_checkpoint(job_.model_dir);
  if (!checkpoint)
    return ModelState::fresh(*client_, devices, program_.parameters, StateParts::values_and_moments,
                             job_.config.seed);
  const std::string where = checkpoint_path(job_.model_dir, checkpoint->step);
  for (const auto& [name, value] : settings_.items())
    if (checkpoint->state.value(name, nlohmann::json()) != value)
      throw UsageError(str(where, ": was made with ", name, " ",
                           checkpoint->state.value(name, nlohmann::json()).dump(),
                           ", this run has ", value.dump()),
                       "use the same settings, or choose another output folder for a new run");
  spdlog::info("resuming from {}", where);
  step_ = saved_step_ = checkpoint->step;
  return ModelState::restore(*client_, devices, program_.parameters, StateParts::values_and_moments,
                             checkpoint->tensors, where);
}

void Trainer::step() {
  const BertBatch batch = batches_->next();
  const auto step = static_cast<std::int32_t>(step_);
  Execution execution = compiled_->run(batch, std::span(&step, 1), *state_);
  state_->replace(execution.results);
  read_metrics();  // of the step before: this one is under way meanwhile
  metrics_.emplace(std::move(execution.results.front().back()));
  ++step_;
}

void Trainer::read_metrics() {
  if (!metrics_) return;
  metrics_->copy_to_host(std::as_writable_bytes(std::span(summary_.metrics)));
  metrics_.reset();
  if (!std::isfinite(summary_.metrics[0]))
    throw SystemError(
        str("train: the loss is ", summary_.metrics[0], " at about step ", step_),
        "lower train.learning_rate or raise train.warmup_steps; the last checkpoint is good");
}

void Trainer::save() {
  if (saved_step_ == step_) return;
  read_metrics();
  const HostState host = state_->download();
  save_checkpoint(job_.model_dir, step_, host.tensors, settings_,
                  {.max_to_keep = static_cast<int>(job_.keep)});
  saved_step_ = step_;
}

void Trainer::report(Progress& progress) {
  const auto& m = summary_.metrics;
  std::ostringstream text;
  text << std::fixed << std::setprecision(3) << "loss " << m[0] << ", mlm acc " << m[3]
       << (job_.config.next_sentence ? ", nsp acc " : "");
  if (job_.config.next_sentence) text << m[4];
  text << std::setprecision(1) << ", "
       << static_cast<double>((step_ - summary_.first_step) * job_.config.batch.batch_size) /
              progress.seconds()
       << " seq/s";
  progress.update(step_, text.str());
  if (step_ % job_.log_every == 0)
    progress.line(str("step ", step_, "/", job_.config.schedule.total_steps, ": ", text.str(),
                      ", lr ", m[6], ", grad norm ", m[5]));
}

PretrainSummary Trainer::run() {
  const std::int64_t last = job_.config.schedule.total_steps;
  summary_.first_step = step_;
  batches_.emplace(source_, job_.config.batch.batch_size, step_);
  const StopSignal stop;
  Progress progress("train", last, "steps", step_);
  while (step_ < last && !StopSignal::raised()) {
    step();
    report(progress);
    if (step_ % job_.save_every == 0) save();
  }
  read_metrics();
  save();
  summary_.last_step = step_;
  summary_.train_seconds = progress.seconds();
  summary_.sequences_per_second =
      static_cast<double>((step_ - summary_.first_step) * job_.config.batch.batch_size) /
      summary_.train_seconds;
  if (step_ < last)
    throw SystemError(str("train: stopped by a signal at step ", step_, " of ", last, "; saved"),
                      "run the same command again to go on from there");
  return summary_;
}

}  // namespace

PretrainSummary pretrain(const PretrainJob& job) { return Trainer(job).run(); }

}  // namespace smelt
