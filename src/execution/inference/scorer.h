// Evaluation of model states on held-out examples. The program is compiled once.
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
}  // namespace smelt

namespace smelt::execution {

struct HeldOut {
  std::string data;              // path of the examples, in the format of open_examples()
  std::int64_t batch_size = 32;  // over all devices
  std::int64_t steps = 0;        // number of batches; 0: all of `data`
  std::int64_t passes = 1;       // evaluations of each batch, each with other random draws
  // Evaluates as the original programs do: drops an incomplete last batch, and reports the mean of
  // the batches' losses.
  bool as_original = false;
  bool repeats = false;   // evaluate exactly `steps` batches, and restart at the end of the data
  bool averages = false;  // evaluate the moving averages of the weights
};

struct Evaluation {
  std::int64_t global_step = 0;
  std::int64_t examples = 0;
  // Mean loss over all items; with as_original, the mean of the batches' losses.
  double loss = 0;
  std::vector<model::MeasuredValue> measures;  // over all batches: losses, then metrics

  // Returns the metric with this name, which must exist, or the mean loss for the name "loss".
  model::MeasuredValue measure(std::string_view name) const;
};

inline constexpr std::string_view kLoss = "loss";
inline constexpr std::string_view kBitsPerCharacter = "bits_per_character";

// Converts a loss per item, in nats, into bits per character. An item stands for
// `characters_per_item` characters of text.
model::MeasuredValue bits_per_character(const model::MeasuredValue& loss,
                                        double characters_per_item);
// Adds bits_per_character, which is loss / ln 2 / characters per token, if the evaluation has a
// masked_lm_loss (nats per masked token) and the description contains the number of characters per
// token.
void add_bits_per_character(const std::optional<data::DataDescription>& description,
                            Evaluation& out);

class Scorer {
 public:
  // Scores every example: padding examples of weight 0 fill up the last batch. A task without
  // row_weights cannot pad and drops an incomplete last batch. `fields` maps "eval.batch_size" and
  // "mesh" to their names in messages. `together` must be true if the devices belong to several
  // processes; all of them must call score(). Throws UsageError if there are fewer examples than
  // one batch, or if the batch size is not a multiple of the number of devices.
  Scorer(std::shared_ptr<const pjrt::Client> client, const model::Task& task,
         const model::ShardingPlan& placement, const model::ComputePolicy& compute,
         const HeldOut& held_out, const Fields& fields, bool together = false);

  // Evaluates `state`, which must be on the placement's devices; uses only its parameters. Throws
  // Stopped if a StopSignal is raised; in a multi-process run every process throws after the batch
  // in which any process was signaled. The watchdog, if any, watches each batch.
  Evaluation score(const ModelState& state, std::int64_t step,
                   smelt::Watchdog* watchdog = nullptr) const;
  // Logs how many of the examples are scored, and warns if some are dropped.
  void announce() const;
  // Reads all batches and computes nothing.
  void read() const;

  const model::StepProgram& program() const { return program_; }
  const data::ExampleSource& source() const { return *source_; }
  std::int64_t batches() const { return batches_; }
  std::int64_t examples() const;  // in all batches
  // Returns the message and hint of an out-of-memory error.
  MemoryAdvice advice(const std::string& what) const;

 private:
  // Returns how many rows of a batch are examples; the others are padding.
  std::int64_t rows_of(std::int64_t batch) const;
  bool pads() const { return !row_weights_.empty(); }
  data::Batch batch(std::int64_t number) const;
  [[noreturn]] void throw_stopped(std::int64_t batches_done) const;

  Fields fields_;
  HeldOut held_out_;
  std::vector<std::size_t> row_weights_;  // indices of features; empty: complete batches only
  std::unique_ptr<const data::ExampleSource> source_;
  std::int64_t batches_;
  model::StepProgram program_;
  CompiledStep compiled_;
};

}  // namespace smelt::execution
