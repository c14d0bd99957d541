// The nine tasks of GLUE (Wang et al. 2018): their row files as downloaded and as read by
// google-research/electra's finetune/classification/classification_tasks.py. WNLI, which that
// program lacks, has the format of RTE.
#pragma once

#include <string>
#include <vector>

#include "data/preprocess/labelled_rows.h"

namespace smelt::data {

// A test set without labels, whose predictions gluebenchmark.com scores.
struct GlueTest {
  std::string file, submission;  // without ".tsv": "test_matched", "MNLI-m"
  std::string text, pair = {};   // column numbers
  bool is_needed = true;         // false: the file may be missing
};

struct GlueTask {
  std::vector<std::string> names;  // ELECTRA's name first, then the name of the download's folder
  io::Problem problem = io::Problem::single_label;
  std::vector<std::string> labels = {};  // in ELECTRA's order; empty for regression
  text::Header header = text::Header::skipped;
  std::string text = {}, pair = {}, label = {};  // column numbers; pair may be empty
  // Whether the order of the two texts is irrelevant. ELECTRA then trains on both orders.
  bool both_orders = false;
  std::vector<std::string> measures = {"accuracy"};  // GLUE's evaluation metrics for the task
  std::string metric = "accuracy";                   // main metric, from evaluation/metrics/named.h
  // File names without ".tsv". `other` is MNLI's second dev set, with text from other genres.
  std::string dev = "dev", other = {};
  std::vector<GlueTest> tests = {};

  const std::string& name() const { return names.front(); }
};

const std::vector<GlueTask>& glue_tasks();
// Returns a task by any of its names, ignoring case. Throws UsageError, beginning with `what`, for
// an unknown name.
const GlueTask& glue_task(const std::string& name, const std::string& what);

struct GlueFiles {
  std::string folder, train, dev, other;  // `other` is empty if the task has none
};
// Returns the files in the folder or in a subfolder named after the task, such as "glue_data/MRPC".
// If neither has a train.tsv, uses the download's names.
GlueFiles glue_files(const GlueTask& task, const std::string& folder);

// Returns the settings for reading a train or dev file of the task.
LabelledFiles glue_rows(const GlueTask& task, const std::string& input);
// Returns the column settings for a test file, in which rows with an empty text are kept.
LabelledFiles glue_test_rows(const GlueTest& test, const std::string& input);

}  // namespace smelt::data
