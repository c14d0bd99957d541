// The log of a training run: lines for people, metrics.jsonl (docs/reference/formats/metrics.md),
// TensorBoard events, and goodput.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "data/input_pipeline/batch.h"
#include "evaluation/tracking/event_log.h"
#include "evaluation/tracking/goodput_timer.h"
#include "evaluation/tracking/metrics_file.h"
#include "execution/inference/scorer.h"
#include "execution/inference/text_sampler.h"
#include "execution/train_state/parameter_scales.h"
#include "model/tasks/task.h"
#include "model/train_step/report.h"
#include "pjrt/client.h"
#include "train/training_clock.h"

namespace smelt::train {

// The values of a log line.
struct LogPoint {
  std::int64_t step = 0, total = 0;
  std::int64_t first_step = 0;  // > 0 if the run was resumed
  double seconds = 0;           // since the first step
  double loss = 0;              // mean since the last line
};

// The results of an evaluation during training: every check_every steps, and at the end.
struct TrainCheck {
  std::int64_t first_step = 0;  // > 0 if the run was resumed
  std::int64_t step = 0;
  // Metrics over the training steps since the last evaluation; empty if an interrupted evaluation
  // is repeated.
  std::vector<model::MeasuredValue> trained;
  std::optional<execution::Evaluation> validation;
  std::vector<execution::ParameterScale> parameters;
};

// A metric of an evaluation with its names.
struct CheckedFigure {
  std::string tag;   // TensorBoard's: "train/valid_loss"
  std::string name;  // the log's: "valid_loss"
  double value = 0;
};
// Returns the metrics of an evaluation as "train/<metric>" and "valid/<metric>".
std::vector<CheckedFigure> check_figures(const TrainCheck& check);

struct TrackChoice {
  std::int64_t log_every = 100;                               // steps
  std::function<std::string(const LogPoint&)> log_line = {};  // replaces smelt's own log line
  std::function<std::vector<CheckedFigure>(const TrainCheck&)> figures = check_figures;
  // Creates the sampler that shows predictions for texts at each evaluation. Called once the device
  // is open, with the placement for the sampler.
  std::function<std::unique_ptr<const execution::TextSampler>(std::shared_ptr<const pjrt::Client>,
                                                              const model::ShardingPlan&)>
      sampler = {};
  std::int64_t histograms_every = 0;  // steps; 0: none
  // Adds gradient histograms, which need another compiled program.
  bool gradient_histograms = false;
  Json settings = {};  // settings for metrics.jsonl; null: those of the checkpoints
};

// Facts about a run that are known before its first step.
struct RunFacts {
  std::string folder;  // model folder for metrics.jsonl and train/; empty: write nothing
  std::int64_t step = 0, total = 0, batch_size = 0, devices = 1;  // total: 0 if unknown
  std::uint64_t examples = 0;
  std::int64_t parameters = 0;
  double flops_per_example = 0;  // training_flops()
  std::string device_kind;
  compiler::DType products = compiler::DType::f32;  // data type of matmuls
  bool exact_products = false;
  Json settings;  // of the run
  Json data;      // the description of the training data; null if there is none
  std::shared_ptr<const TrainingClock> clock = {};  // if the length of the run is a time
};

// Writes the log of a run. Nothing is written before begin(). Not thread-safe.
class RunLog {
 public:
  // The task must outlive this object.
  RunLog(const model::Task& task, TrackChoice choice);

  // Counts time in this goodput category during the lifetime of the result.
  [[nodiscard]] evaluation::GoodputTimer::During during(evaluation::GoodputBucket what) {
    return clock_.during(what);
  }

  void begin(const RunFacts& facts, model::ReportLayout report);
  // Call this once the program is compiled and the state is on the devices. `cost` is from
  // program_cost().
  void ready(const evaluation::Record& cost = evaluation::Record::object());
  // Records the batch of the next step that is started.
  void batch_started(const data::Batch& batch);
  // Records the report of a completed step.
  void step_done(std::int64_t step, std::span<const float> report);
  void check(const TrainCheck& check);
  // Rolls back to an earlier step: removes what was logged about later ones.
  void went_back(std::int64_t step);
  // Records a saved checkpoint.
  void saved(std::int64_t step);
  // Logs the samples of a TextSampler of this kind.
  void sampled(std::int64_t step, const std::string& kind,
               const std::vector<execution::TextSample>& samples);
  bool wants_histograms(std::int64_t step) const;
  // Writes TensorBoard histograms of the parameters, of the updates that the step made, and of the
  // gradients if they are given.
  void histograms(std::int64_t step, const model::StateLayout& layout,
                  const execution::HostState& before, const execution::HostState& after,
                  const execution::HostState* gradients);
  // Records the end of the run. `why` is "done", "stopped" or "failed"; `message` is the error.
  void end(std::int64_t step, std::string_view why, std::string_view message = {});

  // Returns the seconds since ready().
  double seconds() const { return progress_ ? progress_->seconds() : 0; }

 private:
  evaluation::Record start_fields() const;
  evaluation::Record means() const;
  void add_rates(evaluation::Record& figures, std::int64_t step);
  void log_line(std::int64_t step);
  double seconds_left(std::int64_t step) const;
  std::int64_t tokens_in(const data::Batch& batch) const;
  void tally();
  void record(std::string_view kind, std::int64_t step, const evaluation::Record& fields);
  void add_events(const std::function<void(evaluation::EventLog&)>& add);

  const model::Task& task_;
  TrackChoice choice_;
  std::optional<std::size_t> token_feature_;  // index of the batch array with tokens
  double flops_per_example_ = 0;
  evaluation::GoodputTimer clock_{evaluation::GoodputBucket::preparation};
  RunFacts facts_;
  std::optional<double> peak_;  // FLOP/s of all devices
  std::optional<Progress> progress_;
  std::optional<evaluation::MetricsFile> metrics_;
  std::unique_ptr<evaluation::EventLog> events_;
  std::optional<model::ReportSums> since_line_;
  std::optional<model::ReportSums> last_;
  std::deque<std::int64_t> tokens_ahead_;  // token counts of steps that have not ended
  std::int64_t tokens_ = 0, line_step_ = 0;
  evaluation::SpentTimes since_record_, line_times_;
  bool has_failed_ = false;
};

}  // namespace smelt::train
