#include "data/preprocess/prose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::HasSubstr;

class Prose : public testing::Test {
 protected:
  ProseJob job(std::string_view text, text::Cut sentences) {
    io::write_file(dir_.file("in.txt"), text);
    ProseJob job{.text = {},
                 .train_out = dir_.file("train"),
                 .heldout_out = dir_.file("heldout"),
                 .heldout = 0.2,
                 .seed = 1};
    job.text.input = dir_.file("in.txt");
    job.text.sentences = sentences;
    job.text.dedup = text::Dedup::lines;
    return job;
  }
  std::string refusal(const ProseJob& job) {
    try {
      prepare_prose(job);
    } catch (const UsageError& error) {
      EXPECT_FALSE(std::filesystem::exists(dir_.file("train")));
      EXPECT_FALSE(std::filesystem::exists(dir_.file("heldout")));
      return error.what();
    }
    return "no error";
  }
  CapturedLog log_;
  TempDir dir_;
};

// Paragraphs of two sentences, 40 sentences to a document.
std::string paragraphs(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += str("Sentence number ", i, ".\nIs it\nalso here? \n\n");
  return text;
}

TEST_F(Prose, SplitsTextIntoSentencesAndDocuments) {
  const ProseSummary s = prepare_prose(job(paragraphs(40), text::Cut::prose));
  EXPECT_EQ(s.documents, 2);
  EXPECT_EQ(s.heldout_documents, 1);
  EXPECT_EQ(s.sentences, 80);
  EXPECT_THAT(io::read_file(dir_.file("heldout")),
              testing::StartsWith("Sentence number 0.\nIs it also here?\nSentence number 1.\n"));
  EXPECT_THAT(io::read_file(dir_.file("train")), testing::EndsWith("Is it also here?\n\n"));
}

TEST_F(Prose, DropsDuplicateParagraphs) {
  const ProseSummary s = prepare_prose(job(paragraphs(40) + paragraphs(3), text::Cut::prose));
  EXPECT_EQ(s.read.duplicate_lines, 3u);
  EXPECT_EQ(s.sentences, 80);
}

TEST_F(Prose, DoesNotChangeTextWithOneSentencePerLine) {
  ProseJob lines = job("One. Two.\nThree\n\n\nFour\n\nFive\n", text::Cut::lines);
  lines.heldout = 1e-9;  // only the first document, which always is
  const ProseSummary s = prepare_prose(lines);
  EXPECT_EQ(s.documents, 3);
  EXPECT_EQ(s.sentences, 4);
  EXPECT_EQ(io::read_file(dir_.file("heldout")), "One. Two.\nThree\n\n");
}

TEST_F(Prose, HoldsOutTheRequestedShareDeterministically) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += str("Document ", i, "\n\n");
  const ProseJob sentences = job(text, text::Cut::lines);
  const ProseSummary s = prepare_prose(sentences);
  EXPECT_NEAR(static_cast<double>(s.heldout_documents), 400, 60);
  const std::string first = io::read_file(dir_.file("heldout"));
  prepare_prose(sentences);
  EXPECT_EQ(io::read_file(dir_.file("heldout")), first);
}

TEST_F(Prose, HoldsOutOneOfTwoDocumentsForAnyShare) {
  for (const double share : {1e-9, 0.05, 0.999}) {
    ProseJob two = job("a\n\nb\n", text::Cut::lines);
    two.heldout = share;
    prepare_prose(two);
    EXPECT_EQ(io::read_file(two.heldout_out), "a\n\n");
    EXPECT_EQ(io::read_file(two.train_out), "b\n\n");
  }
}

TEST_F(Prose, WarnsOfAnInaccurateShare) {
  prepare_prose(job("One.\nTwo.\nThree.\n\nFour.\n", text::Cut::lines));
  EXPECT_THAT(log_.text(),
              HasSubstr("text: 1 of 2 documents is held out, with 3 of 4 sentences: 75.0 % of the "
                        "text, but text.heldout is 20.0 %"));
  ProseJob all =
      job("One.\n\nTwo.\nThree.\nFour.\nFive.\nSix.\nSeven.\nEight.\n", text::Cut::lines);
  all.heldout = 0.4;
  prepare_prose(all);
  EXPECT_THAT(log_.text(), HasSubstr("1 of 8 sentences: 12.5 % of the text"));
}

TEST_F(Prose, DoesNotWarnOfAnAccurateShare) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += str("Document ", i, "\n\n");
  prepare_prose(job(text, text::Cut::lines));
  EXPECT_EQ(log_.text().find("held out"), std::string::npos);
}

TEST_F(Prose, TheEndOfAFileEndsTheDocument) {
  ProseJob files = job("One. Two.", text::Cut::prose);
  io::write_file(dir_.file("in2.txt"), "Three.\n\nFour.");
  files.text.input = dir_.file("in*.txt");
  EXPECT_EQ(prepare_prose(files).documents, 2);
  EXPECT_EQ(io::read_file(files.heldout_out), "One.\nTwo.\n\n");
  EXPECT_EQ(io::read_file(files.train_out), "Three.\nFour.\n\n");
}

TEST_F(Prose, LeavesOutBytesThatAreNotUtf8AndWarns) {
  prepare_prose(
      job("ca\xff"
          "fe\n\ntwo\n",
          text::Cut::lines));
  EXPECT_EQ(io::read_file(dir_.file("heldout")), "cafe\n\n");
  EXPECT_THAT(log_.text(), HasSubstr("1 byte that is not UTF-8 was left out, the first in"));
}

TEST_F(Prose, RejectsTextAndSharesThatCannotBeSplit) {
  EXPECT_THAT(refusal(job(" \n\n", text::Cut::prose)), HasSubstr("holds no text"));
  EXPECT_THAT(refusal(job("Only one document.", text::Cut::prose)),
              HasSubstr("holds 1 document; at least 2"));
  for (const double share : {0.0, 1.0, -0.5, std::nan("")}) {
    ProseJob wrong = job("a\n\nb", text::Cut::lines);
    wrong.heldout = share;
    EXPECT_THAT(refusal(wrong), HasSubstr("must be above 0 and below 1")) << share;
  }
  ProseJob strict = job("fine\n\nbad \xff\n", text::Cut::prose);
  strict.text.limits.strict = true;
  EXPECT_THAT(refusal(strict), HasSubstr("in.txt:3: not UTF-8 (1 byte)"));
}

TEST_F(Prose, CheckCountsBadRowsOverAllFilesLikeTheRun) {
  std::string good, bad;
  for (int i = 0; i < 2; ++i) good += str("{\"text\": \"Row number ", i, ".\"}\n");
  for (int i = 0; i < 3; ++i) bad += "no JSON\n";
  io::write_file(dir_.file("a.jsonl"), bad);
  io::write_file(dir_.file("b.jsonl"), good);
  ProseJob rows = job("", text::Cut::prose);
  rows.text.input = str(dir_.file("a.jsonl"), ",", dir_.file("b.jsonl"));
  check_prose(rows.text, 1 << 20);
  EXPECT_EQ(prepare_prose(rows).documents, 2);
  rows.text.input = dir_.file("a.jsonl");
  EXPECT_THROW(check_prose(rows.text, 1 << 20), UsageError);
}

TEST_F(Prose, TheCheckReadsTheBeginningOfEachFile) {
  std::string late(20000, 'a');
  for (std::size_t i = 79; i < late.size(); i += 80) late[i] = '\n';
  ProseJob text = job(late + "\xe4\xf6\xfc\n", text::Cut::lines);
  text.text.limits.strict = true;
  check_prose(text.text, 1);  // 16 KiB of a file are read at least
  EXPECT_THROW(check_prose(text.text, 1 << 20), UsageError);
  EXPECT_THAT(refusal(text), HasSubstr("not UTF-8"));
}

}  // namespace
}  // namespace smelt::data
