// smelt generate with the T5 of a run: texts, files and standard input, and rejected arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/command.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

using testing::HasSubstr;

class Generate : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    std::string text;
    for (int d = 0; d < 60; ++d)
      text += str("the cat sees a dog and ", d, " birds\na dog likes the cat ", d, " times\n\n");
    io::write_file(dir_.file("text.txt"), text);
    io::write_file(
        dir_.file("r.yaml"),
        "text: {input: text.txt, sentences: lines, dedup: none, heldout: 0.3}\n"
        "vocab: {type: unigram, size: 60}\ndata: {inputs_length: 24, extra_ids: 8}\n"
        "model: {type: t5, d_model: 16, d_kv: 4, d_ff: 16, num_layers: 1, num_heads: 2}\n"
        "train: {batch_size: 4, steps: 2, checkpoint.save_interval_steps: 2}\neval: "
        "{batch_size: 4}\n");
    const CommandOutput made = in("run r.yaml --set out=mine");
    ASSERT_EQ(made.status, 0) << made.text;
    EXPECT_THAT(made.text, HasSubstr("next:\n  smelt generate mine --text "));
  }
  CommandOutput in(const std::string& arguments) const {
    return run_command(str("cd ", dir_.file("."), " && ", smelt_program(), " ", arguments));
  }
  CommandOutput answers(const std::string& arguments) const {
    return in("generate mine --max-length 6 " + arguments);
  }
  void expect_refused(const std::string& arguments, const std::string& message) const {
    const CommandOutput got = answers(arguments);
    EXPECT_EQ(got.status, 2) << got.text;
    EXPECT_THAT(got.text, HasSubstr(message));
  }

  TempDir dir_;
};

TEST_F(Generate, GivesTheSameAnswersForTextFileAndStandardInput) {
  const std::string texts[] = {"the cat sees <extra_id_0> birds", "a dog"};
  const CommandOutput by_text =
      answers(str("--text '", texts[0], "' --text '", texts[1], "' 2>log"));
  EXPECT_EQ(by_text.status, 0) << io::read_file(dir_.file("log"));
  EXPECT_EQ(std::ranges::count(by_text.text, '\n'), 2);
  io::write_file(dir_.file("in.txt"), texts[0] + "\n" + texts[1] + "\n");
  EXPECT_EQ(answers("--input in.txt --out out.txt").status, 0);
  EXPECT_EQ(io::read_file(dir_.file("out.txt")), by_text.text);
  EXPECT_EQ(answers("--batch 1 <in.txt 2>log").text, by_text.text);
  io::write_file(dir_.file("in.jsonl"),
                 Json{{"q", texts[0]}}.dump() + "\n" + Json{{"q", texts[1]}}.dump());
  const CommandOutput rows = answers("--input in.jsonl --field q --devices 2 2>log");
  EXPECT_EQ(rows.text, by_text.text) << io::read_file(dir_.file("log"));

  const std::string beams = "--beams 3 --answers 2 --input in.txt ";
  const CommandOutput of_beams = answers(beams + "2>log");
  EXPECT_EQ(std::ranges::count(of_beams.text, '\n'), 4) << of_beams.text;
  EXPECT_EQ(answers(beams + "--devices 2 2>log").text, of_beams.text);

  const CommandOutput got = answers("--beams 3 --answers 2 --json --text 'the cat' 2>log");
  ASSERT_EQ(got.status, 0) << io::read_file(dir_.file("log"));
  const Json answered = Json::parse(got.text);
  EXPECT_EQ(answered["text"], "the cat");
  ASSERT_EQ(answered["answers"].size(), 2u);
  EXPECT_GE(answered["answers"][0]["score"], answered["answers"][1]["score"]);
  const std::string sampled = "--sample --answers 3 --top-p 0.9 --seed 5 --text 'the cat' 2>log";
  EXPECT_EQ(answers(sampled).text, answers(sampled + " --devices 4 --mesh fsdp=2,tensor=2").text);
  EXPECT_THAT(answers(sampled).text, HasSubstr("\t"));
}

// The model has 8 sentinel tokens instead of the original's 100, which every format must keep.
TEST_F(Generate, GivesTheSameAnswerForEveryModelFormat) {
  const std::string asked = " --max-length 6 --text 'the cat <extra_id_0> birds' --json 2>log";
  const std::string of_run = in("generate mine" + asked).text;
  ASSERT_THAT(of_run, HasSubstr("\"score\""));
  ASSERT_EQ(in("convert mine/model tf/model.ckpt").status, 0);
  ASSERT_EQ(in("convert tf/model.ckpt again --to smelt").status, 0);
  for (const char* form : {"mine/model", "mine/huggingface", "tf/model.ckpt", "again"})
    EXPECT_EQ(in(str("generate ", form, asked)).text, of_run)
        << form << io::read_file(dir_.file("log"));
  io::write_file(dir_.file("other.model"), "x");
  EXPECT_THAT(
      in("generate mine/huggingface --vocab other.model" + asked + "; cat log").text,
      HasSubstr("--vocab: other.model is not mine/huggingface/spiece.model, the vocabulary"));
  EXPECT_EQ(in("clean mine --yes").status, 0);
  EXPECT_THAT(in("eval mine").text, HasSubstr("only knows token frequencies"));
}

// Beams that have not ended at the maximum length are returned as answers, too.
TEST_F(Generate, PrintsOneLinePerRequestedAnswer) {
  const std::string few = "generate mine --max-length 1 --beams 23 --answers 23 --text 'the cat' ";
  const Json answered = Json::parse(in(few + "--json 2>log").text);
  ASSERT_EQ(answered["answers"].size(), 23u) << answered;
  const std::string lines = in(few + "2>log").text;
  EXPECT_EQ(std::ranges::count(lines, '\n'), 23) << lines;
  EXPECT_EQ(std::ranges::count(lines, '\t'), 23) << lines;
}

TEST_F(Generate, AddsThePrefixOfAFineTunedModel) {
  std::string rows;
  for (int i = 0; i < 12; ++i)
    rows += Json{{"source", str("the cat ", i)}, {"target", "a dog"}}.dump() + "\n";
  io::write_file(dir_.file("rows.jsonl"), rows);
  io::write_file(
      dir_.file("ft.yaml"),
      "data: {train: rows.jsonl, inputs_length: 16, targets_length: 6, prefix: 'a dog '}\n"
      "model: {type: text_to_text}\ntrain: {init_from: mine, batch_size: 4, steps: 1}\n"
      "eval: {batch_size: 4}\n");
  const CommandOutput made = in("run ft.yaml --set out=ft");
  ASSERT_EQ(made.status, 0) << made.text;
  EXPECT_THAT(made.text, HasSubstr("next:\n  smelt generate ft --text 'a text'\n"));
  const std::string asked = " --max-length 6 --text 'the cat' --json 2>log";
  const std::string of_run = in("generate ft" + asked).text;
  EXPECT_EQ(in("generate ft --prefix 'a dog '" + asked).text, of_run);
  EXPECT_EQ(in("generate ft/model" + asked).text, of_run);
  EXPECT_EQ(in("generate ft/huggingface" + asked).text, of_run);
  EXPECT_NE(in("generate ft --prefix ''" + asked).text, of_run);
  const CommandOutput shown =
      in("data inspect ft/data/heldout.tfrecord --vocab ft/vocab.model --samples 1");
  EXPECT_EQ(shown.status, 0) << shown.text;
  EXPECT_THAT(shown.text, HasSubstr("  inputs: "));
  EXPECT_THAT(shown.text, HasSubstr(" </s>\n  targets: "));
}

TEST_F(Generate, RejectsInvalidFlags) {
  io::write_file(dir_.file("out.txt"), "mine");
  expect_refused("--text a --out out.txt", "generate: --out out.txt exists already");
  expect_refused("--field question", "generate: --field without --input");
  expect_refused("--text a --mesh tensor=2", "--mesh 'tensor=2' has 2 devices, but --devices is 1");
  expect_refused("--text a --devices 4 --mesh tensor=4",
                 "SelfAttention/q is 2, which 4 devices of axis 'tensor' do not divide");
  expect_refused("--text a --early-stopping yes",
                 "early stopping and length penalty require beam search");
  EXPECT_THAT(in("generate mine --text a --max-length 1000000").text,
              HasSubstr("answers of 1000000 take about "));
  io::write_file(dir_.file("rows.jsonl"), "{\"text\": \"a\"}\n{\"txt\": \"a\"}\n");
  expect_refused("--input rows.jsonl", "rows.jsonl:2: unreadable row: ");
  EXPECT_THAT(in("generate mine --text \"$(printf 'a\\377b')\"").text,
              HasSubstr("--text: removed 1 byte (invalid UTF-8 or NUL)"));
  expect_refused("--text a --input in.txt", "generate: --text and --input cannot be combined");
  expect_refused("--text a --beams 40", "generate: 40 beams, must be from 1 to 23");
  EXPECT_THAT(in("generate mine --text a --max-length 100000000000").text,
              HasSubstr("answers of 100000000000 take about "));
  expect_refused("--text a --answers 2", "hint: add --sample or --beams");
  expect_refused("--input rows.jsonl", "rows.jsonl");
  io::write_file(dir_.file("bad.jsonl"), "{\"text\": \"a\"}\nno row\n");
  expect_refused("--input bad.jsonl --out bad.txt", "bad.jsonl:2: unreadable row");
  EXPECT_FALSE(io::exists(dir_.file("bad.txt")));

  const CommandOutput got = answers("--max-inputs 4 --text 'the cat sees a dog and birds'");
  EXPECT_EQ(got.status, 0);
  EXPECT_THAT(got.text, HasSubstr("1 text is longer than 4 tokens and truncated"));
}

}  // namespace
}  // namespace smelt::cli
