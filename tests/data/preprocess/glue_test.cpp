// GLUE's files as google-research/electra reads them (tools/golden_glue.py).
#include "data/preprocess/glue.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using Rows = std::vector<std::vector<std::string>>;

const Json& golden_tasks() {
  static const Json kFacts = Json::parse(io::read_file(source_path("tests/golden/glue.json")));
  return kFacts.at("tasks");
}

Rows read(const GlueTask& task, const std::string& file) {
  LabelledFiles files = glue_rows(task, file);
  files.limits = {.max_bad = 1, .quiet = true};
  LabelledRows rows(files, "data.train");
  Rows out;
  for (LabelledRow row; rows.next(row);) {
    EXPECT_TRUE(!task.pair.empty() || row.pair.empty());
    out.push_back({row.text, row.pair, row.label});
  }
  return out;
}

// Returns the expected rows. The second text of a single-text task is null.
Rows wanted_rows(const Json& examples) {
  Rows out;
  for (const auto& e : examples)
    out.push_back({e[0], e[1].is_null() ? "" : e[1].get<std::string>(), e[2]});
  return out;
}

TEST(Glue, ReadsTheFilesOfEachTaskLikeTheOriginal) {
  EXPECT_EQ(golden_tasks().size(), 9u);
  EXPECT_EQ(glue_tasks().size(), 9u);
  for (const auto& [name, facts] : golden_tasks().items()) {
    const GlueTask& task = glue_task(name, "data.glue");
    const TempDir dir;
    for (const auto& [file, text] : facts["files"].items())
      io::write_file(dir.file(facts["folder"].get<std::string>() + "/" + file),
                     text.get<std::string>());
    const GlueFiles files = glue_files(task, dir.path());
    for (const auto& [split, file] :
         {std::pair{std::string("train"), files.train}, {task.dev, files.dev}}) {
      Rows want = wanted_rows(facts["examples"][split]);
      if (split == "train" && task.both_orders) {
        EXPECT_EQ(want.size() % 2, 0u);
        for (std::size_t i = 0; i < want.size() / 2; ++i) {
          std::swap(want[i][0], want[i][1]);
          EXPECT_EQ(want[i], want[i + want.size() / 2]) << "both orders";
          std::swap(want[i][0], want[i][1]);
        }
        want.resize(want.size() / 2);
      }
      EXPECT_EQ(read(task, file), want) << file;
      EXPECT_GT(want.size(), 4u);
    }
    EXPECT_EQ(files.other.empty(), name != "mnli");
    if (!files.other.empty()) {
      EXPECT_EQ(read(task, files.other), wanted_rows(facts["examples"]["dev_mismatched"]));
    }
  }
}

TEST(Glue, LabelsInTheFilesMatchTheTaskDefinitions) {
  for (const auto& [name, facts] : golden_tasks().items()) {
    const GlueTask& task = glue_task(name, "data.glue");
    const LabelReader reader({.problem = task.problem, .names = task.labels});
    for (const auto& e : facts["examples"]["train"]) {
      const std::string label = e[2];
      if (task.problem == io::Problem::regression)
        EXPECT_EQ(reader.number(label, ""), std::stof(label));
      else
        EXPECT_EQ(reader.classes(label, "").size(), 1u);
    }
  }
}

TEST(Glue, FindsATaskByAllItsNamesAndFolders) {
  const TempDir dir;
  io::write_file(dir.file("stsb/train.tsv"), "");
  io::write_file(dir.file("alone/train.tsv"), "");
  const GlueTask& sts = glue_task("STS-B", "data.glue");
  EXPECT_EQ(sts.name(), "sts");
  EXPECT_EQ(glue_task("sst2", "data.glue").name(), "sst");
  EXPECT_EQ(glue_files(sts, dir.path()).dev, dir.file("stsb/dev.tsv"));
  EXPECT_EQ(glue_files(sts, dir.file("alone")).train, dir.file("alone/train.tsv"));
  EXPECT_EQ(error_of<UsageError>([] { glue_task("mprc", "data.glue"); }),
            "data.glue: GLUE has no task 'mprc'\n  hint: did you mean 'mrpc'?");
  EXPECT_EQ(glue_files(glue_task("mnli", ""), "none").other, "none/MNLI/dev_mismatched.tsv");
}

// The columns of test files differ from those of labelled files.
TEST(Glue, ReadsTestFilesAndNamesThemLikeTheBenchmark) {
  const TempDir dir;
  const auto rows = [&](const GlueTest& test, const std::string& line) {
    io::write_file(dir.file("t.tsv"), "header\n" + line + "\n");
    LabelledRows all(glue_test_rows(test, dir.file("t.tsv")), "--glue");
    LabelledRow row;
    EXPECT_TRUE(all.next(row)) << line;
    return row.text + "|" + row.pair;
  };
  std::string names;
  for (const GlueTask& task : glue_tasks())
    for (const GlueTest& test : task.tests) names += test.submission + " ";
  EXPECT_EQ(names, "CoLA SST-2 MRPC QQP STS-B MNLI-m MNLI-mm AX QNLI RTE WNLI ");
  const auto test = [](const char* task, std::size_t i = 0) {
    return glue_task(task, "x").tests.at(i);
  };
  EXPECT_EQ(rows(test("cola"), "0\ta \"b"), "a \"b|");
  EXPECT_EQ(rows(test("qqp"), "0\ta\tb"), "a|b");
  EXPECT_EQ(rows(test("qqp"), "0\t\tb"), "|b");
  EXPECT_EQ(rows(test("mrpc"), "0\t7\t8\ta\tb"), "a|b");
  EXPECT_EQ(rows(test("sts"), "0\tg\tf\ty\to\ts\ts\ta\tb"), "a|b");
  EXPECT_EQ(rows(test("mnli", 1), "0\tp\tp\tg\tb\tb\tp\tp\ta\tb"), "a|b");
  EXPECT_EQ(rows(test("mnli", 2), "0\ta\tb"), "a|b");
}

}  // namespace
}  // namespace smelt::data
