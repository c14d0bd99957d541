// What a trained T5 answers to texts.
#pragma once

#include <cstdint>

#include "model/models/t5.h"
#include "model/tasks/generation.h"
#include "model/tasks/task.h"

namespace smelt {

// Of texts `inputs` [S], padded with 0, a row of which alone is no text. Where samples are drawn
// also `row` and `seed`, the text's number and the same seed in every row. Outputs: ids s32
// [B,A,T], scores f32 [B,A] (model/tasks/generation.h). `words`: as many as the tokenizer has.
// UsageError for a search that does not fit.
Prediction t5_answers(const T5Config& model, std::int64_t S, const Search& search,
                      std::int64_t words);

}  // namespace smelt
