#include "data/preprocess/glue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/nearest_name.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::data {
namespace {

// Returns a task with the column numbers {text, pair, label}.
GlueTask of_columns(std::vector<std::string> names, std::vector<std::string> labels,
                    std::array<std::string, 3> columns) {
  GlueTask out{.names = std::move(names)};
  out.labels = std::move(labels);
  out.text = columns[0];
  out.pair = columns[1];
  out.label = columns[2];
  return out;
}

// Adds the test files, whose columns differ from those of rows with labels
// (classification_tasks.py).
void add_tests(std::vector<GlueTask>& tasks) {
  for (GlueTask& task : tasks)
    task.tests = {{.file = "test", .submission = task.names.at(1), .text = "2", .pair = "3"}};
  const auto of = [&](const char* name) -> std::vector<GlueTest>& {
    return std::ranges::find(tasks, name, &GlueTask::name)->tests;
  };
  for (const char* of_one_text : {"cola", "sst"}) of(of_one_text)[0].pair = "";
  of("mrpc")[0].text = "4";
  of("mrpc")[0].pair = "5";
  of("sts")[0].text = "-2";
  of("sts")[0].pair = "-1";
  of("mnli") = {
      {.file = "test_matched", .submission = "MNLI-m", .text = "9", .pair = "10"},
      {.file = "test_mismatched", .submission = "MNLI-mm", .text = "9", .pair = "10"},
      {.file = "diagnostic", .submission = "AX", .text = "2", .pair = "3", .is_needed = false}};
}

std::vector<GlueTask> made_tasks() {
  const std::vector<std::string> two{"0", "1"}, entailed{"entailment", "not_entailment"};
  GlueTask cola = of_columns({"cola", "CoLA"}, two, {"4", "", "2"});
  cola.header = text::Header::none;
  cola.measures = {"matthews"};
  cola.metric = "matthews";
  GlueTask mrpc = of_columns({"mrpc", "MRPC"}, two, {"4", "5", "1"});
  mrpc.both_orders = true;
  GlueTask qqp = of_columns({"qqp", "QQP"}, two, {"4", "5", "6"});
  for (GlueTask* paraphrases : {&mrpc, &qqp}) {
    paraphrases->measures = {"f1", "accuracy"};
    paraphrases->metric = "f1:1";
  }
  GlueTask sts = of_columns({"sts", "STS-B", "stsb"}, {}, {"-3", "-2", "-1"});
  sts.problem = io::Problem::regression;
  sts.both_orders = true;
  sts.measures = {"pearson", "spearman"};
  sts.metric = "pearson";
  GlueTask mnli =
      of_columns({"mnli", "MNLI"}, {"contradiction", "entailment", "neutral"}, {"9", "10", "-1"});
  mnli.dev = "dev_matched";
  mnli.other = "dev_mismatched";
  std::vector<GlueTask> out{cola,
                            of_columns({"sst", "SST-2", "sst2"}, two, {"1", "", "2"}),
                            mrpc,
                            qqp,
                            sts,
                            mnli,
                            of_columns({"qnli", "QNLI"}, entailed, {"2", "3", "4"}),
                            of_columns({"rte", "RTE"}, entailed, {"2", "3", "4"}),
                            of_columns({"wnli", "WNLI"}, two, {"2", "3", "4"})};
  add_tests(out);
  return out;
}

}  // namespace

const std::vector<GlueTask>& glue_tasks() {
  static const std::vector<GlueTask> kTasks = made_tasks();
  return kTasks;
}

const GlueTask& glue_task(const std::string& name, const std::string& what) {
  const std::string small = lower_case(name);
  std::vector<std::string> known;
  for (const GlueTask& task : glue_tasks()) {
    for (const std::string& one : task.names)
      if (lower_case(one) == small) return task;
    known.push_back(task.name());
  }
  throw UsageError(str(what, ": GLUE has no task '", name, "'"), did_you_mean(small, known));
}

GlueFiles glue_files(const GlueTask& task, const std::string& folder) {
  std::vector<std::string> places{folder};
  for (const std::string& name : task.names) places.push_back(io::join_path(folder, name));
  const auto found = std::ranges::find_if(places, [](const std::string& place) {
    return io::exists(io::join_path(place, "train.tsv"));
  });
  const std::string place =
      found == places.end() ? io::join_path(folder, task.names.at(1)) : *found;
  return {.folder = place,
          .train = io::join_path(place, "train.tsv"),
          .dev = io::join_path(place, task.dev + ".tsv"),
          .other = task.other.empty() ? "" : io::join_path(place, task.other + ".tsv")};
}

LabelledFiles glue_rows(const GlueTask& task, const std::string& input) {
  return {.input = input,
          .format = text::FileFormat::tsv,
          .text = task.text,
          .pair = task.pair,
          .label = task.label,
          .header = task.header};
}

LabelledFiles glue_test_rows(const GlueTest& test, const std::string& input) {
  return {.input = input,
          .format = text::FileFormat::tsv,
          .text = test.text,
          .pair = test.pair,
          .label = "",
          .header = text::Header::skipped,
          .takes_empty = true,
          .limits = {.strict = true}};
}

}  // namespace smelt::data
