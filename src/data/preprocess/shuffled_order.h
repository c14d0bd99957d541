// Builds examples of any kind in shuffled order. The output does not depend on the number of
// threads, the memory, or how the text is split into files at document boundaries. Memory does not
// grow with the corpus, and an interrupted run resumes.
#pragma once

#include "data/preprocess/example_builder.h"
#include "data/preprocess/example_job.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt::data {

// Writes the outputs atomically. Throws UsageError if an output exists, the text has no tokens, or
// the work folder belongs to something else or to other examples.
ExampleSummary build_in_shuffled_order(const CheckedJob& checked, const text::Tokenizer& tokenizer,
                                       const ExampleBuilder& builder);

}  // namespace smelt::data
