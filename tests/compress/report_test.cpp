// Compares the report on tiny models with the results of other parts of smelt for the same folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/str.h"
#include "compress/prune.h"
#include "compress/quantize.h"
#include "compress/source_folder.h"
#include "compress/sparsify.h"
#include "evaluation/tracking/compress_layers.h"
#include "evaluation/tracking/compress_page.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/compression/compress_notes.h"
#include "pipeline/compression/compress_report.h"
#include "pipeline/compression/compress_scores.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::compress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Report = OrderedJson;

std::uint64_t bytes_in(const std::string& folder) {
  std::uint64_t out = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) out += file.file_size();
  return out;
}

class CompressReport : public testing::Test {
 protected:
  void SetUp() override {
    GoldenClassify("bert").write_folder(dir_.file("base"));
    prune_model({.from = dir_.file("base"), .to = dir_.file("cut"), .layers = {.count = 1}});
    quantize_weights({.from = dir_.file("cut"), .to = dir_.file("int8"), .embeddings = true});
    io::write_file(dir_.file("test.tsv"),
                   "text\tlabel\ncat <dog>\ta\nbird\tb\ncat cat w9\tc\nw9 w10\ta\nw11\tb\n");
  }
  pipeline::CompressReportJob job() const {
    pipeline::CompressReportJob out;
    out.base = dir_.file("base");
    out.models = {dir_.file("cut"), dir_.file("int8")};
    out.test.files.text = out.test.files.label = "";
    out.test.files.input = dir_.file("test.tsv");
    out.latency = {.batches = {1, 2}, .lengths = {8}, .rounds = 3};
    out.resample.samples = 50;
    return out;
  }
  // Records that the folder's units were chosen with these rows.
  void note_choice(const std::string& folder, const std::string& rows) const {
    const std::string path = dir_.file(folder + "/compress.json");
    Json said = Json::parse(io::read_file(path));
    said["steps"][0]["chosen_by"] = {{"input_crc32c", crc32c_of_files({dir_.file(rows)})}};
    io::write_file(path, said.dump());
  }
  TempDir dir_;
};

TEST_F(CompressReport, ReportsSizesAndScoresOfEachModel) {
  REQUIRE_PLUGIN("cpu");
  const Report report = pipeline::compress_report(job());
  ASSERT_EQ(report["models"].size(), 3);
  EXPECT_EQ(report["metrics"], Report::array({"accuracy"}));
  EXPECT_EQ(report["rows"]["examples"], 5);
  for (std::size_t i = 0; i < 3; ++i) {
    const Report& model = report["models"][i];
    const std::string folder = dir_.file(model["name"].get<std::string>());
    EXPECT_EQ(model["bytes"], bytes_in(folder));
    const CommandOutput said =
        run_command(str("(", smelt_program(), " predict ", folder, " --input ",
                        dir_.file("test.tsv"), " --label-field label --json 2>/dev/null)"));
    int right = 0, rows = 0;
    for (const std::string_view line : split(trim(said.text), '\n')) {
      const Json row = Json::parse(line);
      right += row["label"] == row["prediction"] ? 1 : 0;
      ++rows;
    }
    EXPECT_EQ(rows, 5);
    EXPECT_DOUBLE_EQ(model["scores"]["accuracy"]["value"], right / 5.0);
    ASSERT_EQ(model["latency"].size(), 2);
    EXPECT_EQ(model["latency"][1]["batch"], 2);
    EXPECT_GE(model["latency"][0]["p90_ms"], model["latency"][0]["p50_ms"]);
    EXPECT_EQ(model["latency"][0].contains("speed_up"), i > 0);
    EXPECT_EQ(model.contains("against_base"), i > 0);
    EXPECT_FALSE(model.contains("peak_bytes"));
  }
  EXPECT_EQ(report["models"][1]["steps"][0]["method"], "prune");
  EXPECT_EQ(report["models"][2]["steps"].size(), 2);
  EXPECT_EQ(report["models"][1]["parameters"], report["models"][2]["parameters"]);
  EXPECT_LT(report["models"][1]["operations"], report["models"][0]["operations"]);
  EXPECT_THAT(
      report["models"][2]["not_given"].dump(),
      AllOf(HasSubstr("no faster matmuls"), HasSubstr("the model was not trained after pruning")));
  EXPECT_THAT(report["not_measured"].dump(), HasSubstr("no dense student of equal size"));
  EXPECT_THAT(pipeline::compress_report_text(report), HasSubstr("int8\n  accuracy"));
}

TEST_F(CompressReport, NotesThatSparsityIsNotFaster) {
  REQUIRE_PLUGIN("cpu");
  sparsify_model({.from = dir_.file("base"), .to = dir_.file("sparse"), .sparsity = 0.5});
  pipeline::CompressReportJob zeros = job();
  zeros.models = {dir_.file("sparse")};
  const Report report = pipeline::compress_report(zeros);
  EXPECT_EQ(report["models"][1]["parameters"], report["models"][0]["parameters"]);
  EXPECT_EQ(report["models"][1]["operations"], report["models"][0]["operations"]);
  EXPECT_THAT(report["models"][1]["not_given"].dump(),
              AllOf(HasSubstr("zeros are multiplied like other numbers"),
                    HasSubstr("not the best score at this sparsity")));
  EXPECT_THAT(evaluation::compress_page(report), HasSubstr("50.0 % of 3584 weights are 0"));
}

TEST_F(CompressReport, ScoresDevelopmentAndTestRowsAndCountsDuplicates) {
  REQUIRE_PLUGIN("cpu");
  io::write_file(dir_.file("dev.tsv"), "text\tlabel\nbird\tb\ncat w9\ta\n");
  pipeline::CompressReportJob with_dev = job();
  with_dev.dev = dir_.file("dev.tsv");
  with_dev.students = {dir_.file("cut")};
  with_dev.models = {dir_.file("int8")};
  const Report report = pipeline::compress_report(with_dev);
  EXPECT_EQ(report["rows"]["dev"]["examples"], 2);
  EXPECT_EQ(report["rows"]["dev"]["rows_in_both"], 1);
  EXPECT_TRUE(report["models"][1]["dev_scores"].contains("accuracy"));
  EXPECT_EQ(report["models"][2]["role"], "student");
  EXPECT_THAT(report["not_measured"].dump(), Not(HasSubstr("dense student")));
}

TEST_F(CompressReport, RejectsTrainingRowsAndOtherTasks) {
  REQUIRE_PLUGIN("cpu");
  const auto refusal = [](const pipeline::CompressReportJob& job) {
    return error_of<UsageError>([&] { pipeline::compress_report(job); });
  };
  pipeline::CompressReportJob twice = job();
  twice.models = {dir_.file("cut"), dir_.file("cut")};
  EXPECT_THAT(refusal(twice), HasSubstr("cut is named twice\n  hint: name it once"));
  pipeline::CompressReportJob other = job();
  GoldenT5("small").write_folder(dir_.file("t5"));
  other.models = {dir_.file("t5")};
  EXPECT_THAT(refusal(other), HasSubstr("are different kinds of models"));
  GoldenClassify("bert-tokens").write_folder(dir_.file("tokens"));
  other.models = {dir_.file("tokens")};
  EXPECT_THAT(refusal(other), HasSubstr("has the classes "));
  pipeline::CompressReportJob sizes = job();
  sizes.latency.lengths = {13};
  sizes.latency.lengths_told = true;
  EXPECT_THAT(refusal(sizes), HasSubstr("--lengths 13: the models accept 2 to 12 tokens"));
  Json config = Json::parse(io::read_file(dir_.file("cut/config.json")));
  config["seq_length"] = 9;  // the length it was trained with; longer texts are truncated
  io::write_file(dir_.file("cut/config.json"), config.dump());
  EXPECT_THAT(refusal(sizes), HasSubstr("--lengths 13: the models accept 2 to 9 tokens"));
  sizes = job();
  sizes.latency.batches = {0};
  EXPECT_THAT(refusal(sizes), HasSubstr("--batches 0: a batch size must be a positive integer"));
  note_choice("cut", "test.tsv");
  EXPECT_THAT(refusal(job()), HasSubstr(": these rows were used to choose " + dir_.file("cut") +
                                        "\n  hint: name test rows"));
  io::write_file(dir_.file("test.tsv"), "text\tlabel\n");
  EXPECT_THAT(refusal(job()), HasSubstr("has no rows"));
}

TEST_F(CompressReport, CommandMeasuresInSeparateProcessesAndWritesAPage) {
  REQUIRE_PLUGIN("cpu");
  const std::string command =
      str("compress report ", dir_.file("base"), " ", dir_.file("int8"), " --input ",
          dir_.file("test.tsv"), " --batches 1 --lengths 8 --rounds 2 --samples 20 --out ",
          dir_.file("page.html"), " --json 2>/dev/null | cat");
  const CommandOutput out = run_smelt(command);
  const Json report = Json::parse(out.text);
  for (const Json& model : report["models"]) {
    EXPECT_GT(model["load_seconds"], 0);
    EXPECT_GT(model["peak_bytes"], 1e6);
  }
  EXPECT_THAT(report["machine"]["command"], HasSubstr("compress report"));
  EXPECT_THAT(io::read_file(dir_.file("page.html")),
              AllOf(HasSubstr("<h2>Scores<"), HasSubstr("no faster matmuls")));
  io::write_file(dir_.file("mine.html"), "my notes");
  expect_refusal(str("compress report ", dir_.file("base"), " ", dir_.file("int8"), " --input ",
                     dir_.file("test.tsv"), " --out ", dir_.file("mine.html")),
                 HasSubstr("mine.html exists and is not an earlier report"));
}

TEST_F(CompressReport, ScoresTheGeneratedTextOfT5Models) {
  REQUIRE_PLUGIN("cpu");
  GoldenT5("small").write_folder(dir_.file("t5"));
  quantize_weights({.from = dir_.file("t5"), .to = dir_.file("t5-int8")});
  io::write_file(dir_.file("rows.tsv"), "text\tlabel\na bad cab\tx\na bed\ty\n");
  pipeline::CompressReportJob t5 = job();
  t5.base = dir_.file("t5");
  t5.models = {dir_.file("t5-int8")};
  t5.test.files.input = dir_.file("rows.tsv");
  t5.test.target_length = 4;
  t5.answer_tokens = 3;
  t5.latency = {.batches = {2}, .lengths = {6}, .rounds = 2};
  const Report report = pipeline::compress_report(t5);
  EXPECT_EQ(report["kind"], "t5");
  EXPECT_EQ(report["metrics"], Report::array({"accuracy"}));
  const Report& one = report["models"][0]["latency"][0];
  EXPECT_NEAR(one["tokens_per_second"].get<double>() * one["p50_ms"].get<double>() / 1e3, 6, 1e-6);
}

TEST(Latencies, SpeedUpIsTheMedianOfTheRatiosPerRound) {
  const pipeline::Latency base{.batch = 1, .length = 8, .seconds = {2, 4, 6, 8, 10}};
  pipeline::Latency other = base;
  for (double& seconds : other.seconds) seconds /= 2;
  EXPECT_EQ(base.quantile(0.5), 6);
  EXPECT_EQ(base.quantile(0.9), 10);
  const evaluation::Interval ratio = pipeline::speed_up(base, other);
  EXPECT_EQ(ratio.value, 2);
  EXPECT_EQ(ratio.low, 2);
  EXPECT_EQ(ratio.high, 2);
  other.seconds = {1, 4, 3, 4, 20};  // 2, 1, 2, 2 and 1/2 times as fast
  EXPECT_EQ(pipeline::speed_up(base, other).value, 2);
  EXPECT_LT(pipeline::speed_up(base, other).low, 2);
}

TEST(Latencies, LimitDefaultLengthsToThoseTheModelSupports) {
  const pipeline::LatencyJob usual{.batches = {1}, .lengths = {32, 128, 384}};
  EXPECT_THAT(pipeline::sizes_within(usual, 100).lengths, ElementsAre(32, 100));
  EXPECT_THAT(pipeline::sizes_within(usual, 512).lengths, ElementsAre(32, 128, 384));
  pipeline::LatencyJob told = usual;
  told.lengths_told = true;
  EXPECT_THAT(error_of<UsageError>([&] { pipeline::sizes_within(told, 100); }),
              HasSubstr("--lengths 128: the models accept 2 to 100 tokens"));
}

// Without entities, each word label is an example. Labels of truncated words count as wrong.
TEST(CompressScores, ScoreTokenLabelsPerWord) {
  const pipeline::SaidRows rows{
      Report::parse(R"({"words": ["x", "y"], "label": ["N", "V"], "prediction": ["N", "N"]})"),
      Report::parse(R"({"words": ["z"], "label": ["N"], "prediction": [null]})")};
  EXPECT_DOUBLE_EQ(pipeline::score_of(rows, "accuracy"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(pipeline::score_of(rows, "recall:N"), 0.5);
  EXPECT_EQ(pipeline::rows_in_both(rows, {rows[1], rows[1]}), 2);
}

Report toy_report() {
  const auto model = [](const char* name, const char* role, double score, double bytes, double ms) {
    const Report latency{{"batch", 1},
                         {"length", 8},
                         {"p50_ms", ms},
                         {"p90_ms", ms},
                         {"tokens_per_second", 1},
                         {"speed_up", {{"value", 9 / ms}, {"low", 9 / ms}, {"high", 9 / ms}}}};
    return Report{{"name", name},
                  {"role", role},
                  {"path", name},
                  {"bytes", bytes},
                  {"parameters", 10},
                  {"parameters_without_tables", 5},
                  {"operations", 7},
                  {"steps", Report::array()},
                  {"scores", {{"accuracy", {{"value", score}, {"low", score}, {"high", score}}}}},
                  {"latency", Report::array({latency})},
                  {"against_base",
                   {{"accuracy",
                     {{"difference", score - 0.9},
                      {"low", score - 0.9},
                      {"high", score - 0.9},
                      {"p_value", 0.5}}}}}};
  };
  Report out{{"kind", "classifier"},
             {"metrics", Report::array({"accuracy"})},
             {"rows", {{"input", "t.tsv"}, {"examples", 5}}},
             {"rounds", 3},
             {"answer_tokens", 16},
             {"operations_length", 8},
             {"resampled", {{"samples", 5}, {"seed", 0}}},
             {"machine", {{"load_before", 4.0}}},
             {"models", Report::array({model("<base>", "base", 0.9, 100, 9),
                                       model("cut", "model", 0.8, 50, 5),
                                       model("worse", "model", 0.7, 60, 9)})}};
  pipeline::add_compress_notes(out);
  return out;
}

TEST(CompressNotes, DescribeMissingValuesAndDominatedModels) {
  const Report report = toy_report();
  EXPECT_EQ(report["models"][0]["beaten"], Report({{"bytes", false}, {"latency", false}}));
  EXPECT_EQ(report["models"][1]["beaten"], Report({{"bytes", false}, {"latency", false}}));
  EXPECT_EQ(report["models"][2]["beaten"], Report({{"bytes", true}, {"latency", true}}));
  EXPECT_THAT(report["models"][2]["not_given"].dump(),
              AllOf(HasSubstr("lower score than the base: -0.2"), HasSubstr("not faster at")));
  EXPECT_THAT(report["models"][1]["not_given"].dump(), Not(HasSubstr("not faster at")));
  EXPECT_TRUE(report["models"][0]["not_given"].empty());
  EXPECT_THAT(report["not_measured"].dump(), HasSubstr("its load was 4"));
}

TEST(CompressPage, EscapesModelNames) {
  const std::string page = evaluation::compress_page(toy_report());
  EXPECT_THAT(page, AllOf(HasSubstr("&lt;base&gt;"), Not(HasSubstr("<base>")),
                          HasSubstr("circle class=\"beaten\""), HasSubstr("1.80×")));
  EXPECT_THAT(page, HasSubstr("Whether a small dense model would score as well"));
}

TEST(CompressedLayers, ShowRemainingUnitsOfEachLayer) {
  const std::string page =
      evaluation::compressed_layers_html(Report::parse(R"([{"method": "prune", "heads":
      {"before": 2, "after": 1, "kept_importance": [0.9], "importance": [[9, 1]], "kept": [[0]],
       "output_lost": {"before": [0.5, 0.25], "after": [0.125, 0.0625]}}}])"));
  EXPECT_THAT(page,
              HasSubstr("1 of 2 heads in each layer; at most 12.5 % of a matmul's squared "
                        "output is lost (50.0 % before the remaining weights were rescaled)"));
  EXPECT_THAT(page, HasSubstr("--share:1.000\"></td><td class=\"heat\" style=\"--share:0.333\">×"));
}

}  // namespace
}  // namespace smelt::compress
