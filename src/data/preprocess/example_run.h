// Runs a job from drawing examples to writing its files, in any order. An interrupted run resumes
// from the drawn examples.
#pragma once

#include <functional>
#include <string_view>

#include "data/preprocess/example_builder.h"
#include "data/preprocess/example_job.h"
#include "data/preprocess/example_shuffle.h"

namespace smelt::data {

struct DrawnExamples {
  ShuffledExamples examples;
  CorpusCounts text;
};
// Draws the examples. Temporary files go to the folder in the options.
using DrawExamples = std::function<DrawnExamples(const ShuffleOptions&)>;

// Checks the job, resumes from an earlier run's drawn examples or draws them, and writes the
// outputs atomically. `order` is stored in the description. Throws UsageError if an output exists,
// or if the work folder belongs to something else or to other examples.
ExampleSummary run_examples(const CheckedJob& checked, const ExampleBuilder& builder,
                            std::string_view order, const DrawExamples& draw);

// Logs how many sentences were split because examples are much shorter.
void log_split_sentences(const CorpusCounts& text);

// Logs a warning if less than half of the text's tokens are in examples. This happens if each
// line is read as one sentence and lines are longer than an example. `kept` is the number of tokens
// in examples per pass over the text.
void warn_of_long_lines(std::uint64_t kept, const CorpusCounts& text);

}  // namespace smelt::data
