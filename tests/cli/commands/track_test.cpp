// smelt status, compare, report, eval --follow, run --dry-run, help, completion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "evaluation/tracking/metrics_file.h"
#include "evaluation/tracking/run_record.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CommandOutput program(const std::string& arguments) { return run_smelt(arguments); }

class TrackedRun : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    std::string text;
    for (int document = 0; document < 40; ++document) {
      for (int i = 0; i < 8; ++i)
        text += str("the ", (document * i) % 3 == 0 ? "cat" : "dog", " sees house ", i % 5, ".\n");
      text += "\n";
    }
    io::write_file(dir_.file("text.txt"), text);
    io::write_file(
        dir_.file("r.yaml"),
        str("out: ", dir_.file("m"), "\ntext: {input: ", dir_.file("text.txt"),
            ", sentences: lines, dedup: none, heldout: 0.2}\nvocab: {size: 60}\n",
            "data: {seq_length: 32, max_predictions: 5}\nmodel: {hidden_size: 16, "
            "num_hidden_layers: 1, num_attention_heads: 2,\n  intermediate_size: 32, "
            "max_position_embeddings: 32}\ntrain: {batch_size: 8, steps: 20, "
            "schedule.warmup_steps: 2, "
            "checkpoint.save_interval_steps: 10, logging_steps: 5}\neval: {batch_size: 4, "
            "every: 10}\ntrack:\n  fill: the "
            "[MASK] "
            "sees house 1. | a [MASK] [MASK].\n  histograms_every: 10\n"));
  }
  std::string recipe(const std::string& more = {}) const { return dir_.file("r.yaml") + more; }

  TempDir dir_;
};

// A run whose length is a time has no number of steps.
TEST(Status, ShowsHowToResumeARunOfAGivenTime) {
  const TempDir dir;
  for (const char* name : {"m/.stages", "m/recipe.yaml"}) io::write_file(dir.file(name), "{}\n");
  evaluation::MetricsFile file(dir.file("m/model"), 0, {{"of", 0}, {"of_seconds", 60.0}});
  file.add("end", 7, {{"why", "stopped"}});
  const std::string resume = str("resume    smelt run ", dir.file("m"));
  EXPECT_THAT(program("status " + dir.file("m")).text, HasSubstr(resume));
  file.add("end", 9, {{"why", "done"}});
  EXPECT_THAT(program("status " + dir.file("m")).text, Not(HasSubstr(resume)));
}

// The run waits for text from a pipe without a writer.
TEST_F(TrackedRun, SignalBeforeTrainingStopsAtOnceAndStatusShowsTheStage) {
  const std::string pipe = "text.input=" + dir_.file("pipe"),
                    fill = str(" --set 'track.fill=", std::string(200, 'a'), " [MASK]'"),
                    waiting = recipe(fill + " --set " + pipe);
  const CommandOutput ended = run_command(str(
      "exec 2>&1; mkfifo ", dir_.file("pipe"), "; ", smelt_program(), " run ", waiting,
      " & pid=$!; while [ ! -e ", dir_.file("m/text"), " ] && kill -0 $pid; do sleep 0.01; done; ",
      smelt_program(), " status ", dir_.file("m"), "; kill -TERM $pid; wait $pid"));
  EXPECT_EQ(ended.status, 75) << ended.text;
  EXPECT_THAT(ended.text,
              AllOf(HasSubstr("state     has not begun to train yet (stage text), by "
                              "process "),
                    HasSubstr(" run "), HasSubstr("\xE2\x80\xA6\n"),  // the shortened command
                    HasSubstr("\nstopped: run the same command again to resume")));
  EXPECT_FALSE(io::exists(dir_.file("m/text/train.txt")));
  EXPECT_THAT(
      program("status --json " + dir_.file("m")).text,
      AllOf(HasSubstr("has not begun to train yet (stage text)\""), HasSubstr("\"alive\":false")));
  EXPECT_THAT(program("status " + dir_.path()).text, HasSubstr("no metrics.jsonl in it or in its"));
  ASSERT_EQ(program("run " + recipe(" --set train.steps=1 --set eval.every=1")).status, 0);
  EXPECT_THAT(io::list_folder(dir_.file("m/text")),
              testing::UnorderedElementsAre("train.txt", "heldout.txt"));
}

TEST(TrackedTrials, ReportAndCompareReadAFolderOfTrials) {
  const TempDir dir;
  for (const char* run : {"trials/rate=1/seed-1", "trials/rate=2/seed-1", "against/fresh/seed-1"})
    evaluation::MetricsFile(dir.file(str("t/", run, "/model")), 0, {{"of", 1}});
  io::make_folders(dir.file("t/trials/rate=2/seed-2/model"));  // has no metrics yet
  ASSERT_EQ(program("report " + dir.file("t")).status, 0);
  EXPECT_THAT(
      io::read_file(dir.file("t/report.html")),
      AllOf(HasSubstr(">rate=1/seed-1<"), HasSubstr(">rate=2/seed-1<"), HasSubstr("fresh/seed-1")));
  EXPECT_THAT(program("compare " + dir.file("t")).text, HasSubstr("rate=2/seed-1"));
}

TEST_F(TrackedRun, StatusReportAndEvalFollowReadItsMetrics) {
  const CommandOutput run = program("run " + recipe());
  ASSERT_EQ(run.status, 0) << run.text;
  EXPECT_THAT(run.text,
              testing::ContainsRegex("step 20/20: loss [0-9.]+, .*lr [0-9.e-]+, grad norm "
                                     "[0-9.]+, [0-9.]+ seq/s, [0-9]+ tokens/s, input [0-9.]+ %, "
                                     "0:00 left"));
  EXPECT_THAT(run.text, HasSubstr("step 20: a [MASK] [MASK]. : "));

  const evaluation::RunRecord record = evaluation::read_run(dir_.file("m"));
  EXPECT_EQ(record.step, 20);
  EXPECT_EQ(record.lines.at("loss").size(), 4u);
  EXPECT_EQ(record.valid.at("masked_lm_loss").size(), 2u);
  ASSERT_EQ(record.filled.size(), 2u);
  EXPECT_EQ(record.filled[1]["texts"][1]["masks"].size(), 2u);
  EXPECT_EQ(record.filled[1]["texts"][0]["masks"][0].size(), 5u);
  EXPECT_EQ(evaluation::flat_settings(record.start).at("train.steps"), 20);
  EXPECT_GT(record.spent[evaluation::GoodputBucket::step], 0);
  EXPECT_GT(record.spent[evaluation::GoodputBucket::compile], 0);
  EXPECT_EQ(record.evaluations.size(), 1u);

  const CommandOutput status = program("status " + dir_.file("m"));
  EXPECT_THAT(status.text, AllOf(HasSubstr("state     done\n"), HasSubstr("20 of 20 (100.0 %)"),
                                 HasSubstr("saved     step 20\n"), HasSubstr("% steps")));
  EXPECT_THAT(program("compare " + dir_.file("m")).text, HasSubstr("masked_lm_loss"));
  ASSERT_EQ(program(str("report ", dir_.file("m"), " --out ", dir_.file("page.html"))).status, 0);
  const std::string plan = dir_.file("plan.json"), page = dir_.file("page.html");
  EXPECT_THAT(io::read_file(page),
              AllOf(HasSubstr("the [MASK] sees house 1."), Not(HasSubstr("Hours of the run"))));
  io::write_file(plan, R"({"rows": [{"type": "v3-8", "fits": true, "spot_dollars": null,
      "run_seconds": {"low": 3600, "likely": 7200, "high": 9000},
      "on_demand_dollars": {"low": 8, "likely": 16, "high": 20}}, {"fits": false}]})");
  const std::string planned = str("report ", dir_.file("m"), " --out ", page, " --plan ", plan);
  ASSERT_EQ(program(planned).status, 0);
  EXPECT_THAT(io::read_file(page), AllOf(HasSubstr("Hours of the run"), HasSubstr("2.0 h"),
                                         HasSubstr("$16.0"), Not(HasSubstr("on spot</"))));
  io::write_file(plan, R"({"rows": 3})");
  EXPECT_THAT(program(planned).text, AllOf(HasSubstr("--plan " + plan + " is not a plan"),
                                           HasSubstr("smelt plan RECIPE --json")));
  const std::string metrics = dir_.file("m/model/metrics.jsonl");
  const CommandOutput over = program(str("report ", dir_.file("m"), " --out ", metrics));
  EXPECT_EQ(over.status, 2);
  EXPECT_THAT(over.text, HasSubstr("--out " + metrics + " exists and is not an earlier report"));

  io::remove_file(dir_.file("m/model/evaluations.jsonl"));
  const CommandOutput followed =
      program(str("eval --follow --json ", recipe(), " 2>/dev/null | cat"));
  ASSERT_EQ(followed.status, 0) << followed.text;
  std::vector<std::int64_t> steps;
  for (const auto line : split(trim(followed.text), '\n'))
    steps.push_back(Json::parse(line).at("global_step"));
  EXPECT_EQ(steps, (std::vector<std::int64_t>{10, 20}));  // the oldest first
  EXPECT_EQ(evaluation::read_run(dir_.file("m")).evaluations.size(), 2u);
  EXPECT_EQ(Json::parse(io::read_file(dir_.file("m/model/eval_results.json")))["global_step"], 20);
  EXPECT_EQ(program(str("eval --follow --json ", recipe(), " 2>/dev/null | cat")).text,
            "");  // nothing is left to evaluate

  std::string lines = io::read_file(dir_.file("m/model/evaluations.jsonl"));
  lines.erase(0, lines.find('\n') + 1);  // the evaluation of step 10 is lost
  io::write_file(dir_.file("m/model/evaluations.jsonl"), lines);
  {
    const io::FolderLock other(dir_.file("m/model/eval"), "eval");
    EXPECT_THAT(program("eval --follow " + recipe()).text, HasSubstr("m/model/eval is in use by "));
  }
  EXPECT_THAT(program(str("eval --follow --json ", recipe(), " 2>/dev/null | cat")).text,
              testing::StartsWith("{\"global_step\":10,"));

  // As if the run had returned to an earlier step: it has another checkpoint of step 20, and none
  // of step 30 any more.
  lines = io::read_file(dir_.file("m/model/evaluations.jsonl"));
  const std::size_t mark = lines.rfind("\"checkpoint\":\"") + 14;
  lines[mark] = lines[mark] == 'x' ? 'y' : 'x';
  const std::string beyond = "{\"global_step\":30,\"loss\":1.0}\n";
  io::write_file(dir_.file("m/model/evaluations.jsonl"), lines + beyond);
  EXPECT_THAT(program(str("eval --follow --json ", recipe(), " 2>/dev/null | cat")).text,
              testing::StartsWith("{\"global_step\":20,"));
  EXPECT_EQ(evaluation::read_run(dir_.file("m")).evaluations.size(), 2u);

  REQUIRE_ORACLE();
  const CommandOutput tensorboard = run_oracle(
      str(source_path("tests/io/formats/read_tensorboard.py"), " ", dir_.file("m/model/train")));
  EXPECT_THAT(tensorboard.text,
              AllOf(HasSubstr("'train.steps': 20.0"), HasSubstr("step 20 text filled/0: the"),
                    HasSubstr("step 20 scalars run/loss"), HasSubstr("step 10 scalars run/loss"),
                    HasSubstr("step 10 histograms updates/bert/pooler/dense/kernel: 256 from"),
                    HasSubstr("step 20 histograms weights/cls/predictions/output_bias: ")));
}

TEST_F(TrackedRun, DryRunPrintsThePlanAndWritesNothing) {
  const CommandOutput dry = program("run --dry-run " + recipe(" --set train.seed=9"));
  ASSERT_EQ(dry.status, 0) << dry.text;
  EXPECT_THAT(dry.text, testing::ContainsRegex("train.seed +9   \\(--set\\)\n"));
  EXPECT_THAT(dry.text, testing::ContainsRegex("text.input +1 file, "));
  EXPECT_THAT(dry.text, testing::ContainsRegex("parameters +[0-9]+ "));
  EXPECT_THAT(dry.text,
              testing::ContainsRegex("steps +20 steps of 8: 160 examples, [0-9]+ tokens"));
  EXPECT_THAT(dry.text, HasSubstr("nothing was written"));
  EXPECT_FALSE(io::exists(dir_.file("m")));
  EXPECT_THAT(dry.text, testing::ContainsRegex("disk +checkpoints need up to [0-9.]+ [kMG]?B, text "
                                               "and examples about [0-9.]+ [kMG]?B, "
                                               "[0-9.]+ [kMGT]?B are free\n"));
  EXPECT_THAT(dry.text, HasSubstr("activations and temporaries, which only the compiler knows"));
  EXPECT_THAT(program("run --dry-run " + recipe(" --set text.input=" + dir_.file("none"))).text,
              HasSubstr("error: text.input"));
  EXPECT_THAT(program("run --dry-run " + recipe(" --set out=" + dir_.file("text.txt/m"))).text,
              HasSubstr("Not a directory"));
  EXPECT_THAT(
      program("run --dry-run " + recipe(" --set train.init_from=" + dir_.file("none"))).text,
      HasSubstr("error: "));
}

TEST_F(TrackedRun, DryRunReportsErrorsThatWouldEndTheRunLater) {
  const auto dry = [&](const std::string& set) {
    return program("run --dry-run " + recipe(" --set " + set));
  };
  const CommandOutput none = dry("vocab.size=5");
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(
      none.text,
      HasSubstr(
          "--set: vocab.size 5 is too small for 5 special and 0 unused tokens\n  hint: raise it"));
  EXPECT_EQ(dry("vocab.size=105 --set vocab.unused=100").status, 2);
  EXPECT_EQ(dry("vocab.unused=9223372036854775807").status, 2);
  const CommandOutput few = dry("model.vocab_size=59");
  EXPECT_EQ(few.status, 0);
  EXPECT_THAT(few.text,
              HasSubstr("model.vocab_size 59 is smaller than vocab.size 60: the run will stop"));
  EXPECT_THAT(dry("model.vocab_size=60").text, testing::Not(HasSubstr("is smaller than")));
  io::write_file(dir_.file("v.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n");
  const CommandOutput fewer = dry("model.vocab_size=5 --set vocab.file=" + dir_.file("v.txt"));
  EXPECT_EQ(fewer.status, 2);
  EXPECT_THAT(fewer.text, HasSubstr("model.vocab_size 5 is smaller than the 6 lines of "));
  EXPECT_THAT(dry("train.checkpoint.max_to_keep=1000000000 --set train.steps=1000000000 --set "
                  "train.checkpoint.save_interval_steps=1")
                  .text,
              testing::ContainsRegex(
                  "out: the disk of [^ ]+ has [0-9.]+ [kMGT]?B left, the "
                  "checkpoints need up to [0-9.]+ [TP]B more: lower train.checkpoint.max_to_keep"));
  EXPECT_THAT(dry("train.schedule.warmup_steps=20").text,
              HasSubstr("train: train.schedule.warmup_steps 20 is too long for train.steps 20: "
                        "train.optimizer.learning_rate "));
  for (const char* reached : {"train.schedule.warmup_steps=19",
                              "train.schedule.warmup_steps=20 --set train.optimizer.type=amos"})
    EXPECT_THAT(dry(reached).text, testing::Not(HasSubstr("is never reached")));
}

TEST_F(TrackedRun, DryRunReportsWhyARunCannotResume) {
  ASSERT_EQ(program("run " + recipe(" --set train.steps=2")).status, 0);
  EXPECT_THAT(program("run --dry-run " + recipe()).text,
              testing::ContainsRegex("resumes from +st"));
  {
    const io::FolderLock other(dir_.file("m"), "run");
    EXPECT_THAT(program("run --dry-run " + recipe()).text,
                HasSubstr("error: " + dir_.file("m") + " is in use by process "));
  }
  const CommandOutput other = program("run --dry-run " + recipe(" --set train.seed=9"));
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.text,
              HasSubstr("checkpoint-2: was made with train.seed 12345, this run has 9"));
  std::filesystem::create_directory(dir_.file("m/model/checkpoint-5"));  // a damaged checkpoint
  io::write_file(dir_.file("m/model/checkpoint-5/COMMIT"), "");
  EXPECT_THAT(program("run --dry-run " + recipe()).text,
              AllOf(HasSubstr("going back to step 2\n"), HasSubstr("   step 2\n")));
  io::remove_tree(dir_.file("m/model/checkpoint-5"));
  io::remove_file(dir_.file("m/data/train.tfrecord"));
  EXPECT_THAT(program("run --dry-run " + recipe()).text,
              HasSubstr("step 2, after its data are regenerated"));
}

TEST_F(TrackedRun, RejectsFillTextsWithoutEvaluations) {
  EXPECT_THAT(program("run " + recipe(" --set eval.every=0")).text,
              HasSubstr("but eval.every is 0"));
  EXPECT_THAT(program("run --dry-run " + recipe(" --set track.histograms_every=-1")).text,
              HasSubstr("track.histograms_every"));
}

TEST(Status, ReportsAFolderWithoutARun) {
  const TempDir dir;
  EXPECT_THAT(program("status " + dir.path()).text, HasSubstr("no metrics.jsonl"));
  EXPECT_THAT(program("eval " + dir.path()).text,
              HasSubstr(" has no recipe.yaml, which names the data to evaluate on\n  hint: "
                        "evaluate a masked LM on text with --text"));
}

TEST(Help, ListsCommandsInGroupsBeforeFlags) {
  const CommandOutput help = program("help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.text, HasSubstr("\nWatch:\n  status  "));
  EXPECT_LT(help.text.find("\n  compile "), help.text.find("--help"));
  EXPECT_EQ(program("--help").text, help.text);
  EXPECT_THAT(program("status --help").text, HasSubstr("--json"));
  for (const char* command : {"run", "data", "data bert", "electra run_pretraining", "help"})
    EXPECT_EQ(program(str("help ", command)).text, program(str(command, " --help")).text);
  EXPECT_THAT(program("help data bert extra").text,
              HasSubstr("smelt data bert has no command 'extra'\n  hint: smelt data bert --help"));
  EXPECT_THAT(program("help data bart").text,
              HasSubstr("error: help: smelt data has no command 'bart'\n  hint: did you mean "
                        "'bert'?"));
  EXPECT_THAT(program("help recipes").text, HasSubstr("did you mean 'recipe'?"));
}

// Returns bash's completions of the last word.
std::string completed(const std::string& words) {
  return run_command(str("bash -c 'source <(", smelt_program(), " completion bash); COMP_WORDS=(",
                         words,
                         "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _smelt; echo ${COMPREPLY[@]}'"))
      .text;
}

TEST(Completion, BashOffersCommandsFlagsAndChoices) {
  EXPECT_EQ(completed("smelt sta"), "status\n");
  EXPECT_EQ(completed("smelt electra run"), "run_pretraining\n");
  EXPECT_EQ(completed("smelt compare --j"), "--json\n");
  EXPECT_EQ(completed("smelt bench --device g"), "gpu\n");
  EXPECT_EQ(completed("smelt completion z"), "zsh\n");
  EXPECT_EQ(completed("smelt report a --out p"), "\n");  // readline completes file names
  EXPECT_THAT(completed("smelt run r.yaml --set train.optimizer.learn"),
              HasSubstr("train.optimizer.learning_rate="));
  EXPECT_EQ(completed("smelt run r.yaml --set train.device = g"), "gpu\n");
  EXPECT_THAT(completed("smelt \"\""), AllOf(HasSubstr("run"), HasSubstr("completion")));
}

TEST(Completion, ZshRunsItsScript) {
  if (!std::filesystem::exists("/usr/bin/zsh"))
    SKIP_OR_FAIL_WITHOUT("browser", "zsh is missing; scripts/test installs it");
  const CommandOutput found = run_command(
      str("zsh -f -c 'compdef() {}; compadd() { print -r -- \"$@\" }; _describe() { print -r -- "
          "${(P)2} }; source <(",
          smelt_program(),
          " completion zsh); words=(smelt bench --device g); CURRENT=4; _smelt; words=(smelt sta); "
          "CURRENT=2; _smelt'"));
  EXPECT_EQ(found.status, 0) << found.text;
  EXPECT_THAT(found.text, AllOf(HasSubstr("-- auto cpu gpu tpu\n"),
                                HasSubstr("status:show the state of a run")));
}

TEST(Completion, ZshOffersFieldsAndTheirChoices) {
  if (!std::filesystem::exists("/usr/bin/zsh"))
    SKIP_OR_FAIL_WITHOUT("browser", "zsh is missing; scripts/test installs it");
  const CommandOutput found = run_command(
      str("zsh -f -c 'compdef() {}; compadd() { print -r -- \"$@\" }; source <(", smelt_program(),
          " completion zsh); words=(smelt run r.yaml --set train.l); CURRENT=5; _smelt; "
          "words=(smelt run r.yaml --set train.device=g); CURRENT=5; _smelt'"));
  EXPECT_THAT(found.text, AllOf(HasSubstr(" train.optimizer.learning_rate= "),
                                HasSubstr("-P train.device= -- auto cpu gpu tpu\n")));
}

TEST(Completion, FishOffersCommandsFlagsFieldsAndChoices) {
  const CommandOutput script = program("completion fish");
  EXPECT_EQ(script.status, 0);
  EXPECT_THAT(
      script.text,
      AllOf(HasSubstr("complete -c smelt -n '__smelt_at \"smelt\"' -f -a status -d 'show the state "
                      "of a run"),
            HasSubstr("-n '__smelt_at \"smelt bench\"' -l device -x -a 'auto cpu gpu tpu'\n"),
            HasSubstr("-n '__smelt_at \"smelt run\"' -l set -x -a \"$__smelt_fields\"\n"),
            HasSubstr(" train.device= train.device=auto "), HasSubstr("-l quiet\n")));
}

TEST(Help, ExplainsARecipeField) {
  EXPECT_EQ(program("help train.device").text,
            "train.device\n  cpu, gpu or tpu; auto: the machine's TPU or GPU, else the CPU\n\n"
            "  section    train\n  default    \"cpu\"\n  choices    auto, cpu, gpu, tpu\n"
            "  example    smelt run recipe.yaml --set train.device=auto\n");
  EXPECT_THAT(program("help recipe data.dupe_factor").text, HasSubstr("  types      bert"));
  EXPECT_THAT(program("help train.stepps").text,
              HasSubstr("no recipe field 'train.stepps'\n  hint: did you mean 'train.steps'?"));
  const std::string train = program("help recipe train").text;
  EXPECT_THAT(train, AllOf(HasSubstr("train.steps "), Not(HasSubstr("eval.steps"))));
  EXPECT_THAT(program("help recipe trian").text, HasSubstr("a recipe has no section 'trian'"));
  EXPECT_THAT(program("help recipe --type t5").text, HasSubstr("model.d_model"));
}

TEST(Help, ContainsCommonSearchWords) {
  const std::string all = program("help").text + program("help recipe").text +
                          program("help run").text + program("help compress").text;
  for (const char* word :
       {"inference", "quantize", "checkpoint", "learning rate", "resume", "pretrain"})
    EXPECT_THAT(all, HasSubstr(word));
}

}  // namespace
}  // namespace smelt::cli
