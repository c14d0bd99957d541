// metrics.jsonl: writing, rollback, reading and comparison of runs.
#include "evaluation/tracking/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/str.h"
#include "evaluation/tracking/compare.h"
#include "evaluation/tracking/page.h"
#include "evaluation/tracking/status.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "support/error_of.h"
#include "support/file_size_limit.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::evaluation {
namespace {

using testing::HasSubstr;

Record line(std::int64_t step, double seconds, double loss) {
  return {{"kind", "line"},
          {"step", step},
          {"time", 1000.0 + static_cast<double>(step)},
          {"loss", loss},
          {"spent", {{"step", seconds}, {"data_loading_sync", 0.5}}}};
}

// Records of a run of 10 steps with a line every 2 steps, killed after step 8.
std::vector<Record> killed_run() {
  std::vector<Record> out{{{"kind", "start"}, {"step", 0}, {"time", 990.0}, {"of", 10}}};
  for (std::int64_t step = 2; step <= 8; step += 2)
    out.push_back(line(step, 4, 5 - 0.1 * static_cast<double>(step)));
  return out;
}

TEST(MetricsFile, DropsRecordsAfterTheCheckpointAndCountsTheirStepsAsLost) {
  const KeptRecords kept = kept_records(killed_run(), 5);
  ASSERT_EQ(kept.records.size(), 3u);  // the start, steps 2 and 4
  EXPECT_EQ(kept.records.back()["step"], 4);
  // The checkpoint includes step 5, so half of the line of step 6 is not lost.
  EXPECT_DOUBLE_EQ(kept.spent[GoodputBucket::step], 2);
  EXPECT_DOUBLE_EQ(kept.spent[GoodputBucket::lost], 2 + 4);
  EXPECT_DOUBLE_EQ(kept.spent[GoodputBucket::input], 1);
  EXPECT_DOUBLE_EQ(seconds_down(killed_run(), 1100), 1100 - 1008);
  double before = 0;
  for (const Record& r : killed_run())
    if (r.contains("spent")) before += spent_times(r["spent"]).total();
  double after = kept.spent.total();
  for (const Record& r : kept.records)
    if (r.contains("spent")) after += spent_times(r["spent"]).total();
  EXPECT_DOUBLE_EQ(after, before);  // no time is lost from the records
}

TEST(MetricsFile, CountsNoDownTimeAfterAFinishedRun) {
  auto records = killed_run();
  records.push_back({{"kind", "end"}, {"step", 10}, {"time", 1010.0}, {"why", "done"}});
  EXPECT_EQ(seconds_down(records, 9999), 0);
  records.back()["why"] = "stopped";
  EXPECT_DOUBLE_EQ(seconds_down(records, 1015), 5);
  EXPECT_EQ(seconds_down(records, 10), 0);  // the clock was set back
  EXPECT_EQ(seconds_down({}, 10), 0);
}

TEST(MetricsFile, RollbackDoesNotCountAsAStart) {
  const TempDir dir;
  MetricsFile file(dir.file("m"), 4, {{"of", 10}});
  file.add("line", 6, {{"loss", 1.0}}, spent_times({{"step", 3}, {"data_loading_sync", 1}}));
  file.went_back(3, spent_times({{"step", 2}, {"program_startup", 1}}));  // before its start
  file.add("line", 5, {{"loss", 0.5}});
  const RunRecord run = read_run(dir.file("m"));
  EXPECT_EQ(run.starts, 1);
  EXPECT_EQ(run.of, 10);
  EXPECT_EQ(run.step, 5);
  EXPECT_EQ(state_text(run), "training");
  ASSERT_EQ(run.lines.at("loss").size(), 1u);
  EXPECT_EQ(run.spent[GoodputBucket::step], 0);
  EXPECT_EQ(run.spent[GoodputBucket::lost], 3 + 2);
  EXPECT_EQ(run.spent.total(), 3 + 1 + 2 + 1);
}

TEST(MetricsFile, StaysUsableIfARollbackCannotBeWritten) {
  const TempDir dir;
  MetricsFile file(dir.file("m"), 0, {{"of", 10}});
  for (const std::int64_t step : {2, 4}) file.add("line", step, {{"loss", 1.0}});
  {
    const FileSizeLimit full(10);
    EXPECT_THAT(error_of([&] { file.went_back(3, {}); }), testing::StartsWith("write: "));
  }
  file.add("line", 6, {{"loss", 0.5}});
  EXPECT_EQ(read_run(dir.file("m")).lines.at("loss").size(), 3u);
  file.went_back(3, {});
  file.add("line", 4, {{"loss", 0.25}});
  EXPECT_EQ(read_run(dir.file("m")).lines.at("loss").back().value, 0.25);
  EXPECT_EQ(read_run(dir.file("m")).lines.at("loss").size(), 2u);
}

void expect_goes_on(const std::string& folder) {
  {
    MetricsFile file(folder, 0, {{"of", 10}});
    for (std::int64_t step = 2; step <= 8; step += 2) file.add("line", step, {{"loss", 1.0}});
    file.add("save", 4, {});
  }
  MetricsFile file(folder, 4, {{"of", 12}});
  file.add("line", 6, {{"loss", 0.5}, {"bad", std::nan("")}});
  file.add("end", 6, {{"why", "failed"}, {"message", "train: it broke\n  hint: mend it"}});
  const std::string last = file.path();
  EXPECT_EQ(io::path_name(last), kMetricsFile);
}

TEST(MetricsFile, ResumedRunAppendsToKeptRecords) {
  const TempDir dir;
  expect_goes_on(dir.file("m"));
  const RunRecord run = read_run(dir.file("m"));
  EXPECT_EQ(run.starts, 2);
  EXPECT_EQ(run.of, 12);
  EXPECT_EQ(run.step, 6);
  EXPECT_EQ(*run.saved, 4);
  ASSERT_EQ(run.lines.at("loss").size(), 3u);
  EXPECT_EQ(run.lines.at("loss").back().value, 0.5);
  EXPECT_FALSE(run.lines.contains("bad"));
  EXPECT_EQ(state_text(run), "failed: train: it broke");
}

TEST(MetricsFile, IsCompleteOnAnObjectStoreOnceClosed) {
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  expect_goes_on(emulator.path("run/model"));
  EXPECT_EQ(read_run(emulator.path("run")).step, 6);
}

TEST(MetricsFile, SkipsAnIncompleteLastLine) {
  const TempDir dir;
  expect_goes_on(dir.file("m"));
  const std::string path = dir.file("m/metrics.jsonl"), whole = io::read_file(path);
  for (const std::size_t cut : {std::size_t{1}, std::size_t{20}, whole.size() / 2}) {
    io::write_file(path, whole.substr(0, whole.size() - cut));
    EXPECT_GE(read_run(dir.file("m")).starts, 1);
  }
  io::write_file(path, whole + "[1]\nnonsense\n\n");
  EXPECT_EQ(read_run(dir.file("m")).step, 6);
}

TEST(RunRecord, RejectsAFolderWithoutARun) {
  const TempDir dir;
  EXPECT_THAT(error_of([&] { read_run(dir.path()); }),
              HasSubstr("no metrics.jsonl in it or in its model/"));
  EXPECT_THAT(
      error_of([&] { read_run(dir.file("none")); }),
      HasSubstr("none: this folder does not exist\n  hint: pass the `out` folder of a recipe"));
  io::write_file(dir.file("m/metrics.jsonl"), "nonsense\n");
  EXPECT_THAT(error_of([&] { read_run(dir.file("m")); }), HasSubstr("contains no start record"));
}

TEST(Status, ShowsHowLongAProgramHasBeenCompiling) {
  const TempDir dir;
  const MetricsFile file(dir.file("m"), 0, {{"of", 10}});
  RunStatus status = status_of_run(dir.file("m"));
  status.worker = "process 12 on host a";
  status.now = status.run.time + 75;
  EXPECT_THAT(status_text(status),
              HasSubstr("state     compiling for 1:15, by process 12 on host"));
  status.worker.reset();
  EXPECT_THAT(status_text(status),
              HasSubstr("its process ended without an end record while compiling\n"));
}

TEST(Status, ARunOfAGivenTimeHasNoNumberOfSteps) {
  const TempDir dir;
  MetricsFile file(dir.file("m"), 0, {{"of", 0}, {"of_seconds", 60.0}});
  file.add("end", 7, {{"why", "stopped"}});
  const RunStatus status = status_of_run(dir.file("m"));
  EXPECT_THAT(status_text(status), HasSubstr("\nstep      7\n"));
  EXPECT_TRUE(status_json(status).at("of").is_null());
  EXPECT_EQ(status_json(status).at("of_seconds"), 60);
  const auto runs = read_runs({dir.file("m")});
  EXPECT_THAT(compare_text(runs), testing::Not(HasSubstr("7 of 0")));
  EXPECT_THAT(runs_page(runs), testing::Not(HasSubstr("7 of 0")));
}

TEST(Compare, TruncatesTheMessageOfAFailedRun) {
  const TempDir dir;
  for (const std::string name : {"a", "b"}) {
    MetricsFile file(dir.file(name), 0, {{"of", 4}});
    const std::string message = str("train: ", std::string(100, 'x'), "\n  hint: mend it");
    file.add("end", 2, {{"why", name == "a" ? "failed" : "done"}, {"message", message}});
  }
  const auto runs = read_runs({dir.file("a"), dir.file("b")});
  EXPECT_THAT(compare_text(runs),
              HasSubstr(str("\nstate    failed: train: ", std::string(44, 'x'), "…  done\n")));
  EXPECT_THAT(compare_json(runs)["runs"][0]["state"].get<std::string>(),
              testing::EndsWith(std::string(100, 'x')));
}

TEST(Compare, NotesThatTheVocabulariesDiffer) {
  const TempDir dir;
  for (const std::string name : {"a", "b", "c", "d"}) {
    Record start{{"of", 4}};
    if (name != "d") start["vocabulary_crc32c"] = name == "a" ? 1 : 2;
    MetricsFile file(dir.file(name), 0, start);
    file.add("end", 2, {{"why", "done"}, {"message", ""}});
  }
  const auto text_of = [&](const std::string& one, const std::string& other) {
    return compare_text(read_runs({dir.file(one), dir.file(other)}));
  };
  EXPECT_THAT(text_of("a", "b"),
              HasSubstr("\nThe runs have different vocabularies, so their losses and "
                        "accuracies per token are not comparable."));
  EXPECT_THAT(text_of("b", "c"), testing::Not(HasSubstr("vocabularies")));
  EXPECT_THAT(text_of("a", "d"), testing::Not(HasSubstr("vocabularies")));
  EXPECT_EQ(compare_json(read_runs({dir.file("a"), dir.file("b")}))["vocabularies_differ"], true);
}

TEST(Compare, DoesNotTruncateLongSettingsThatDifferAtTheEnd) {
  const TempDir dir;
  const std::string folder(80, 'x');
  for (const std::string name : {"a", "b"}) {
    MetricsFile file(dir.file(name), 0,
                     {{"of", 4}, {"settings", {{"train", {{"init", folder + name}}}}}});
    file.add("end", 2, {{"why", "done"}, {"message", ""}});
  }
  EXPECT_THAT(compare_text(read_runs({dir.file("a"), dir.file("b")})),
              HasSubstr(str(folder, "a  ", folder, "b\n")));
}

TEST(Compare, ShowsDifferingSettingsAndFinalMetrics) {
  const TempDir dir;
  for (const char* name : {"a", "b"}) {
    const bool is_a = name[0] == 'a';
    MetricsFile file(
        dir.file(str(name, "/model")), 0,
        {{"of", 4},
         {"settings", {{"", {{"out", name}}}, {"train", {{"steps", 4}, {"seed", is_a}}}}}});
    file.add("line", 4, {{"loss", is_a ? 2.0 : 3.0}});
    if (is_a) file.add("check", 4, {{"valid", {{"accuracy", 0.25}}}});
    file.add("end", 4, {{"why", "done"}});
  }
  const auto runs = read_runs({dir.file("a"), dir.file("b/model")});
  const std::string text = compare_text(runs);
  EXPECT_THAT(text, testing::ContainsRegex("\nloss +2 +3\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\ntrain.seed +true +false\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\nvalid/accuracy +0.25 +-\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("train.steps")));
  const Record json = compare_json(runs);
  EXPECT_EQ(json["settings"].size(), 2u);  // out, train.seed
  EXPECT_EQ(json["runs"][1]["figures"]["loss"], 3.0);
}

TEST(Compare, DistinguishesFoldersOfTheSameName) {
  const TempDir dir;
  for (const char* name : {"x/run", "y/run"}) MetricsFile(dir.file(name), 0, {{"of", 1}});
  const auto runs = read_runs({dir.file("x/run"), dir.file("y/run")});
  EXPECT_EQ(runs[0].name, "x/run");
  EXPECT_EQ(runs[1].name, "y/run");
}

}  // namespace
}  // namespace smelt::evaluation
