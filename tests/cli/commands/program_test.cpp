// The program as a user runs it: messages and exit codes, and a whole recipe on a small text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/json.h"
#include "base/philox.h"
#include "io/filesystem/file.h"
#include "pipeline/config/recipe.h"
#include "pipeline/objectives/load_recipe.h"
#include "support/environment.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Program, SuggestsTheNearestFlagOrCommand) {
  expect_refusal("vocab train --input a --out b --overwrit",
                 AllOf(HasSubstr("smelt vocab train: unknown flag --overwrit"),
                       HasSubstr("hint: did you mean '--overwrite'?")));
  expect_refusal("create_pretraining_data --input_files=a --output_file=b --vocab_file=c",
                 HasSubstr("did you mean '--input_file'?"));
  expect_refusal("rnu x.yaml", HasSubstr("did you mean 'run'?"));
  expect_refusal("new brt", HasSubstr("did you mean 'bert'?"));
  expect_refusal("pretrian x.yaml", HasSubstr("did you mean 'pretrain'?"));
  expect_refusal("trian x.yaml", HasSubstr("did you mean 'train'?"));
  expect_refusal("vocab train --out b", HasSubstr("--input is required"));
  expect_refusal("data bert --dedup nearly",
                 HasSubstr("error: --dedup 'nearly' is unknown\n  hint: did you mean 'near'?"));
  expect_refusal("data tokens --sentences line", HasSubstr("--sentences 'line' is unknown"));
  expect_refusal("vocab train --format json", HasSubstr("--format 'json' is unknown"));
  expect_refusal("vocab train --type unigramm", HasSubstr("did you mean 'unigram'?"));
  expect_refusal("help tain", HasSubstr("hint: did you mean 'train'?"));
  expect_refusal("help vocab tain", HasSubstr("hint: did you mean 'train'?"));
  expect_refusal("--quiet", HasSubstr("subcommand is required"));
  expect_refusal("rnu x.yaml", HasSubstr("error: smelt: no command 'rnu'\n"));
}

TEST(Program, NewWarnsAboutAMissingInput) {
  const CommandOutput missing = run_smelt("new classify --input none.tsv");
  EXPECT_EQ(missing.status, 0);
  EXPECT_THAT(missing.text, HasSubstr("warning: new: none.tsv not found\n"));
  EXPECT_THAT(run_smelt("new classify --input 'none*.tsv'").text, Not(HasSubstr("not found")));
}

TEST(Program, NewRefusesWeightsOfAnotherFamily) {
  const TempDir dir;
  io::write_file(dir.file("bert/config.json"), R"({"model_type": "bert"})");
  io::write_file(dir.file("xlmr/config.json"), R"({"model_type": "xlm-roberta"})");
  expect_refusal("new modernbert --init " + dir.file("bert"),
                 HasSubstr("bert is a model of type bert, not modernbert\n  hint: use `smelt new "
                           "continue`"));
  expect_refusal("new deberta --init " + dir.file("xlmr"),
                 HasSubstr("xlmr is a model of type xlm-roberta, not deberta-v2\n  hint: name a "
                           "folder of that type, or remove --init"));
  EXPECT_EQ(run_smelt("new roberta --init " + dir.file("xlmr")).status, 0);
}

TEST(Program, ReportsAFailedWriteToStandardOutput) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  for (const char* words : {"help recipe", "--version"}) {
    const CommandOutput output = run_command(str("(", smelt_program(), " ", words, " >/dev/full)"));
    EXPECT_EQ(output.status, 1);
    EXPECT_THAT(output.text, HasSubstr("standard output: cannot be written to"));
  }
}

class RecipeTest : public testing::Test {
 protected:
  std::string recipe(std::string_view text) {
    io::write_file(dir_.file("r.yaml"), text);
    return dir_.file("r.yaml");
  }
  void expect_refused(std::string_view text, const std::string& more,
                      const testing::Matcher<std::string>& message) {
    expect_refusal(str("run ", recipe(text), " ", more), message);
  }
  TempDir dir_;
};

TEST_F(RecipeTest, ReportsInvalidFields) {
  expect_refused("train: {stepz: 3}", "",
                 AllOf(HasSubstr("r.yaml: unknown field 'train.stepz'"),
                       HasSubstr("did you mean 'train.steps'?")));
  expect_refused("train: {steps: many}", "",
                 HasSubstr("train.steps is 'many', not a whole number"));
  expect_refused("train: {steps: }", "", HasSubstr("train.steps is neither a value nor a section"));
  expect_refused("out: x\ntext:\n  input: [a, b]", "",
                 AllOf(HasSubstr("r.yaml:3: text.input is a list, not one value"),
                       HasSubstr("with commas: a.txt,b.txt")));
  expect_refused("train: {steps: 0}", "",
                 HasSubstr("r.yaml: train.steps is 0, must be at least 1"));
  expect_refused("text: {max_bad: 2}", "", HasSubstr("text.max_bad is 2, must be from 0 to 1"));
  expect_refused("text: {heldout: 0.9}", "", HasSubstr("text.heldout is 0.9"));
  expect_refused("text: {heldout: 0}", "", HasSubstr("text.heldout is 0, must be above 0"));
  expect_refused("out: x", "--set train.steps=0",
                 HasSubstr("--set: train.steps is 0, must be at "));
  expect_refused("out: x", "--set eval.batch_size=0",
                 HasSubstr("--set: eval.batch_size is 0, must be at least 1"));
  expect_refused("train: {devices: 4}", "--set eval.batch_size=6",
                 HasSubstr("--set: eval.batch_size 6 does not divide over train.devices 4"));
  expect_refused("train: {optimizer.learning_rate: .nan}", "",
                 HasSubstr("train.optimizer.learning_rate is nan, must be a finite number"));
  expect_refused("out: x", "--set model.hidden_act=gello",
                 AllOf(HasSubstr("--set: model: hidden_act is 'gello'"), HasSubstr("'gelu'")));
  expect_refused("out: x", "--set model.intermediate_size=0",
                 HasSubstr("--set: model: intermediate_size is 0"));
  expect_refused("data: {masked_lm_prob: 7}", "", HasSubstr("data.masked_lm_prob is 7, must be"));
  expect_refused("model: {type_vocab_size: 1}", "",
                 HasSubstr("no segment type for the second sentence"));
  expect_refused("text: {format: xml}", "", HasSubstr("r.yaml: text.format 'xml' is unknown"));
  expect_refused("text: {sentences: all}", "", HasSubstr("text.sentences 'all' is unknown"));
  expect_refused(
      "out: x", "--set text.dedup=all",
      AllOf(HasSubstr("--set: text.dedup 'all' is unknown"), HasSubstr("known: none, ")));
  expect_refused("- a\n- list", "", HasSubstr("r.yaml: not a recipe: it has no fields"));
  expect_refusal("bench --devices 0", HasSubstr("--devices"));
  expect_refused("train: {checkpoint.save_interval_steps: 5, checkpoint.keep_period: 7}", "",
                 HasSubstr("train.checkpoint.keep_period 7 is not a multiple of "
                           "train.checkpoint.save_interval_steps 5"));
  expect_refused("train: {checkpoint.best_metric: masked_lm_loss}", "",
                 HasSubstr("train.checkpoint.best_metric is masked_lm_loss, but eval.every is 0"));
  expect_refused("train: {checkpoint.save_interval_minutes: -1}", "",
                 HasSubstr("train.checkpoint.save_interval_minutes is -1, must be"));
  expect_refused("train: {optimizer.type: adam}", "", HasSubstr("train.optimizer.type is 'adam'"));
  expect_refused("train: {parallelism.reduction: both}", "",
                 HasSubstr("train.parallelism.reduction is 'both'"));
  expect_refused("vocab: {strip_accents: maybe}", "", HasSubstr("vocab.strip_accents is 'maybe'"));
  expect_refused("data: {seq_length: 1000}", "",
                 HasSubstr("data.seq_length 1000 is longer than model.max_position_embeddings 512\n"
                           "  hint: add --set data.seq_length=512, or raise"));
  expect_refused("model: {hidden_size: 100}", "", HasSubstr("hidden_size 100 is not a multiple"));
  expect_refused("out: x\na: b: c", "", HasSubstr("r.yaml:2: not YAML"));
  expect_refused("out: x\ntrain:\n\tsteps: 3\n", "",
                 HasSubstr("r.yaml:3: a tab at the beginning of the line: YAML is indented by "
                           "spaces only\n  hint: replace the tab by two spaces"));
  expect_refused("", "", HasSubstr("r.yaml: the file is empty\n  hint: write a recipe: smelt new"));
  expect_refusal("new bert --input " + dir_.path(),
                 HasSubstr(" is a folder\n  hint: name the files"));
  io::write_file(dir_.file("uk.txt"), "Some text: of a corpus: and more.\nAnother line.\n");
  expect_refusal(str("run ", dir_.file("uk.txt")),
                 HasSubstr("uk.txt is neither a recipe nor a model\n  hint: name a recipe (YAML)"));
  expect_refused("out: x", "--set train.steps", HasSubstr("--set train.steps: no '='"));
  expect_refused("out: x", "--set train.step=3", HasSubstr("did you mean 'train.steps'?"));
  expect_refused("out: x", "--set steps=20",
                 HasSubstr("hint: did you mean 'train.steps' or 'eval.steps'?"));
  expect_refused("out: x", "--set train.steps:40", HasSubstr("hint: write --set train.steps=40"));
  expect_refusal("run " + dir_.file("none"), HasSubstr("none: no such recipe file or run folder"));
  expect_refusal("run " + dir_.file("rr"), HasSubstr("did you mean '" + dir_.file("r.yaml'?")));
}

TEST_F(RecipeTest, RejectsRepeatedFieldsAndSections) {
  expect_refused("train:\n  steps: 1\n  seed: 2\n  steps: 3", "",
                 HasSubstr("r.yaml:4: train.steps is already set on line 2"));
  expect_refused("train: {steps: 1}\nout: x\ntrain: {seed: 2}", "",
                 HasSubstr("r.yaml:3: train is already set on line 1"));
}

TEST_F(RecipeTest, ChecksInputAndOutputFirst) {
  const std::string out = str("out: ", dir_.file("out"), "\n");
  expect_refused("out: ''", "", HasSubstr("r.yaml: out is empty"));
  for (const char* command : {"eval ", "fill --text '[MASK]' "})
    expect_refusal(command + recipe(out), HasSubstr("out: no checkpoint yet\n  hint: `smelt run "));
  expect_refused(out, "", HasSubstr("text.input: no text"));
  expect_refused(out, str("--set text.input='", dir_.file("*.none"), "'"),
                 HasSubstr("no file matches"));
  fs::create_directory(dir_.file("sub"));
  for (const char* input : {"sub", "su*"})
    expect_refused(out, "--set text.input=" + dir_.file(input),
                   AllOf(HasSubstr("text.input: "), HasSubstr(" is a folder\n  hint: name the ")));
  io::write_file(dir_.file("text.txt"), "Some text.\n");
  io::write_file(dir_.file("latin1.txt"), "fine\n\ncaf\xe9\n");
  expect_refused(str("out: ", dir_.file("strict"),
                     "\ntext: {strict: true, input: ", dir_.file("latin1.txt"), "}"),
                 "", HasSubstr("latin1.txt:3: not UTF-8 (1 byte)"));
  io::write_file(dir_.file("out/mine"), "precious");
  expect_refused(out, "--set text.input=" + dir_.file("text.txt"),
                 HasSubstr("is not empty and not the folder of a run"));
  EXPECT_EQ(io::read_file(dir_.file("out/mine")), "precious");
}

TEST_F(RecipeTest, ReportsAMissingDeviceBeforeAnyStage) {
  io::write_file(dir_.file("text.txt"), "Some text.\n");
  const ScopedVariable plugin("SMELT_GPU_PLUGIN", "/no/such.so");
  expect_refused(str("out: ", dir_.file("out"),
                     "\ntrain: {device: gpu}\ntext: {input: ", dir_.file("text.txt"), "}"),
                 "", HasSubstr("SMELT_GPU_PLUGIN: there is no file '/no/such.so'"));
  EXPECT_FALSE(fs::exists(dir_.file("out")));
}

TEST(Program, HelpWithoutAnArgumentPrintsTheMainHelp) {
  const CommandOutput output = run_smelt("help");
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(output.text, run_smelt("--help").text);
  EXPECT_THAT(output.text, AllOf(HasSubstr("create_pretraining_data"),
                                 HasSubstr("`smelt help recipe` lists the fields")));
}

TEST(Program, HelpListsEveryFieldOfARecipe) {
  const CommandOutput output = run_smelt("help recipe");
  EXPECT_EQ(output.status, 0);
  EXPECT_GT(pipeline::recipe_fields().size(), 40u);
  for (const pipeline::RecipeField& field : pipeline::recipe_fields())
    EXPECT_THAT(output.text, AllOf(HasSubstr(field.path), HasSubstr(field.help)));
}

// Sentences of a small grammar: something to learn, and the same on every machine.
std::string grammar_text(int documents) {
  const std::vector<std::string> subjects{"the cat", "a dog", "the old man", "our neighbour",
                                          "this bird"};
  const std::vector<std::string> verbs{"sees", "likes", "follows", "remembers", "finds"};
  const std::vector<std::string> objects{"the red house", "a small river", "the garden",
                                         "every tree", "some bread"};
  std::string text;
  std::uint64_t drawn = 0;
  const auto draw = [&](const auto& words) {
    return words[philox(5, drawn++, 0)[0] % words.size()];
  };
  for (int d = 0; d < documents; ++d) {
    for (int s = 0; s < 12; ++s)
      text += str(draw(subjects), " ", draw(verbs), " ", draw(objects), ".\n");
    text += "\n";
  }
  return text;
}

class WholeRecipe : public RecipeTest {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    io::write_file(dir_.file("text.txt"), grammar_text(60));
    recipe(str("text: {input: ", dir_.file("text.txt"),
               ", sentences: lines, dedup: none, heldout: 0.1}\n", "vocab: {size: 150}\n",
               "data: {seq_length: 32, max_predictions: 5, dupe_factor: 2}\n",
               "model: {hidden_size: 32, num_hidden_layers: 1, num_attention_heads: 2, "
               "intermediate_size: 64,\n",
               "  max_position_embeddings: 32, type_vocab_size: 2, initializer_range: 0.05}\n",
               "train: {batch_size: 16, steps: 300, optimizer.learning_rate: 3e-3, "
               "schedule.warmup_steps: 30, "
               "checkpoint.save_interval_steps: 20}\n",
               "eval: {batch_size: 8}\n"));
  }
  std::string on(const std::string& out) const {
    return str(" ", dir_.file("r.yaml"), " --set out=", dir_.file(out));
  }
  std::map<std::string, std::string> files(const std::string& folder) const {
    std::map<std::string, std::string> content;
    for (const auto& entry : fs::recursive_directory_iterator(dir_.file(folder)))
      if (entry.is_regular_file())
        content[fs::relative(entry.path(), dir_.file(folder)).string()] =
            io::read_file(entry.path().string());
    return content;
  }
};

TEST_F(WholeRecipe, TrainsAndSkipsStagesThatAreUpToDate) {
  const CommandOutput first = run_smelt("run" + on("m"));
  ASSERT_EQ(first.status, 0) << first.text;
  const std::string results = io::read_file(dir_.file("m/model/eval_results.txt"));
  EXPECT_THAT(results,
              testing::MatchesRegex("global_step = 300\nloss = .*\nmajority_token_accuracy = "
                                    ".*\nmasked_lm_accuracy = .*\nmasked_lm_loss = .*\n"
                                    "next_sentence_accuracy = .*\nnext_sentence_loss = .*\n"));
  const auto before = files("m");
  const CommandOutput second = run_smelt("run" + on("m"));
  EXPECT_EQ(second.status, 0);
  for (const char* stage : {"text", "vocab", "data", "train", "eval", "export"})
    EXPECT_THAT(second.text, HasSubstr(str(stage, ": up to date")));
  EXPECT_EQ(files("m"), before);

  const CommandOutput filled =
      run_smelt("fill" + on("m") + " --text 'the [MASK] man sees a dog.' --top 2");
  EXPECT_EQ(filled.status, 0) << filled.text;
  EXPECT_THAT(filled.text, HasSubstr(" %"));
  const CommandOutput evaluated = run_smelt("eval" + on("m") + " --json 2>/dev/null | cat");
  ASSERT_EQ(evaluated.status, 0) << evaluated.text;
  const auto figures = Json::parse(evaluated.text);  // there is no other output
  EXPECT_EQ(figures["global_step"], 300);
  EXPECT_GT(figures["masked_lm_accuracy"].get<double>(),
            1.5 * figures["majority_token_accuracy"].get<double>());
  const CommandOutput without =
      run_smelt("eval" + on("m") + " --json --set data.next_sentence=false");
  EXPECT_EQ(without.status, 0) << without.text;
  EXPECT_THAT(without.text, testing::Not(HasSubstr("next_sentence")));
  EXPECT_EQ(run_smelt("export" + on("m") + " --out " + dir_.file("hf")).status, 0);
  expect_refusal("export" + on("m") + " --out " + dir_.file("hf"),
                 HasSubstr("exists and is not empty"));
}

TEST_F(WholeRecipe, RejectedRunLeavesTheModelUnchanged) {
  ASSERT_EQ(run_smelt("run" + on("m") + " --set train.steps=20").status, 0);
  const auto before = files("m");
  expect_refusal("run" + on("m") + " --set data.dupe_factor=3",
                 HasSubstr("contains a model of other data: data.dupe_factor was 2, is 3"));
  expect_refusal("run" + on("m") + " --set vocab.lower_case=true",
                 HasSubstr("vocab.lower_case was false, is true"));
  expect_refusal("train" + on("m") + " --set train.seed=9",
                 HasSubstr("was made with train.seed 12345, this run has 9"));
  expect_refusal("export" + on("m") + " --set model.num_attention_heads=4 --out " + dir_.file("x"),
                 HasSubstr("was made with model.num_attention_heads 2, this run has 4"));
  EXPECT_EQ(files("m"), before);
}

TEST_F(WholeRecipe, StaysUpToDateIfItsFolderIsMoved) {
  const std::string there = str("cd ", dir_.path(), " && ", smelt_program(), " run r.yaml ");
  ASSERT_EQ(run_command(there + "--set train.steps=20 --set out=m").status, 0);
  for (const std::string& out : {std::string("./m"), dir_.file("m"), std::string("n")}) {
    if (out == "n") fs::rename(dir_.file("m"), dir_.file("n"));
    const CommandOutput again = run_command(str(there, "--set train.steps=20 --set out=", out));
    EXPECT_EQ(again.status, 0) << again.text;
    for (const char* stage : {"text", "vocab", "data", "train", "eval", "export"})
      EXPECT_THAT(again.text, HasSubstr(str(stage, ": up to date")));
  }
}

TEST_F(WholeRecipe, SavesACheckpointAtASignal) {
  const auto stopped_by = [&](const std::string& out, const std::string& signals) {
    const std::string seen = dir_.file(out + "/model/checkpoint-20");
    return run_command(str("bash -c 'set -m; ", smelt_program(), " run", on(out),
                           " --set train.steps=1000000000 & pid=$!; while [ ! -d ", seen,
                           " ] && kill -0 $pid; do sleep 0.01; done; kill -STOP $pid; ", signals,
                           "; kill -CONT $pid; while kill -0 $pid 2>/dev/null; do sleep 0.01; "
                           "done; wait $pid'"));
  };
  // SIGTERM and SIGHUP come together at a shutdown.
  for (const auto& [out, signals] :
       {std::pair("m", "kill -HUP $pid"), std::pair("n", "kill -TERM $pid; kill -HUP $pid")}) {
    const CommandOutput stopped = stopped_by(out, signals);
    EXPECT_EQ(stopped.status, 75) << stopped.text;
    EXPECT_THAT(stopped.text, AllOf(HasSubstr("again to stop immediately"),
                                    HasSubstr("stopped: train: stopped by a signal at step "),
                                    HasSubstr("hint: run the same command again to resume")));
    const CommandOutput resumed = run_smelt("pretrain" + on(out) + " --resume --set train.steps=1");
    EXPECT_EQ(resumed.status, 0) << resumed.text;
    EXPECT_THAT(resumed.text, HasSubstr("beyond train.steps 1: no steps are left"));
  }
}

// Nobody reads the output any more if `| tee log` ends at Ctrl-C or the connection is lost.
TEST_F(WholeRecipe, ContinuesAndSavesAtASignalAfterItsOutputPipeCloses) {
  const std::string seen = dir_.file("m/model/checkpoint-20"), status = dir_.file("status"),
                    pid = dir_.file("pid"), vocab = dir_.file("v.txt");
  // Runs smelt with a reader that closes the pipe after one line and then runs the commands `rest`.
  // Returns the exit status of smelt.
  const auto run_unread = [&](const std::string& words, const std::string& rest) {
    run_command(str("{ ", smelt_program(), " ", words, " & echo $! > ", pid,
                    "; wait $!; echo $? > ", status, "; } 2>&1 | { head -n 1; exec </dev/null; ",
                    rest, " }"));
    return io::read_file(status);
  };
  EXPECT_EQ(run_unread("run" + on("m") + " --set train.steps=1000000000",
                       str("until [ -d ", seen, " ] || [ -s ", status,
                           " ]; do sleep 0.01; done; kill -TERM $(cat ", pid, ");")),
            "75\n");
  EXPECT_THAT(run_smelt("status " + dir_.file("m")).text, HasSubstr("stopped"));
  EXPECT_EQ(run_unread("vocab train --input " + dir_.file("text.txt") + " --size 60 --out " + vocab,
                       ":;"),
            "0\n");
  EXPECT_TRUE(fs::exists(vocab));
}

TEST_F(WholeRecipe, FollowsTheResumeFreshAndInitFromFlags) {
  const std::string few =
      on("m") + " --set train.steps=3 --set train.checkpoint.save_interval_steps=3";
  expect_refusal("run" + few + " --resume",
                 HasSubstr(dir_.file("m/model") + " contains no checkpoint to resume"));
  EXPECT_FALSE(fs::exists(dir_.file("m")));  // rejected before any stage runs
  expect_refusal("run" + few + " --resume --fresh", HasSubstr("--fresh"));
  expect_refusal("run" + few + " --overwrite", HasSubstr("--fresh"));
  ASSERT_EQ(run_smelt("run" + few + " --fresh").status, 0);
  expect_refusal("run" + few + " --fresh",
                 HasSubstr("m/model/checkpoint-3 exists, but --fresh requires a new run"));
  const CommandOutput anew = run_smelt("run" + few + " --fresh --overwrite");
  EXPECT_THAT(anew.text, HasSubstr("train: new run in " + dir_.file("m/model")));
  const CommandOutput taken =
      run_smelt("run" + on("n") + " --set train.steps=3 --init-from " + dir_.file("m/model"));
  EXPECT_EQ(taken.status, 0) << taken.text;
  EXPECT_THAT(taken.text, HasSubstr("weights of " + dir_.file("m/model/checkpoint-3")));
}

TEST_F(WholeRecipe, GivesTheSameBytesAfterAKill) {
  ASSERT_EQ(run_smelt("run" + on("whole")).status, 0);
  for (const char* reached : {"20", "160"}) {  // kill -9 as soon as this checkpoint exists
    const std::string seen = dir_.file(str("killed/model/checkpoint-", reached));
    const CommandOutput killed = run_command(
        str("exec 2>/dev/null; ", smelt_program(), " run", on("killed"), " & pid=$!; while [ ! -d ",
            seen, " ] && kill -0 $pid; do sleep 0.01; done; kill -9 $pid; wait $pid"));
    ASSERT_EQ(killed.status, 128 + 9) << reached;
    ASSERT_TRUE(fs::exists(seen));
    ASSERT_FALSE(fs::exists(dir_.file("killed/model/checkpoint-300")));
    EXPECT_THAT(run_smelt("status " + dir_.file("killed")).text,
                AllOf(HasSubstr("state     not running: "), Not(HasSubstr("\nleft ")),
                      HasSubstr(str("\nresume    smelt run ", dir_.file("killed"), "\n"))));
  }
  const CommandOutput last = run_smelt("run" + on("killed"));
  ASSERT_EQ(last.status, 0) << last.text;
  EXPECT_THAT(last.text, HasSubstr("resuming from"));
  EXPECT_EQ(files("killed/model/checkpoint-300"), files("whole/model/checkpoint-300"));
  EXPECT_EQ(files("killed/huggingface"), files("whole/huggingface"));
}

}  // namespace
}  // namespace smelt::cli
