// What a run tells of itself while it goes on: lines for a person, metrics.jsonl
// (docs/reference/formats/metrics.md), TensorBoard's scalars, and what its time goes into.
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

namespace smelt {

// What a line of the log is made from.
struct LogPoint {
  std::int64_t step = 0, total = 0;
  std::int64_t first_step = 0;  // > 0 when resumed
  double seconds = 0;           // since then
  double loss = 0;              // the mean since the last line
};

// What a run tells of itself every check_every steps, and at its end.
struct TrainCheck {
  std::int64_t first_step = 0;  // > 0 when resumed
  std::int64_t step = 0;
  // Over the steps since the check before; none where a check that was cut is made again.
  std::vector<MeasuredValue> trained;
  std::optional<Evaluation> validation;
  std::vector<ParameterScale> parameters;
};

// A figure of a check under the names that it is told by.
struct CheckedFigure {
  std::string tag;   // TensorBoard's: "train/valid_loss"
  std::string name;  // the log's: "valid_loss"
  double value = 0;
};
// "train/<measure>" and "valid/<measure>".
std::vector<CheckedFigure> check_figures(const TrainCheck& check);

struct TrackChoice {
  std::int64_t log_every = 100;                               // steps
  std::function<std::string(const LogPoint&)> log_line = {};  // where it is not to be smelt's own
  std::function<std::vector<CheckedFigure>(const TrainCheck&)> figures = check_figures;
  // What the state at hand makes of texts at each check; made once the device is open, for the
  // placement that the sampler gets.
  std::function<std::unique_ptr<const TextSampler>(std::shared_ptr<const Client>,
                                                   const ShardingPlan&)>
      sampler = {};
  std::int64_t histograms_every = 0;  // steps; 0: none
  bool gradient_histograms = false;   // with the others; another program is compiled for them
  Json settings = {};  // of the run, for who looks at it; null: those of its checkpoints
};

// What is known of a run before its first step.
struct RunFacts {
  std::string folder;  // the model's, that gets metrics.jsonl and train/; empty: nothing is written
  std::int64_t step = 0, total = 0, batch_size = 0, devices = 1;
  std::uint64_t examples = 0;
  std::int64_t parameters = 0;
  std::string device_kind;
  DType products = DType::f32;  // in which they are multiplied
  bool exact_products = false;
  Json settings, data;  // what is trained; the data's description or null
};

// Nothing is written before begin(). Of one thread.
class RunLog {
 public:
  // The task must outlive it.
  RunLog(const Task& task, TrackChoice choice);

  // What the time of this thread goes into meanwhile.
  [[nodiscard]] GoodputTimer::During during(GoodputBucket what) { return clock_.during(what); }

  void begin(const RunFacts& facts, ReportLayout report);
  // The program is compiled and the state there: steps follow. `cost` is program_cost()'s.
  void ready(const Record& cost = Record::object());
  // The batch of the next step that is started.
  void batch_started(const Batch& batch);
  // The report of a step that has ended.
  void step_done(std::int64_t step, std::span<const float> report);
  void check(const TrainCheck& check);
  // The run goes on from an earlier step: what was told of later ones is taken back.
  void went_back(std::int64_t step);
  // A checkpoint of the step is there.
  void saved(std::int64_t step);
  // What a TextSampler of this kind has made of the state.
  void sampled(std::int64_t step, const std::string& kind, const std::vector<TextSample>& samples);
  bool wants_histograms(std::int64_t step) const;
  // TensorBoard's of the values of a state, of what the step has added to them and, if they are
  // there, of its gradients.
  void histograms(std::int64_t step, const StateLayout& layout, const HostState& before,
                  const HostState& after, const HostState* gradients);
  // "done", "stopped" or "failed", with the message of what happened.
  void end(std::int64_t step, std::string_view why, std::string_view message = {});

  // Since ready().
  double seconds() const { return progress_ ? progress_->seconds() : 0; }

 private:
  Record start_fields() const;
  Record means() const;
  void add_rates(Record& figures, std::int64_t step);
  void tell_line(std::int64_t step);
  double seconds_left(std::int64_t step) const;
  std::int64_t tokens_in(const Batch& batch) const;
  void tally();
  void record(std::string_view kind, std::int64_t step, const Record& fields);
  void add_events(const std::function<void(EventLog&)>& add);

  const Task& task_;
  TrackChoice choice_;
  std::optional<std::size_t> token_feature_;  // of the batch's arrays
  double flops_per_example_ = 0;
  GoodputTimer clock_{GoodputBucket::preparation};
  RunFacts facts_;
  std::optional<double> peak_;  // operations a second of all devices
  std::optional<Progress> progress_;
  std::optional<MetricsFile> metrics_;
  std::unique_ptr<EventLog> events_;
  std::optional<ReportSums> since_line_;
  std::optional<ReportSums> last_;
  std::deque<std::int64_t> tokens_ahead_;  // of steps that have not ended
  std::int64_t tokens_ = 0, line_step_ = 0;
  SpentTimes since_record_, line_times_;
  bool has_failed_ = false;
};

}  // namespace smelt
