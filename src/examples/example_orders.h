// The two ways from text to example files; bert_examples.h chooses.
#pragma once

#include <string>
#include <vector>

#include "examples/bert_examples.h"

namespace smelt {

// A checked job: patterns are expanded, the vocabulary is read.
struct ExampleBuild {
  const BertExamplesJob& job;
  const CorpusReader& reader;
  std::vector<std::string> inputs, outputs;
};

void log_files(std::string_view title, const std::vector<std::string>& files);
// The outputs and the files that stand beside them: indexes, the description.
std::vector<std::string> with_companions(std::vector<std::string> outputs);
// UsageError when an output exists and must not be replaced.
void check_free(const ExampleBuild& build);

// What the examples were made with, so that a training can tell whether they fit its model.
void write_description(const ExampleBuild& build, const BuildSummary& summary);

BuildSummary build_in_original_order(const ExampleBuild& build);
BuildSummary build_in_shuffled_order(const ExampleBuild& build);

}  // namespace smelt
