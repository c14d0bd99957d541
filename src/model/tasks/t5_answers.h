// Text generation with a trained T5.
#pragma once

#include <cstdint>

#include "model/models/t5.h"
#include "model/tasks/generation.h"
#include "model/tasks/task.h"

namespace smelt::model {

// Returns the prediction. Inputs: texts `inputs` [S], padded with 0 (a row of zeros is a padding
// row), and for sampling `row` and `seed`: the number of the text, and a seed that is equal in all
// rows. Outputs: ids s32 [B,A,T] and scores f32 [B,A] (model/tasks/generation.h). `words` is the
// number of tokens in the tokenizer. Throws UsageError for invalid search settings.
Prediction t5_answers(const T5Config& model, std::int64_t S, const Search& search,
                      std::int64_t words);

}  // namespace smelt::model
