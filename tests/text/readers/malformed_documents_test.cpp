// Malformed input is reported, skipped or rejected in the same way for every format and any number
// of threads.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/stream_random.h"
#include "text/readers/document_files.h"

namespace smelt::text {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using MalformedDocuments = DocumentFiles;

TEST_F(MalformedDocuments, JsonWithLoneSurrogatesIsReadWithoutThem) {
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
  options.limits.strict = true;
  EXPECT_THAT(refusal(options), HasSubstr("a.jsonl:2: not UTF-8 (18 bytes)"));
}

TEST_F(MalformedDocuments, ReportMalformedRowsWithTheirLine) {
  const auto refusal = [](DocumentOptions options) {
    options.limits.strict = true;
    return DocumentFiles::refusal(options);
  };
  EXPECT_THAT(
      refusal(from(write("a.jsonl", "{\"text\": \"a\"}\n\n{\"text\": \n"))),
      HasSubstr("a.jsonl:3: not a JSON object: {\"text\":\n  hint: each line of a JSONL file is "
                "one object"));
  EXPECT_THAT(refusal(from(write("b.jsonl", "[1]\n"))),
              HasSubstr("b.jsonl:1: not a JSON object: [1]"));
  EXPECT_THAT(refusal(from(write("c.jsonl", "{\"test\": \"a\"}\n"))),
              HasSubstr("c.jsonl:1: no field 'text'\n  hint: did you mean 'test'?"));
  EXPECT_THAT(refusal(from(write("d.jsonl", "{\"text\": 3}\n"))),
              HasSubstr("d.jsonl:1: field 'text' is number, not a string"));
  EXPECT_THAT(refusal(from(write("a.tsv", "id\tbody\n1\tb\n"))),
              HasSubstr("a.tsv:1: no column 'text'"));
  EXPECT_THAT(refusal(from(write("b.tsv", "id\ttext\n1\ta\n2\n"))),
              HasSubstr("b.tsv:3: 1 columns, but the first line has 2"));
  DocumentOptions parquet = from(write_parquet("a.parquet", {"a"}));
  EXPECT_THAT(refusal(parquet), HasSubstr("a.parquet: no column 'text'\n  hint: known: n, body"));
  parquet.format.field = "n";
  EXPECT_THAT(refusal(parquet), HasSubstr("a.parquet: column 'n' is INT64, not text"));
  const std::string whole = io::read_file(parquet.input);
  parquet.input = write("cut.parquet", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(refusal(parquet), HasSubstr("cut.parquet: damaged or truncated Parquet file: "));
}

TEST_F(MalformedDocuments, ThrowIfTooManyRowsAreBad) {
  std::string rows = "[\n";
  for (int i = 0; i < 1000; ++i) rows += "{\"text\": \"a\"}\n";
  DocumentOptions options = from(write("a.jsonl", rows));
  DocumentCounts counts;
  EXPECT_EQ(read(options, &counts).size(), 1000u);
  EXPECT_EQ(counts.bad_rows, 1u);
  EXPECT_THAT(log_.text(), HasSubstr("1 of 1001 rows cannot be read and is left out: "));
  EXPECT_THAT(log_.text(), HasSubstr("a.jsonl:1 (not a JSON object: [)"));
  options.limits.max_bad = 0;
  EXPECT_THAT(refusal(options), HasSubstr("a.jsonl:1: not a JSON object: [\n  hint: each line of"));
  for (int i = 0; i < 99; ++i) rows += "{\"tex\": 1}\n";
  options = from(write("b.jsonl", rows));
  EXPECT_EQ(read(options, &counts).size(), 1000u);
  EXPECT_EQ(counts.bad_rows, 100u);
  options.input = write("b.jsonl", rows + "{\"tex\": 1}\n");
  EXPECT_THAT(refusal(options),
              AllOf(HasSubstr("b.jsonl:1101: no field 'text'; 101 of 1101 rows cannot be read, the "
                              "first in "),
                    HasSubstr("b.jsonl:1; max_bad is 0.01\n  hint: did you mean 'tex'? Or raise "
                              "--max-bad, text.max_bad in a recipe")));
  std::string unnamed;
  for (int i = 0; i < 101; ++i) unnamed += "{\"tex\": \"a\"}\n";
  EXPECT_THAT(refusal(from(write("d.jsonl", unnamed + rows))),
              HasSubstr("d.jsonl:1: no field 'text', nor in any of the first 101 rows\n  hint: did "
                        "you mean 'tex'?"));
  options.limits.max_bad = 0.1;
  EXPECT_EQ(read(options).size(), 1000u);
  EXPECT_THAT(refusal(from(write("c.jsonl", "{\"tex\": 1}\n[\n"))),
              HasSubstr("c.jsonl:1: no field 'text'; none of 2 rows can be read\n  hint: did you"));
  options.limits.max_bad = 1.5;
  EXPECT_THAT(refusal(options), HasSubstr("max_bad 1.5: must be between 0 and 1"));
}

TEST_F(MalformedDocuments, ReportInvalidUtf8IfNoRowCanBeRead) {
  TextFaults faults;
  std::string cell = "\xef\xf0";  // cell of a small file in Windows-1251
  faults.clean(cell, "a.csv", 2);
  faults.add({.line = 2, .what = "the text is empty", .hint = "remove the row"}, "a.csv");
  EXPECT_EQ(error_of<UsageError>([&] { faults.finish(); }),
            "a.csv:2: the text is empty; none of 1 row can be read; 2 bytes were left out because "
            "they are not UTF-8, the first in a.csv:2\n  hint: find the file's encoding with `file "
            "-i`, then convert it: `iconv -f ENCODING -t utf-8`");
}

TEST_F(MalformedDocuments, RejectFilesThatAreNotUtf8) {
  std::string latin1, good;
  for (int i = 0; i < 100; ++i)
    latin1 +=
        "Gr\xfc\xdf"
        "e an alle, die wir kennen und m\xf6gen.\n";
  for (int i = 0; i < 2000; ++i)
    good +=
        "Gr\xc3\xbc\xc3\x9f"
        "e an alle.\n";
  EXPECT_THAT(refusal(from(write("a.txt", good) + "," + write("b.txt", latin1))),
              AllOf(HasSubstr("b.txt:7: the file is not UTF-8: 21 of 280 bytes so far are not "
                              "valid UTF-8\n  hint: find its encoding with `file -i "),
                    HasSubstr("b.txt`, then convert it: `iconv -f ENCODING -t utf-8`")));
  EXPECT_EQ(read(from(write("c.txt", good + "Gr\xfc\xdf"
                                            "e\n")))
                .at(0)
                .size(),
            2001u);
}

TEST_F(MalformedDocuments, LoneCarriageReturnsEndLinesOfText) {
  EXPECT_THAT(read(from(write("a.txt", "One.\rTwo.\r\rThree.\r"))),
              ElementsAre(ElementsAre("One.", "Two."), ElementsAre("Three.")));
  EXPECT_THAT(read(from(write("a.txt", "One.\r\r\nTwo.\r\r\n"))),
              ElementsAre(ElementsAre("One.", "Two.")));
}

TEST_F(MalformedDocuments, KeepCarriageReturnsInsideRows) {
  EXPECT_THAT(read(from(write("a.jsonl", "{\"text\": \"One\\rtwo\\r\\nthree\"}\r\n"))),
              ElementsAre(ElementsAre("One\rtwo", "three")));
  EXPECT_THAT(read(from(write("a.txt", "One\rtwo\r\nthree"))),
              ElementsAre(ElementsAre("One", "two", "three")));
}

TEST_F(MalformedDocuments, AreTheSameForAnyNumberOfThreads) {
  std::string names;
  for (int file = 0; file < 60; ++file) {
    std::string text;
    for (int i = 0; i < (file % 7 == 0 ? 20000 : 3); ++i)
      text += str("{\"text\": \"file ", file, " row ", i, "\"}\n", i % 97 == 1 ? "[\n" : "");
    names += str(file == 0 ? "" : ",", write(str(file, ".jsonl.gz"), gzip(text)));
  }
  const auto read_by = [&](int threads, const std::string& more) {
    DocumentOptions options = from(names + more);
    options.threads = threads;
    options.limits.max_bad = 0.05;
    std::vector<std::string> out;
    DocumentReader reader(options);
    out.push_back(error_of<UsageError>([&] {
      for (Document document; reader.next(document);) out.push_back(document.text);
    }));
    out.push_back(str(reader.counts().bad_rows, " ", reader.bytes_read()));
    return out;
  };
  const auto one = read_by(1, "");
  EXPECT_GT(one.size(), 180000u);
  EXPECT_EQ(one, read_by(2, ""));
  EXPECT_EQ(one, read_by(8, ""));
  const std::string bad = "," + write("bad.jsonl.gz", gzip("{\"text\": \"a\"}\n").substr(0, 30));
  EXPECT_THAT(read_by(1, bad).back(), testing::Not(testing::IsEmpty()));
  EXPECT_EQ(read_by(1, bad), read_by(8, bad));
  {
    DocumentOptions options = from(names);
    DocumentReader reader(options);
    Document document;
    EXPECT_TRUE(reader.next(document));
  }  // the reader's destructor stops its threads in the middle of their files
}

TEST_F(MalformedDocuments, ThrowForInvalidUtf8IfStrict) {
  DocumentOptions text = from(write("a.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\xff\"}\n"));
  EXPECT_THAT(read(text), ElementsAre(ElementsAre("a"), ElementsAre("b")));
  EXPECT_THAT(log_.text(), HasSubstr("1 byte that is not UTF-8 was left out, the first in"));
  text.limits.strict = true;
  EXPECT_THAT(refusal(text), HasSubstr("a.jsonl:2: not UTF-8 (1 byte)"));
}

TEST_F(MalformedDocuments, AcceptZerosAfterAGzipStream) {
  const std::string packed = gzip("One.\n") + gzip("Two.\n");
  EXPECT_THAT(read(from(write("a.txt.gz", packed + std::string(700000, '\0')))),
              ElementsAre(ElementsAre("One.", "Two.")));
  EXPECT_THAT(
      refusal(from(write("b.txt.gz", packed + std::string(700000, '\0') + "x"))),
      HasSubstr(
          "b.txt.gz: damaged or truncated gzip file: other bytes after the zeros at its end"));
}

TEST_F(MalformedDocuments, RejectDamagedCompressedFiles) {
  std::string text;
  StreamRandom random(1, 0, 0);
  for (int i = 0; i < 20000; ++i) text += str(random.below(1000000), "\n");
  for (const auto& [name, bytes] : {std::pair("a.gz", gzip(text)), std::pair("a.bz2", bzip2(text)),
                                    std::pair("a.zst", zstd(text))}) {
    EXPECT_EQ(read(from(write(name, bytes))).at(0).size(), 20000u);
    const std::string format = name == std::string("a.gz")    ? "gzip"
                               : name == std::string("a.bz2") ? "bzip2"
                                                              : "zstd";
    EXPECT_THAT(
        refusal(from(write(name, bytes.substr(0, bytes.size() / 2)))),
        HasSubstr(str(name, ": damaged or truncated ", format, " file: it ends too early")));
    std::string damaged = bytes;
    for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 40; ++i)
      damaged[i] = static_cast<char>(~damaged[i]);
    if (format != "zstd") {  // zstd has none here; the others always have a checksum
      EXPECT_THAT(refusal(from(write(name, damaged))),
                  HasSubstr(str(name, ": damaged or truncated ", format, " file: ")));
    }
    EXPECT_THAT(refusal(from(write(name, bytes + "rubbish"))),
                HasSubstr(str(name, ": damaged or truncated ", format, " file: ")));
    EXPECT_THAT(refusal(from(write(name, "a sentence\n"))),
                HasSubstr(str(name, ": damaged or truncated ", format,
                              " file: its first bytes are those of another format")));
    EXPECT_THAT(refusal(from(write(name, ""))),
                HasSubstr(str(name, ": damaged or truncated ", format, " file: it is empty")));
  }
}

// The head of a frame with a window of 2 GiB (RFC 8878, 3.1.1.1.2), and one empty block.
TEST_F(MalformedDocuments, RejectZstdWindowsAboveTheMemoryLimit) {
  EXPECT_THAT(refusal(from(write("a.zst", std::string("\x28\xb5\x2f\xfd\0\xa8\1\0\0", 9)))),
              HasSubstr("a.zst: compressed by zstd with a window of more than 128 MiB (--long)\n  "
                        "hint: decompress it with `zstd -d --long=31`"));
}

TEST_F(MalformedDocuments, ThrowForUnsupportedCompression) {
  for (const auto& [name, beginning] :
       {std::pair<std::string, std::string>{"xz", std::string("\xfd\x37zXZ\0", 6)},
        {"zip", "PK\x03\x04"},
        {"7z", "7z\xbc\xaf\x27\x1c"},
        {"lz4", "\x04\x22\x4d\x18"}}) {
    const std::string refused = str(
        ": ", name, " files are not supported\n  hint: decompress it, or compress it with gzip");
    EXPECT_THAT(refusal(from(write("a.txt", beginning + "…"))), HasSubstr("a.txt" + refused));
    EXPECT_THAT(refusal(from(write("b.txt." + name, "a"))), HasSubstr("b.txt." + name + refused));
  }
  EXPECT_THAT(read(from(write("c.txt", "BZh is no bzip2"))),
              ElementsAre(ElementsAre("BZh is no bzip2")));
}

TEST_F(MalformedDocuments, RejectALineAboveTheSizeLimit) {
  const std::string path = dir_.file("giant.txt");
  std::ofstream(path) << "fine\n";
  std::filesystem::resize_file(
      path, std::uintmax_t{1} << 30);  // one line of zeros, without a place on the disk
  EXPECT_THAT(refusal(from(path)), HasSubstr("giant.txt:2: a line of more than 64 MiB"));
}

TEST_F(MalformedDocuments, SurviveRandomBytes) {
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
}  // namespace smelt::text
