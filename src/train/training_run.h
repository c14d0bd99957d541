// A training run under way; for trainer.cpp and training_setup.cpp alone.
#pragma once

#include <memory>
#include <optional>

#include "base/watchdog.h"
#include "data/prefetch.h"
#include "state/compiled_step.h"
#include "store/folder_lock.h"
#include "train/gradient_values.h"
#include "train/saver.h"
#include "train/spike_record.h"
#include "train/trainer.h"

namespace smelt {

class Trainer {
 public:
  explicit Trainer(const TrainJob& job);
  TrainSummary run();

 private:
  void introduce() const;
  void leave_the_way_behind() const;
  void compile();
  Placement filling_placement() const;
  void begin_log();
  Batch next_batch();
  void step(const Batch& batch);
  void step_with_histograms();
  void read_report();
  [[noreturn]] void stop_at_bad_step(double loss, double norm);
  void rewind();
  void read_from(std::int64_t step);
  void pause(bool check, bool save);
  void wait_for_save();
  const HostState& host_of(StateCopy& copy);
  std::optional<double> check(const HostState& host);
  std::vector<FilledText> filled(const SlicedTensors& weights);
  void tell_saved();
  void read_data();
  void take_steps();
  void run_steps();
  MemoryAdvice advice(const std::string& what) const {
    return advice_for_training(what, job_.fields);
  }

  const TrainJob& job_;
  RunLog log_;
  std::optional<FolderLock> lock_;
  std::shared_ptr<const ExampleSource> source_;
  std::shared_ptr<const Client> client_;
  nlohmann::json settings_;  // that a checkpoint must have been made with
  StepProgram program_;
  TrainSummary summary_;
  std::optional<CompiledStep> compiled_;
  std::optional<Scorer> scorer_;
  std::unique_ptr<const MaskFiller> filler_;
  std::optional<GradientValues> gradients_;  // where they are looked at
  std::optional<TakenWeights> taken_;        // until the state is there
  std::optional<ModelState> state_;
  std::optional<Watchdog> watchdog_;
  std::optional<Saver> saver_;  // whose thread the watchdog watches, too
  std::optional<Prefetch> batches_;
  std::optional<Buffer> report_;  // of the newest step, not yet read
  ReportSums since_check_, last_;
  std::int64_t step_ = 0, told_saved_ = -1;
  std::int64_t steps_before_ = 0;  // of the run that the weights are of, where they count
  std::int64_t first_batch_ = 0;   // of step 0 of all
  SpikeRecord spikes_;
  std::optional<std::int64_t> spike_at_;  // the step from which to go back
  bool check_cut_ = false;                // by a signal
  bool unchecked_ = false;                // the state to begin with
};

}  // namespace smelt
