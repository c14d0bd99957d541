// Examples of any kind in a shuffled order: the same bytes for any number of threads, any memory
// and any cutting of the text into files at document boundaries. Memory does not grow with the
// corpus, and a killed run goes on.
#pragma once

#include "data/preprocess/example_builder.h"
#include "data/preprocess/example_job.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt {

// The outputs appear whole. UsageError for an output that exists already, text without a token, a
// work folder that is not ours or of other examples.
ExampleSummary build_in_shuffled_order(const CheckedJob& checked, const Tokenizer& tokenizer,
                                       const ExampleBuilder& builder);

}  // namespace smelt
