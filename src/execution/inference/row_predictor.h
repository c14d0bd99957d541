// One batch of token rows through a trained model.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "execution/train_state/compiled_step.h"
#include "model/tasks/task.h"
#include "pjrt/executable.h"

namespace smelt {

// A text as tokens, and the positions that are asked about, if the prediction takes any.
struct TokenRow {
  std::vector<std::int32_t> ids, positions = {};
};

// A prediction's program with the rows that it is asked about, on one device or a mesh, for any
// state of its model.
class RowPredictor {
 public:
  // `command` begins messages about memory. The prediction's features are input_ids, input_mask,
  // segment_ids of at least as many tokens as the longest row has and, where rows have positions,
  // masked_lm_positions; or inputs alone, padded with 0.
  RowPredictor(std::string_view command, std::shared_ptr<const Client> client,
               const Prediction& prediction, const std::vector<TokenRow>& rows, bool exact_products,
               const ShardingPlan& placement = {});
  // The state's values by name; `where` begins the message where one is missing.
  Execution ask(const SlicedTensors& tensors, const std::string& where) const;

 private:
  std::shared_ptr<const Client> client_;
  Batch batch_;
  StepProgram program_;
  MemoryAdvice advice_;
  CompiledStep step_;
};

// Returns the length, at most `most`, that programs are compiled for and texts of up to `tokens`
// tokens are padded to: one of few.
std::int64_t padded_length(std::int64_t tokens, std::int64_t most);

struct RowModelOptions {
  std::string command;           // begins messages about memory
  std::int64_t most_tokens = 0;  // of a row
  bool exact_products = false;
};

// A trained model on one device that predicts one batch of token rows after another. Its weights
// are put there once, and a program is compiled once for each padded shape: padded_length() tokens,
// and powers of two of rows and positions.
class RowModel {
 public:
  // Makes the prediction for rows of so many tokens and positions, with features as RowPredictor
  // has them.
  using Predictions = std::function<Prediction(std::int64_t tokens, std::int64_t positions)>;
  // The padded shape and the results, of its rows.
  struct Predicted {
    std::int64_t tokens, positions;
    Execution execution;
  };

  // `where` begins the message if one of the tensors is missing.
  RowModel(std::shared_ptr<const Client> client, Predictions predictions, RowModelOptions options,
           std::shared_ptr<const SlicedTensors> tensors, std::string where);
  Predicted predict(const std::vector<TokenRow>& rows);

 private:
  struct Compiled {
    StepProgram program;
    std::unique_ptr<const CompiledStep> step;
  };
  using Shape = std::array<std::int64_t, 3>;  // rows, tokens, positions
  const Compiled& compiled(const Shape& shape);

  std::shared_ptr<const Client> client_;
  Predictions predictions_;
  RowModelOptions options_;
  std::shared_ptr<const SlicedTensors> tensors_;
  std::string where_;
  MemoryAdvice advice_;
  std::map<Shape, Compiled> compiled_;
  std::unique_ptr<const ModelState> state_;  // on the device
};

}  // namespace smelt
