// The nine tasks of GLUE (Wang et al. 2018): files of rows, as its download has them and
// google-research/electra's finetune/classification/classification_tasks.py reads them; WNLI, which
// that lacks, has RTE's form.
#pragma once

#include <string>
#include <vector>

#include "data/preprocess/labelled_rows.h"

namespace smelt {

// Rows without labels, whose predictions gluebenchmark.com scores.
struct GlueTest {
  std::string file, submission;  // without ".tsv": "test_matched", "MNLI-m"
  std::string text, pair = {};   // numbers of columns
  bool is_needed = true;         // else it is left out where it is not there
};

struct GlueTask {
  std::vector<std::string> names;  // the first is ELECTRA's, the second the download's folder
  Problem problem = Problem::single_label;
  std::vector<std::string> labels = {};  // in ELECTRA's order; none of numbers
  Header header = Header::skipped;
  std::string text = {}, pair = {}, label = {};  // numbers of columns; pair may be empty
  // Whether the order of the two texts says nothing: ELECTRA trains on both.
  bool both_orders = false;
  std::vector<std::string> measures = {"accuracy"};  // of an evaluation, that GLUE tells it by
  std::string metric = "accuracy";      // the first of them in evaluation/metrics/named.h
  std::string dev = "dev", other = {};  // files without ".tsv"; MNLI has one of other genres
  std::vector<GlueTest> tests = {};

  const std::string& name() const { return names.front(); }
};

const std::vector<GlueTask>& glue_tasks();
// By any of its names, capitals and all. UsageError, which `what` begins, for an unknown one.
const GlueTask& glue_task(const std::string& name, const std::string& what);

struct GlueFiles {
  std::string folder, train, dev, other;  // the last empty where the task has none
};
// Those in the folder, or in one below it that is called by the task: "glue_data/MRPC". Where
// neither holds a train.tsv the names are those of the download.
GlueFiles glue_files(const GlueTask& task, const std::string& folder);

// The columns, for files with such rows.
LabelledFiles glue_rows(const GlueTask& task, const std::string& input);
// The same of a test, each row of which is one, an empty text's too.
LabelledFiles glue_test_rows(const GlueTest& test, const std::string& input);

}  // namespace smelt
