// Documents from files of every format: the same text gives the same documents; what is malformed
// is named.
#include "text/documents.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/stream_random.h"
#include "store/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Sentences = std::vector<std::string>;

std::string compressed(const std::string& text, arrow::Compression::type type) {
  const auto codec = arrow::util::Codec::Create(type).ValueOrDie();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto size = static_cast<std::int64_t>(text.size());
  std::string out(static_cast<std::size_t>(codec->MaxCompressedLen(size, bytes)), '\0');
  const auto length =
      codec->Compress(size, bytes, std::ssize(out), reinterpret_cast<std::uint8_t*>(out.data()));
  out.resize(static_cast<std::size_t>(length.ValueOrDie()));
  return out;
}
std::string gzip(const std::string& text) { return compressed(text, arrow::Compression::GZIP); }
std::string zstd(const std::string& text) { return compressed(text, arrow::Compression::ZSTD); }

// Their library packs by streams alone.
std::string bzip2(const std::string& text) {
  const auto codec = arrow::util::Codec::Create(arrow::Compression::BZ2).ValueOrDie();
  const auto compressor = codec->MakeCompressor().ValueOrDie();
  std::string out(text.size() + 1000, '\0');
  auto* to = reinterpret_cast<std::uint8_t*>(out.data());
  const auto done =
      compressor
          ->Compress(std::ssize(text), reinterpret_cast<const std::uint8_t*>(text.data()),
                     std::ssize(out), to)
          .ValueOrDie();
  EXPECT_EQ(done.bytes_read, std::ssize(text));
  const auto end =
      compressor->End(std::ssize(out) - done.bytes_written, to + done.bytes_written).ValueOrDie();
  out.resize(static_cast<std::size_t>(done.bytes_written + end.bytes_written));
  return out;
}

class Documents : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    write_file(dir_.file(name), bytes);
    return dir_.file(name);
  }
  // Rows of an integer column "n" and a text column "body"; the third row is null.
  std::string write_parquet(const std::string& name, const Sentences& rows) {
    arrow::Int64Builder numbers;
    arrow::StringBuilder texts;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_TRUE(numbers.Append(static_cast<std::int64_t>(i)).ok());
      EXPECT_TRUE((i == 2 ? texts.AppendNull() : texts.Append(rows[i])).ok());
    }
    const auto schema =
        arrow::schema({arrow::field("n", arrow::int64()), arrow::field("body", arrow::utf8())});
    const auto table =
        arrow::Table::Make(schema, {numbers.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
    const auto out = arrow::io::FileOutputStream::Open(dir_.file(name)).ValueOrDie();
    EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 2).ok());
    EXPECT_TRUE(out->Close().ok());
    return dir_.file(name);
  }

  static std::vector<Sentences> read(const DocumentOptions& options,
                                     DocumentCounts* counts = nullptr) {
    DocumentReader reader(options);
    std::vector<Sentences> out;
    for (Document document; reader.next(document);) {
      out.emplace_back();
      for (std::size_t i = 0; i < document.size(); ++i)
        out.back().emplace_back(document.sentence(i));
    }
    if (counts != nullptr) *counts = reader.counts();
    return out;
  }
  static DocumentOptions from(const std::string& input) {
    DocumentOptions options;
    options.input = input;
    return options;
  }
  static std::string refusal(const DocumentOptions& options) {
    try {
      read(options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(Documents, OfTextEndWithEmptyLinesAndFiles) {
  write("a.txt", "  One.\t\r\nTwo\r three.\n\n \nFour.\n");
  write("b.txt", "\n\nFive.");
  EXPECT_THAT(
      read(from(dir_.file("*.txt"))),
      ElementsAre(ElementsAre("One.", "Two three."), ElementsAre("Four."), ElementsAre("Five.")));
}

TEST_F(Documents, OfProseAreCutByUnicodesRules) {
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
    jsonl += nlohmann::json{{"n", i}, {"body", rows[i]}}.dump() + "\n\n";
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
  options.input = write("a.tsv", "n\tbody\n0\tOne.\tmore\n1\tTwo.\n");
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
      {"a.parquet", read_file(write_parquet("a.parquet", {"One.", "Two."}))}};
  DocumentOptions options = from("");
  options.format.field = "body";
  for (const auto& [name, bytes] : files) {
    options.input = emulator.path(name);
    write_file(options.input, bytes);
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

TEST_F(Documents, OfJsonMayHoldHalvesOfCharacters) {
  const std::string line = R"({"text": "a\\ud800 \ud83d\ude00 b\ud83d c\uDE00\ud83d\u0041"})"
                           "\n";
  DocumentOptions options = from(write("a.jsonl", R"({"text": "fine"})"
                                                  "\n" +
                                                      line));
  DocumentCounts counts;
  EXPECT_THAT(read(options, &counts),
              ElementsAre(ElementsAre("fine"), ElementsAre("a\\ud800 \xF0\x9F\x98\x80 b cA")));
  EXPECT_EQ(counts.dropped_bytes, 18);
  EXPECT_THAT(log_.text(), HasSubstr("18 bytes that are not UTF-8 were left out, the first in"));
  EXPECT_THAT(log_.text(), HasSubstr("a.jsonl:2"));
  options.strict = true;
  EXPECT_THAT(refusal(options), HasSubstr("a.jsonl:2: not UTF-8 (18 bytes)"));
}

TEST_F(Documents, OfRowsHoldTheirEmptyLines) {
  DocumentOptions rows = from(write("a.jsonl", R"({"text": "One.\n\nTwo. Three."})"
                                               "\n"));
  EXPECT_THAT(read(rows), ElementsAre(ElementsAre("One.", "Two. Three.")));
  rows.sentences = Cut::prose;
  EXPECT_THAT(read(rows), ElementsAre(ElementsAre("One.", "Two.", "Three.")));
}

TEST_F(Documents, ThatAreTooLongComeInPieces) {
  std::string text;
  const std::string line(1000, 'x');
  for (int i = 0; i < 9000; ++i) text += line + "\n";
  const auto documents = read(from(write("a.txt", text)));
  ASSERT_EQ(documents.size(), 3u);
  EXPECT_EQ(documents[0].size(), kMaxDocumentBytes / 1000 + 1);
  EXPECT_EQ(documents[0].size() + documents[1].size() + documents[2].size(), 9000u);
}

TEST_F(Documents, StopAfterSoManyLinesOrRows) {
  DocumentOptions some = from(write("a.txt", "1\n2\n\n3\n4\n") + "," + write("b.txt", "5\n"));
  some.max_lines = 4;
  EXPECT_THAT(read(some), ElementsAre(ElementsAre("1", "2"), ElementsAre("3")));
  some.max_lines = 6;
  EXPECT_EQ(read(some).back(), Sentences{"5"});
  some.input = write("a.jsonl", "{\"text\": \"a\\nb\"}\n{\"text\": \"c\"}\n{\"text\": \"d\"}\n");
  some.max_lines = 2;
  EXPECT_THAT(read(some), ElementsAre(ElementsAre("a", "b"), ElementsAre("c")));
}

TEST_F(Documents, ThatStoodBeforeAreLeftOutOnDemand) {
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

TEST_F(Documents, RefuseUnknownOptions) {
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

TEST_F(Documents, RefuseRowsThatAreNotWhatTheyShouldBe) {
  EXPECT_THAT(
      refusal(from(write("a.jsonl", "{\"text\": \"a\"}\n\n{\"text\": \n"))),
      HasSubstr("a.jsonl:3: not a JSON object: {\"text\": \n  hint: a line of JSONL is one whole"));
  EXPECT_THAT(refusal(from(write("b.jsonl", "[1]\n"))),
              HasSubstr("b.jsonl:1: not a JSON object: [1]"));
  EXPECT_THAT(refusal(from(write("c.jsonl", "{\"test\": \"a\"}\n"))),
              HasSubstr("c.jsonl:1: no field 'text'\n  hint: did you mean 'test'?"));
  EXPECT_THAT(refusal(from(write("d.jsonl", "{\"text\": 3}\n"))),
              HasSubstr("d.jsonl:1: field 'text' is number, not a string"));
  EXPECT_THAT(refusal(from(write("a.tsv", "id\tbody\n1\tb\n"))),
              HasSubstr("a.tsv:1: no column 'text'"));
  EXPECT_THAT(refusal(from(write("b.tsv", "id\ttext\n1\ta\n2\n"))),
              HasSubstr("b.tsv:3: 1 columns, one that is wanted is column 2"));
  DocumentOptions parquet = from(write_parquet("a.parquet", {"a"}));
  EXPECT_THAT(refusal(parquet), HasSubstr("a.parquet: no column 'text'\n  hint: known: n, body"));
  parquet.format.field = "n";
  EXPECT_THAT(refusal(parquet), HasSubstr("a.parquet: column 'n' is INT64, not text"));
  const std::string whole = read_file(parquet.input);
  parquet.input = write("cut.parquet", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(refusal(parquet), HasSubstr("cut.parquet: not a whole Parquet file: "));
}

TEST_F(Documents, RefuseTextThatIsNotUtf8OnDemand) {
  DocumentOptions text = from(write("a.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\xff\"}\n"));
  EXPECT_THAT(read(text), ElementsAre(ElementsAre("a"), ElementsAre("b")));
  EXPECT_THAT(log_.text(), HasSubstr("1 byte that is not UTF-8 was left out, the first in"));
  text.strict = true;
  EXPECT_THAT(refusal(text), HasSubstr("a.jsonl:2: not UTF-8 (1 byte)"));
}

TEST_F(Documents, RefuseDamagedCompressedFiles) {
  std::string text;
  StreamRandom random(1, 0, 0);
  for (int i = 0; i < 20000; ++i) text += str(random.below(1000000), "\n");
  for (const auto& [name, bytes] : {std::pair("a.gz", gzip(text)), std::pair("a.bz2", bzip2(text)),
                                    std::pair("a.zst", zstd(text))}) {
    EXPECT_EQ(read(from(write(name, bytes))).at(0).size(), 20000u);
    const std::string format = name == std::string("a.gz")    ? "gzip"
                               : name == std::string("a.bz2") ? "bzip2"
                                                              : "zstd";
    EXPECT_THAT(refusal(from(write(name, bytes.substr(0, bytes.size() / 2)))),
                HasSubstr(str(name, ": not a whole ", format, " file: it ends too early")));
    std::string damaged = bytes;
    for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 40; ++i)
      damaged[i] = static_cast<char>(~damaged[i]);
    if (format != "zstd") {  // the others always have a checksum
      EXPECT_THAT(refusal(from(write(name, damaged))),
                  HasSubstr(str(name, ": not a whole ", format, " file: ")));
    }
    EXPECT_THAT(refusal(from(write(name, bytes + "rubbish"))),
                HasSubstr(str(name, ": not a whole ", format, " file: ")));
    EXPECT_THAT(refusal(from(write(name, "a sentence\n"))),
                HasSubstr(str(name, ": not a whole ", format, " file: it does not begin as one")));
    EXPECT_THAT(refusal(from(write(name, ""))),
                HasSubstr(str(name, ": not a whole ", format, " file: it is empty")));
  }
}

TEST_F(Documents, RefuseWhatIsPackedInOtherWays) {
  for (const auto& [name, beginning] :
       {std::pair<std::string, std::string>{"xz", std::string("\xfd\x37zXZ\0", 6)},
        {"zip", "PK\x03\x04"},
        {"7z", "7z\xbc\xaf\x27\x1c"},
        {"lz4", "\x04\x22\x4d\x18"}}) {
    const std::string refused =
        str(": ", name, " files are not unpacked here\n  hint: unpack it, or pack it with gzip");
    EXPECT_THAT(refusal(from(write("a.txt", beginning + "…"))), HasSubstr("a.txt" + refused));
    EXPECT_THAT(refusal(from(write("b.txt." + name, "a"))), HasSubstr("b.txt." + name + refused));
  }
  EXPECT_THAT(read(from(write("c.txt", "BZh is no bzip2"))),
              ElementsAre(ElementsAre("BZh is no bzip2")));
}

TEST_F(Documents, RefuseJsonThatIsNoJsonl) {
  DocumentOptions json = from(write("a.json", "{\"text\": \"One.\"}\n"));
  EXPECT_THAT(refusal(json), HasSubstr("a.json: a JSON file as a whole is not read, only JSONL is\n"
                                       "  hint: write one object a line"));
  json.format.file = FileFormat::jsonl;
  EXPECT_THAT(read(json), ElementsAre(ElementsAre("One.")));
}

TEST_F(Documents, RefuseAFileThatVanishedMeanwhile) {
  const std::string first = write("a.txt", "One.\n\n"), second = write("b.txt", "Two.");
  DocumentReader reader(from(first + "," + second));
  Document document;
  EXPECT_TRUE(reader.next(document));
  std::filesystem::remove(second);
  try {
    reader.next(document);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("b.txt: No such file or directory"));
  }
}

TEST_F(Documents, RefuseALineThatNeverEndsBeforeItFillsTheMemory) {
  const std::string path = dir_.file("giant.txt");
  std::ofstream(path) << "fine\n";
  std::filesystem::resize_file(
      path, std::uintmax_t{1} << 30);  // one line of zeros, without a place on the disk
  EXPECT_THAT(refusal(from(path)), HasSubstr("giant.txt:2: a line of more than 64 MiB"));
}

// Whatever the bytes, they are documents or a refusal.
TEST_F(Documents, OfAnyBytesAreReadOrRefused) {
  StreamRandom random(9, 0, 0);
  const std::string seed = "{\"text\": \"a \\u00e9 b\\nc\"}\n\ttext\tn\r\n\"}{[]";
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes;
    for (std::int64_t i = random.randint(0, 60); i > 0; --i)
      bytes += random.below(4) == 0 ? static_cast<char>(random.below(256))
                                    : seed[random.below(static_cast<std::uint32_t>(seed.size()))];
    for (const char* name : {"a.txt", "a.jsonl", "a.tsv", "a.csv"}) {
      std::ofstream(dir_.file(name), std::ios::binary) << bytes;
      refusal(from(dir_.file(name)));
    }
  }
}

}  // namespace
}  // namespace smelt
