// Held-out examples scored by a model, by a program that is compiled once for many states.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/input_pipeline/example_source.h"
#include "execution/train_state/compiled_step.h"
#include "model/train_step/report.h"

namespace smelt {

class Watchdog;

struct HeldOut {
  std::string data;              // as open_examples takes it
  std::int64_t batch_size = 32;  // over all devices
  std::int64_t steps = 0;        // batches; 0: all of `data`
  std::int64_t passes = 1;       // of each batch, with other draws
  // As the original programs evaluate: a last batch that is not full is dropped, and the loss is
  // the mean of the batches' losses.
  bool as_original = false;
  bool repeats = false;   // exactly `steps` batches, starting over at the end of the data
  bool averages = false;  // the state's averages of weights are scored
};

struct Evaluation {
  std::int64_t global_step = 0;
  std::int64_t examples = 0;
  double loss =
      0;  // the losses over all items, added up; as_original: the mean of the batches' losses
  std::vector<MeasuredValue> measures;  // over all items of all batches: losses, then metrics

  // A name that the task has not is a bug.
  const MeasuredValue& measure(std::string_view name) const;
};

inline constexpr std::string_view kBitsPerCharacter = "bits_per_character";

// Converts a loss per item in nats into bits per character. An item stands for
// `characters_per_item` characters of text.
MeasuredValue bits_per_character(const MeasuredValue& loss, double characters_per_item);
// Adds bits_per_character to an evaluation with a masked_lm_loss (nats per masked token), if the
// description says how many characters of the text a token stands for: the loss / ln 2 / characters
// per token.
void add_bits_per_character(const std::optional<DataDescription>& description, Evaluation& out);

class Scorer {
 public:
  // Scores every example: padding examples of weight 0 fill up the last batch. A task without
  // row_weights cannot have them and drops that batch. `fields` says what messages call
  // "eval.batch_size" and "mesh". `together`: the devices are those of several processes, which
  // score together. Throws UsageError if there is no batch, or if a batch does not divide over the
  // devices.
  Scorer(std::shared_ptr<const Client> client, const Task& task, const ShardingPlan& placement,
         const ComputePolicy& compute, const HeldOut& held_out, const Fields& fields,
         bool together = false);

  // The state's values, on the placement's devices; whatever else is in it is not looked at.
  // Throws Stopped if a StopSignal is raised: of several processes in all of them, after the batch
  // in which one had it. The watchdog, if any, watches each batch.
  Evaluation score(const ModelState& state, std::int64_t step, Watchdog* watchdog = nullptr) const;
  // Logs how many of the examples are scored, and warns if some are dropped.
  void announce() const;
  // Reads all batches and computes nothing.
  void read() const;

  const StepProgram& program() const { return program_; }
  const ExampleSource& source() const { return *source_; }
  std::int64_t batches() const { return batches_; }
  std::int64_t examples() const;  // of all batches
  // For what does not fit into a device's memory.
  MemoryAdvice advice(const std::string& what) const;

 private:
  // Returns how many rows of a batch are examples; the others are padding.
  std::int64_t rows_of(std::int64_t batch) const;
  bool pads() const { return !row_weights_.empty(); }
  Batch batch(std::int64_t number) const;
  [[noreturn]] void throw_stopped(std::int64_t batches_done) const;

  Fields fields_;
  HeldOut held_out_;
  std::vector<std::size_t> row_weights_;  // which features; empty: whole batches only
  std::unique_ptr<const ExampleSource> source_;
  std::int64_t batches_;
  StepProgram program_;
  CompiledStep compiled_;
};

}  // namespace smelt
