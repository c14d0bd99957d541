// Documents from files of every format. The same text gives the same documents.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/json.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "text/readers/document_files.h"

namespace smelt::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Documents = DocumentFiles;

TEST_F(Documents, EndAtEmptyLinesAndAtTheEndOfAFile) {
  write("a.txt", "  One.\t\r\nTwo three.\n\n \nFour.\n");
  write("b.txt", "\n\nFive.");
  EXPECT_THAT(
      read(from(dir_.file("*.txt"))),
      ElementsAre(ElementsAre("One.", "Two three."), ElementsAre("Four."), ElementsAre("Five.")));
}

TEST_F(Documents, ProseIsSplitIntoSentencesByUnicodeRules) {
  DocumentOptions prose =
      from(write("a.txt", "First one. Is this\nthe second?  Yes!\n\nA paragraph."));
  prose.sentences = Cut::prose;
  EXPECT_THAT(read(prose), ElementsAre(ElementsAre("First one.", "Is this the second?", "Yes!",
                                                   "A paragraph.")));
  std::string long_text;
  for (int i = 0; i < 90; ++i) long_text += str("Number ", i, ".\n\n");
  prose.input = write("b.txt", long_text);
  const auto documents = read(prose);
  ASSERT_EQ(documents.size(), 3u);
  EXPECT_EQ(documents[0].size(), kProseSentences);
  EXPECT_EQ(documents[2].size(), 90 - 2 * kProseSentences);
}

TEST_F(Documents, JoinWrappedLinesWithoutASpaceInScriptsWithoutSpaces) {
  DocumentOptions prose = from("");
  prose.sentences = Cut::prose;
  for (const auto& [lines, joined] :
       {std::pair{"これはプロ\nグラムの、\n説明です。", "これはプログラムの、説明です。"},
        {"ภาษา\nไทย", "ภาษาไทย"},
        {"한국\n어", "한국 어"},
        {"漢字\nABC", "漢字 ABC"},
        {"one\ntwo", "one two"}}) {
    prose.input = write("a.txt", lines);
    EXPECT_THAT(read(prose), ElementsAre(ElementsAre(joined)));
  }
}

TEST_F(Documents, WrappedTibetanKeepsTheEndsOfSentences) {
  DocumentOptions prose = from(write("a.txt", "ང་འགྲོ།\nཁོང་ཡོང་\nདེ་རིང་།"));
  prose.sentences = Cut::prose;
  EXPECT_THAT(read(prose), ElementsAre(ElementsAre("ང་འགྲོ།", "ཁོང་ཡོང་དེ་རིང་།")));
}

TEST_F(Documents, ThaiKeepsASentenceEndAfterAMuchShorterLine) {
  std::string line;
  for (int i = 0; i < 30; ++i) line += "กา";
  const std::string shorter = line.substr(0, line.size() / 3 * 2);
  DocumentOptions prose = from(write("a.txt", line + "\n" + shorter + "\n" + line + "\nกา"));
  prose.sentences = Cut::prose;
  EXPECT_THAT(read(prose), ElementsAre(ElementsAre(line + shorter, line + "กา")));
}

TEST_F(Documents, AreTheSameInEveryFormat) {
  const Sentences rows{"First line.\nSecond line.", "One \"quoted\" line, \xC3\xA9t\xC3\xA9.",
                       "left out", "Last."};
  const auto wanted =
      ElementsAre(ElementsAre("First line.", "Second line."),
                  ElementsAre("One \"quoted\" line, \xC3\xA9t\xC3\xA9."), ElementsAre("Last."));
  std::string text, jsonl;
  const std::string csv =
      "n,body\n0,\"First line.\nSecond line.\"\r\n\n1,\"One \"\"quoted\"\" line, "
      "\xC3\xA9t\xC3\xA9.\"\n3,Last.";
  for (const std::size_t i : {0, 1, 3}) {
    text += rows[i] + "\n\n";
    jsonl += Json{{"n", i}, {"body", rows[i]}}.dump() + "\n\n";
  }
  DocumentOptions options = from("");
  options.format.field = "body";
  for (const std::string& path :
       {write("a.txt", text), write("a.txt.gz", gzip(text)),
        write("two.gz", gzip(text.substr(0, 9)) + gzip(text.substr(9))),
        write("a.txt.zst", zstd(text)), write("a.txt.bz2", bzip2(text)),
        write("two.bz2", bzip2(text.substr(0, 9)) + bzip2(text.substr(9))), write("a.csv", csv),
        write("a.csv.bz2", bzip2(csv)), write("a.jsonl", jsonl), write("a.jsonl.gz", gzip(jsonl)),
        write("a.ndjson.zst", zstd(jsonl)), write_parquet("a.parquet", rows)}) {
    options.input = path;
    EXPECT_THAT(read(options), wanted) << path;
  }
  options.input = write("a.tsv", "n\tbody\n0\tOne.\n\n1\tTwo.\n");
  EXPECT_THAT(read(options), ElementsAre(ElementsAre("One."), ElementsAre("Two.")));
}

TEST_F(Documents, AreReadFromABucketInEveryFormat) {
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  const std::string text = "One.\n\nTwo.\n";
  const std::string jsonl = "{\"body\": \"One.\"}\n{\"body\": \"Two.\"}\n";
  const std::vector<std::pair<std::string, std::string>> files{
      {"a.txt", text},
      {"a.txt.gz", gzip(text)},
      {"a.jsonl", jsonl},
      {"a.jsonl.zst", zstd(jsonl)},
      {"a.tsv", "body\nOne.\nTwo.\n"},
      {"a.parquet", io::read_file(write_parquet("a.parquet", {"One.", "Two."}))}};
  DocumentOptions options = from("");
  options.format.field = "body";
  for (const auto& [name, bytes] : files) {
    options.input = emulator.path(name);
    io::write_file(options.input, bytes);
    EXPECT_THAT(read(options), ElementsAre(ElementsAre("One."), ElementsAre("Two."))) << name;
  }
}

TEST_F(Documents, MayBeginWithAByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_THAT(read(from(write("a.jsonl", mark + R"({"text": "One."})"
                                                "\r\n"))),
              ElementsAre(ElementsAre("One.")));
  EXPECT_THAT(read(from(write("a.tsv", mark + "text\r\nOne.\r\n"))),
              ElementsAre(ElementsAre("One.")));
}

TEST_F(Documents, EmptyLinesInARowDoNotEndADocument) {
  DocumentOptions rows = from(write("a.jsonl", R"({"text": "One.\n\nTwo. Three."})"
                                               "\n"));
  EXPECT_THAT(read(rows), ElementsAre(ElementsAre("One.", "Two. Three.")));
  rows.sentences = Cut::prose;
  EXPECT_THAT(read(rows), ElementsAre(ElementsAre("One.", "Two.", "Three.")));
}

TEST_F(Documents, AreSplitIfTooLong) {
  std::string text;
  const std::string line(1000, 'x');
  for (int i = 0; i < 9000; ++i) text += line + "\n";
  const auto documents = read(from(write("a.txt", text)));
  ASSERT_EQ(documents.size(), 3u);
  EXPECT_THAT(log_.text(), HasSubstr("split documents longer than 4 MB (2 splits)"));
  EXPECT_EQ(documents[0].size(), kMaxDocumentBytes / 1000 + 1);
  EXPECT_EQ(documents[0].size() + documents[1].size() + documents[2].size(), 9000u);
}

// A book or a corpus may be one line. Its documents have the sentences of one paragraph.
TEST_F(Documents, OfProseAreSplitWithinALongLine) {
  std::string text;
  for (int i = 0; i < 9000; ++i) text += str("This is sentence ", i, " \u00e9. ");
  DocumentOptions options = from(write("a.txt", text));
  options.sentences = Cut::prose;
  const auto documents = read(options);
  EXPECT_GT(documents.size(), 4u);
  std::vector<std::string> sentences;
  for (const auto& document : documents)
    sentences.insert(sentences.end(), document.begin(), document.end());
  ASSERT_EQ(sentences.size(), 9000u);
  options.dedup = Dedup::lines;
  options.input = write("b.txt", text + "\n\n" + text + "\n");
  EXPECT_EQ(read(options), documents);
  for (int i = 0; i < 9000; ++i) ASSERT_EQ(sentences[i], str("This is sentence ", i, " \u00e9."));
}

TEST_F(Documents, OfProseKeepAllWordsOfALineWithoutPunctuation) {
  for (const std::string word : {"word ", "\u4e00"}) {  // with and without a space to split at
    std::string text, joined;
    for (int i = 0; i < 60000; ++i) text += word;
    DocumentOptions options = from(write("a.txt", text));
    options.sentences = Cut::prose;
    const auto documents = read(options);
    EXPECT_GT(documents.size(), 2u);
    for (const auto& document : documents)
      for (const std::string& sentence : document)
        joined += sentence + (word.ends_with(' ') ? " " : "");
    EXPECT_EQ(joined, text);
  }
}

TEST_F(Documents, WarnOfLinesThatAreNotPlainText) {
  const auto repeated = [](const std::string& line) {
    std::string text;
    for (int i = 0; i < 6; ++i) text += line;
    return text;
  };
  const std::string token = "1\tWord\tword\tNOUN\t_\t_\t0\troot\t_\t_\n";
  for (const auto& [text, warning] : std::vector<std::pair<std::string, std::string>>{
           {"# text = Word\n" + repeated(token),
            "looks like CoNLL-U, a treebank: its columns are "
            "read as text; `sed -n 's/^# text = //p'`"},
           {repeated(token), "`cut -f2` leaves the words"},
           {repeated("7\tA sentence.\n"), "has numbered lines"},
           {repeated("A line.\n") + "<doc id=\"1\">\n", "has lines of markup such as <doc>"},
           {repeated("<p>\nA line.\n"), "has lines of markup"},
           {repeated("7 apples.\n\n1\ta\tb\n"), ""}}) {
    const CapturedLog log;
    DocumentOptions options = from(write("a.txt", text));
    options.checks_lines = true;
    (void)read(options);
    if (warning.empty())
      EXPECT_EQ(log.text(), "");
    else
      EXPECT_THAT(log.text(), HasSubstr(warning));
  }
}

TEST_F(Documents, StopAfterMaxLines) {
  DocumentOptions some = from(write("a.txt", "1\n2\n\n3\n4\n") + "," + write("b.txt", "5\n"));
  some.max_lines = 4;
  EXPECT_THAT(read(some), ElementsAre(ElementsAre("1", "2"), ElementsAre("3")));
  some.max_lines = 6;
  EXPECT_EQ(read(some).back(), Sentences{"5"});
  some.input = write("a.jsonl", "{\"text\": \"a\\nb\"}\n{\"text\": \"c\"}\n{\"text\": \"d\"}\n");
  some.max_lines = 2;
  EXPECT_THAT(read(some), ElementsAre(ElementsAre("a", "b"), ElementsAre("c")));
}

TEST_F(Documents, LogTheShareReadIfMaxLinesIsReached) {
  DocumentOptions some = from(write("a.txt", "1\n2\n3\n4\n") + "," + write("b.txt", "5678\n"));
  some.max_lines = 2;
  (void)read(some);
  EXPECT_THAT(log_.text(), HasSubstr("max_lines was reached: 30.8 % of the input was read"));
  some.input = write("c.txt", "1\n2\n");
  const CapturedLog log;
  (void)read(some);
  EXPECT_EQ(log.text(), "");
}

TEST_F(Documents, EndWithoutAnErrorIfAFileIsDeletedAfterReading) {
  for (const std::int64_t max_lines : {0, 1}) {
    DocumentOptions options = from(write("a.txt", "One.\n\nTwo."));
    options.max_lines = max_lines;
    DocumentReader reader(options);
    Document document;
    ASSERT_TRUE(reader.next(document));
    std::filesystem::remove(options.input);
    while (reader.next(document)) {
    }
    EXPECT_FALSE(reader.next(document));
  }
}

TEST_F(Documents, AreNormalizedToNfcIfConfigured) {
  DocumentOptions options = from(write("a.txt", "e\u0301t\u0301e \u1112\u1161\n"));
  EXPECT_THAT(read(options), ElementsAre(ElementsAre("e\u0301t\u0301e \u1112\u1161")));
  options.format.normalize = parse_normalization("nfc");
  EXPECT_THAT(read(options), ElementsAre(ElementsAre("\u00E9t\u0301e \uD558")));
  EXPECT_THAT(error_of<UsageError>([] { parse_normalization("nfd"); }),
              HasSubstr("--normalize 'nfd' is unknown"));
}

TEST_F(Documents, AreSkippedIfDuplicates) {
  DocumentOptions text =
      from(write("a.txt", "Same thing.\nHere\n\nOther.\n\nsame  THING.\nhere\n\nHere\nNew.\n"));
  DocumentCounts counts;
  EXPECT_EQ(read(text).size(), 4u);
  text.dedup = Dedup::exact;
  EXPECT_THAT(read(text, &counts), ElementsAre(ElementsAre("Same thing.", "Here"),
                                               ElementsAre("Other."), ElementsAre("Here", "New.")));
  EXPECT_EQ(counts.duplicate_documents, 1u);
  text.dedup = Dedup::lines;
  EXPECT_THAT(read(text, &counts), ElementsAre(ElementsAre("Same thing.", "Here"),
                                               ElementsAre("Other."), ElementsAre("New.")));
  EXPECT_EQ(counts.duplicate_lines, 3u);
}

TEST_F(Documents, AreDeduplicatedInBoundedMemory) {
  DocumentOptions text = from(write("a.txt", "a\n\nb\n\nc\n\na\n\nd\n\na\n"));
  text.dedup = Dedup::exact;
  text.dedup_memory = 4 * ExactDuplicates::kBytesOfText;
  EXPECT_EQ(read(text).size(), 4u);
  EXPECT_EQ(log_.text(), "");
  text.dedup_memory = 2 * ExactDuplicates::kBytesOfText;
  EXPECT_EQ(read(text).size(), 5u);
  EXPECT_THAT(log_.text(), HasSubstr("dedup: the documents do not all fit in 0 MB of memory; each "
                                     "was compared with at least the previous 1"));
}

TEST_F(Documents, RejectUnknownOptions) {
  EXPECT_THAT(error_of<UsageError>([] { parse_file_format("json"); }),
              HasSubstr("--format 'json' is unknown\n  hint: did you mean 'jsonl'?"));
  EXPECT_THAT(error_of<UsageError>([] { parse_dedup("nearly"); }),
              HasSubstr("--dedup 'nearly' is unknown\n  hint: did you mean 'near'?"));
  EXPECT_THAT(error_of<UsageError>([] { parse_sentences("line"); }),
              HasSubstr("--sentences 'line' is unknown\n  hint: did you mean 'lines'?"));
  DocumentOptions wrong = from(write("a.txt", "a"));
  wrong.max_lines = -1;
  EXPECT_THAT(refusal(wrong), HasSubstr("--max-lines -1 is less than 0"));
  EXPECT_THAT(refusal(from(dir_.file("none.txt"))), HasSubstr("none.txt"));
}

TEST_F(Documents, RejectJsonThatIsNotJsonl) {
  DocumentOptions json = from(write("a.json", "{\"text\": \"One.\"}\n"));
  EXPECT_THAT(
      refusal(json),
      HasSubstr(
          "a.json: JSON files are not supported, only JSONL\n  hint: write one object per line"));
  json.format.file = FileFormat::jsonl;
  EXPECT_THAT(read(json), ElementsAre(ElementsAre("One.")));
}

TEST_F(Documents, ThrowIfAFileIsDeletedBeforeItIsRead) {
  const std::string first = write("a.txt", "One.\n\n"), second = write("b.txt", "Two.");
  DocumentReader reader(from(first + "," + second));
  std::filesystem::remove(second);
  Document document;
  EXPECT_TRUE(reader.next(document));
  try {
    reader.next(document);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("b.txt: No such file or directory"));
  }
}

}  // namespace
}  // namespace smelt::text
