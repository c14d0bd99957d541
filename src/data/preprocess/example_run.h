// A job from its drawn examples to its files, in whichever order they were drawn; a run that was
// killed goes on with what was drawn.
#pragma once

#include <functional>
#include <string_view>

#include "data/preprocess/example_builder.h"
#include "data/preprocess/example_job.h"
#include "data/preprocess/example_shuffle.h"

namespace smelt {

struct DrawnExamples {
  ShuffledExamples examples;
  CorpusCounts text;
};
// Puts its temporary files into the options' folder.
using DrawExamples = std::function<DrawnExamples(const ShuffleOptions&)>;

// Checks everything, then goes on with what an earlier run has drawn, or draws. The outputs appear
// whole. UsageError for an output that exists already, a work folder that is not ours or of other
// examples. `order` is the description's.
ExampleSummary run_examples(const CheckedJob& checked, const ExampleBuilder& builder,
                            std::string_view order, const DrawExamples& draw);

// Logs how many sentences were split because examples are much shorter.
void log_split_sentences(const CorpusCounts& text);

// Warns if less than half of the text's tokens are in examples, of which each pass over the text
// holds `kept` tokens: a line is a sentence, and what is longer than an example is cut off.
void warn_of_long_lines(std::uint64_t kept, const CorpusCounts& text);

}  // namespace smelt
