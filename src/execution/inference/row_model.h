// Batched inference with a trained model on rows of tokens.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/storage/slices.h"
#include "execution/train_state/compiled_step.h"
#include "execution/train_state/model_state.h"
#include "model/tasks/task.h"
#include "model/train_step/sharding_plan.h"
#include "pjrt/executable.h"

namespace smelt::execution {

// A tokenized text. `positions` are the positions to predict, if the prediction takes any; `labels`
// are the tokens to score there.
struct TokenRow {
  std::vector<std::int32_t> ids, positions = {}, labels = {};
};

// Weights by name in host memory.
struct HostWeights {
  std::shared_ptr<const checkpoint::SlicedTensors> tensors = {};
  std::string where = {};  // begins the message if a tensor is missing
};

// Returns the length, at most `most`, to which texts of up to `tokens` tokens are padded. It is one
// of a few lengths, so that few programs are compiled.
std::int64_t padded_length(std::int64_t tokens, std::int64_t most);

struct RowModelOptions {
  std::string command;  // begins the message of an out-of-memory error
  // The hint of that error.
  std::string hint = "give fewer texts at a time, or shorter ones";
  std::int64_t most_tokens = 0;  // maximum length of a row
  bool exact_products = false;   // HloForm::exact_products
  model::ShardingPlan placement = {};
};

// A model on one device or a mesh that predicts one batch of token rows after another. Copies its
// weights to the devices once, and compiles a program once for each padded shape: padded_length()
// tokens, and numbers of rows and of positions rounded up to powers of two.
class RowModel {
 public:
  // Returns the prediction for rows of this many tokens and positions. An encoder's features are
  // input_ids, input_mask, segment_ids and, if rows have them, masked_lm_positions and
  // masked_lm_ids. A T5 has the single feature `inputs`, padded with 0.
  using Predictions = std::function<model::Prediction(std::int64_t tokens, std::int64_t positions)>;
  // The padded shape and the results.
  struct Predicted {
    std::int64_t tokens, positions;
    pjrt::Execution execution;
  };

  RowModel(std::shared_ptr<const pjrt::Client> client, Predictions predictions,
           RowModelOptions options, HostWeights weights = {});
  // Predicts with other weights of the same model from now on. Frees the previous weights on the
  // device; the next predict() copies the new ones there. take({}) only frees memory.
  void take(HostWeights weights);
  // Compiles the program for these rows in advance, so that predict() does not have to.
  void prepare(const std::vector<TokenRow>& rows);
  Predicted predict(const std::vector<TokenRow>& rows);

  // The rows, tokens and positions of a batch.
  using Shape = std::array<std::int64_t, 3>;
  // Returns the features of batches of this shape. Compiles their program if necessary.
  const io::Features& features(const Shape& shape);
  // Starts the program for a batch of this shape, which has features(shape). Does not wait for the
  // results.
  pjrt::Execution start(const data::Batch& batch, const Shape& shape);
  // Waits for the first result and returns it. Throws UsageError if the device is out of memory.
  std::vector<float> values(const pjrt::Execution& execution) const;

 private:
  struct Compiled {
    model::StepProgram program;
    std::unique_ptr<const CompiledStep> step;
  };
  Shape shape_of(const std::vector<TokenRow>& rows) const;
  const Compiled& compiled(const Shape& shape);

  std::shared_ptr<const pjrt::Client> client_;
  Predictions predictions_;
  RowModelOptions options_;
  HostWeights weights_;
  MemoryAdvice advice_;
  std::map<Shape, Compiled> compiled_;
  std::unique_ptr<const ModelState> state_;  // on the device
};

}  // namespace smelt::execution
