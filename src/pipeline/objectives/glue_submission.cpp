#include "pipeline/objectives/glue_submission.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/stop_signal.h"
#include "data/preprocess/glue.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/objectives/pretrained_model.h"

namespace smelt::pipeline {
namespace {

constexpr std::int64_t kBatchesAtOnce = 64;

// Formats a prediction for a submission: the class name, or an STS-B score clamped to 0 to 5.
std::string prediction_text(const io::Labels& labels, const std::vector<float>& numbers) {
  if (labels.problem != io::Problem::regression) return execution::said_label(labels, numbers);
  std::ostringstream out;
  out << std::fixed << std::setprecision(3) << std::clamp(numbers.front(), 0.0F, 5.0F);
  return out.str();
}

class SubmissionFile {
 public:
  SubmissionFile(execution::Classifier& classifier, const std::string& path,
                 std::int64_t batch_size)
      : classifier_(classifier),
        most_(static_cast<std::size_t>(kBatchesAtOnce * batch_size)),
        file_(path) {
    file_.write("index\tprediction\n");
  }
  void add(data::LabelledRow row) {
    waiting_.push_back({std::move(row.text), std::move(row.pair)});
    if (waiting_.size() == most_) flush();
  }
  void finish() { flush(); }
  void commit() { file_.commit(); }
  std::uint64_t rows() const { return rows_; }

 private:
  void flush() {
    if (StopSignal::raised())
      throw Stopped(str("predict: stopped by a signal; ", file_.path(), " is not written"),
                    "run it again");
    for (const auto& numbers : classifier_.classify(waiting_))
      file_.write(str(rows_++, "\t", prediction_text(classifier_.job().labels, numbers), "\n"));
    waiting_.clear();
  }

  execution::Classifier& classifier_;
  std::size_t most_;
  io::OutputFile file_;
  std::vector<execution::PairOfTexts> waiting_;
  std::uint64_t rows_ = 0;
};

struct Test {
  data::GlueTest test;
  std::string input, output;
};

std::vector<Test> tests_of(const data::GlueTask& task, const std::string& glue_folder,
                           const std::string& folder) {
  std::vector<Test> out;
  const std::string place = data::glue_files(task, glue_folder).folder;
  for (const data::GlueTest& test : task.tests) {
    Test one{.test = test,
             .input = io::join_path(place, test.file + ".tsv"),
             .output = io::join_path(folder, test.submission + ".tsv")};
    if (!io::exists(one.input) && !test.is_needed) continue;
    if (!io::exists(one.input))
      throw UsageError(str("predict: --glue: ", one.input, " is missing"),
                       "name the folder of GLUE's files with --set data.glue_folder=…");
    if (io::exists(one.output))
      throw UsageError(str("predict: --out: ", one.output, " already exists"),
                       "give another folder, or move that file away");
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::vector<std::string> write_glue_submission(const Recipe& r, const std::string& folder,
                                               std::int64_t batch_size, std::int64_t devices) {
  const std::string name = r.data.value("glue", "");
  if (name.empty())
    throw UsageError(str("predict: --glue: ", r.out, " is not a run of a GLUE task"),
                     "train one with recipes/classify-glue.yaml, which sets data.glue");
  const auto tests =
      tests_of(data::glue_task(name, "data.glue"), r.data.value("glue_folder", ""), folder);
  execution::Classifier classifier =
      PretrainedModel::of_recipe(r, {.task = InferenceTask::classify})
          .classifier({.batch_size = batch_size, .devices = devices});
  std::vector<SubmissionFile> files;
  std::vector<std::string> out;
  for (const Test& test : tests) {
    files.emplace_back(classifier, test.output, batch_size);
    data::LabelledRows rows(data::glue_test_rows(test.test, test.input), "--glue");
    for (data::LabelledRow row; rows.next(row);) files.back().add(std::move(row));
    files.back().finish();
    log_info("predict: {} of {} in {}", counted(files.back().rows(), "row"), test.input,
             test.output);
    out.push_back(test.output);
  }
  for (SubmissionFile& file : files) file.commit();
  return out;
}

}  // namespace smelt::pipeline
