// Held-out examples scored by a model, by a program that is compiled once for many states.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/example_source.h"
#include "state/compiled_step.h"
#include "step/report.h"

namespace smelt {

class Watchdog;

struct HeldOut {
  std::string data;              // as open_examples takes it
  std::int64_t batch_size = 32;  // over all devices
  std::int64_t steps = 0;        // batches; 0 = all whole batches of `data`, or, of a task that
                                 // has row_weights, all examples
  std::int64_t passes = 1;       // of each batch, with other draws
  bool repeats = false;          // so many steps even where the data are fewer, as the original
  bool averages = false;         // the state's averages of weights are scored
};

struct Evaluation {
  std::int64_t global_step = 0;
  std::int64_t examples = 0;
  double loss = 0;  // the mean of the batches' losses, as the original has it, by their examples
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
  // `fields` says what messages call "eval.batch_size" and "mesh". UsageError when the data hold
  // fewer examples than one batch (but of a task with row_weights), or a batch does not divide over
  // the devices. `together`: the devices are those of several processes, which score together.
  Scorer(std::shared_ptr<const Client> client, const Task& task, const Placement& placement,
         const Compute& compute, const HeldOut& held_out, const Fields& fields,
         bool together = false);

  // The state's values, on the placement's devices; whatever else is in it is not looked at.
  // Throws Stopped if a StopSignal is raised: of several processes in all of them, after the batch
  // in which one had it. The watchdog, if any, watches each batch.
  Evaluation score(const ModelState& state, std::int64_t step, Watchdog* watchdog = nullptr) const;
  // Logs how many examples it takes of how many there are.
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
  // Rows of a batch that are examples; those behind them fill it up.
  std::int64_t rows_of(std::int64_t batch) const;
  Batch batch(std::int64_t number) const;
  [[noreturn]] void throw_stopped(std::int64_t batches_done) const;

  Fields fields_;
  HeldOut held_out_;
  std::optional<std::size_t> row_weights_;  // which feature
  std::unique_ptr<const ExampleSource> source_;
  std::int64_t batches_;
  StepProgram program_;
  CompiledStep compiled_;
};

}  // namespace smelt
