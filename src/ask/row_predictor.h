// One batch of token rows through a trained model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/executable.h"
#include "state/compiled_step.h"
#include "tasks/task.h"

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
               const Placement& placement = {});
  // The state's values by name; `where` begins the message where one is missing.
  Execution ask(const SlicedTensors& tensors, const std::string& where) const;

 private:
  std::shared_ptr<const Client> client_;
  Batch batch_;
  StepProgram program_;
  MemoryAdvice advice_;
  CompiledStep step_;
};

}  // namespace smelt
