// `smelt data tokens`, `data convert` and `data inspect` of tokens, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "base/str.h"
#include "data/input_pipeline/token_files.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/crc32c.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/snapshots.h"

namespace smelt::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TokensCommand : public testing::Test {
 protected:
  TokensCommand() {
    io::write_file(vocab_, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\nsat\n##s\ndog\n");
    io::write_file(text_, "the cat\nsat\n\nthe dogs\n\n\nfish\n");
  }
  CommandOutput data(const std::string& arguments) const {
    return run_command(str("cd ", dir_.path(), " && ", smelt_program(), " data ", arguments));
  }
  static std::vector<std::int32_t> tokens_of(const std::string& path) {
    const data::TokenFiles files({path});
    std::vector<std::int32_t> ids(files.tokens(0));
    files.read(0, 0, ids);
    return ids;
  }
  static std::vector<std::uint64_t> ends_of(const std::string& path) {
    const io::RandomAccessFile file(path);
    const io::TokenStoreLayout layout = data::read_token_store(file);
    std::vector<std::uint64_t> ends(layout.documents);
    data::read_document_ends(file, layout, 0, ends);
    return ends;
  }
  TempDir dir_;
  std::string vocab_ = dir_.file("vocab.txt"), text_ = dir_.file("text.txt"),
              store_ = dir_.file("a.tokens");
};

TEST_F(TokensCommand, WritesATokenStoreOfText) {
  const CommandOutput out = data("tokens --input text.txt --vocab vocab.txt --out a.tokens");
  EXPECT_EQ(out.status, 0) << out.text;
  EXPECT_THAT(out.text, HasSubstr("text:     1 file, 3 documents, 4 sentences, 7 tokens (14.29 % "
                                  "unknown)\nwritten:  a.tokens\n"));
  EXPECT_THAT(tokens_of(store_), ElementsAre(5, 6, 7, 5, 9, 8, 1));
  EXPECT_THAT(ends_of(store_), ElementsAre(3, 6, 7));
  const io::TokenStoreLayout layout = data::read_token_store(io::RandomAccessFile(store_));
  EXPECT_EQ(layout.id_bytes, 2u);
  EXPECT_EQ(layout.vocabulary.size, 10u);
  EXPECT_EQ(layout.vocabulary.crc32c, io::crc32c(io::read_file(vocab_)));
  const CommandOutput other =
      data("tokens --input text.txt --vocab vocab.txt --out b.tokens --document-end [SEP] --json");
  EXPECT_EQ(Json::parse(other.text.substr(other.text.find('{')))["text"],
            (Json{{"files", 1},
                  {"documents", 3},
                  {"sentences", 4},
                  {"tokens", 10},
                  {"unknown_tokens", 1},
                  {"characters", 18},
                  {"dropped_bytes", 0},
                  {"bad_rows", 0},
                  {"duplicate_documents", 0},
                  {"duplicate_lines", 0}}));
  EXPECT_THAT(tokens_of(dir_.file("b.tokens")), ElementsAre(5, 6, 7, 3, 5, 9, 8, 3, 1, 3));
}

TEST_F(TokensCommand, GivesTheSameBytesForAnyNumberOfThreads) {
  std::string text;
  for (int i = 0; text.size() < std::size_t{3} << 20; ++i)
    text += i % 7 == 0 ? "\n" : str("the cat sat on dog", i % 3 == 0 ? "s" : "", "\n");
  io::write_file(text_, text);
  std::string first;
  for (const int threads : {1, 2, 5}) {
    const CommandOutput out =
        data(str("tokens --input text.txt --vocab vocab.txt --out a.tokens --overwrite --threads ",
                 threads));
    ASSERT_EQ(out.status, 0) << out.text;
    if (first.empty()) first = io::read_file(store_);
    EXPECT_EQ(io::read_file(store_), first);
  }
  EXPECT_GT(first.size(), 1000000u);
}

TEST_F(TokensCommand, AcceptsSentencePieceModels) {
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += str("the cat ", i % 13, " sat on the dog ", i % 7, "\n");
  io::write_file(dir_.file("lines.txt"), lines);
  const CommandOutput trained = run_command(
      str("cd ", dir_.path(), " && ", smelt_program(),
          " vocab train --input lines.txt --out x.model --type unigram --size 60 --special "
          "'<pad>,<unk>,</s>,<cls>,<mask>,<sep>'"));
  ASSERT_EQ(trained.status, 0) << trained.text;
  const CommandOutput out =
      data("tokens --input lines.txt --vocab x.model --out a.tokens --document-end '</s>'");
  ASSERT_EQ(out.status, 0) << out.text;
  EXPECT_EQ(tokens_of(store_).back(), 2);
  EXPECT_THAT(data("inspect a.tokens --vocab x.model").text,
              HasSubstr(" t h e \xE2\x96\x81 c a t "));
}

TEST_F(TokensCommand, ConvertsEachSnapshotFolderToAStore) {
  write_test_snapshot(dir_.file("books-00000-of-00002"), dealt_out(0, 3000, 1));
  write_test_snapshot(dir_.file("books-00001-of-00002"), dealt_out(69000, 3000, 2));
  const CommandOutput out = data("convert 'books-0000?-of-00002' --out 'out/*.tokens'");
  EXPECT_EQ(out.status, 0) << out.text;
  EXPECT_THAT(out.text,
              AllOf(HasSubstr("out/books-00000-of-00002.tokens: 3000 tokens, 6.1 kB\n"),
                    HasSubstr("out/books-00001-of-00002.tokens: 3000 tokens, 12.1 kB\n")));
  for (const std::string name : {"books-00000-of-00002", "books-00001-of-00002"})
    EXPECT_EQ(tokens_of(dir_.file(str("out/", name, ".tokens"))), tokens_of(dir_.file(name)));
  EXPECT_THAT(
      data("convert 'books-0000?-of-00002' --out all.tokens").text,
      HasSubstr(
          "error: --out: 2 folders, but only one output file all.tokens\n  hint: put a * where"));
  EXPECT_THAT(data("convert 'books-0000?-of-00002' --out 'out/*.tokens'").text,
              HasSubstr("--out: out/books-00000-of-00002.tokens exists\n  hint: choose another"));
  EXPECT_THAT(data("convert books-00000-of-00002 books-00000-of-00002 --out 'x/*'").text,
              HasSubstr("--out: several folders have the same name"));
  EXPECT_THAT(data("convert text.txt --out a.tokens").text,
              HasSubstr("convert: text.txt is a file, not a snapshot folder"));
  EXPECT_THAT(data("convert books-00000-of-00002 --out a.tokens --vocab vocab.txt").text,
              HasSubstr("books-00000-of-00002: token 10 is 10, and vocab.txt has 10 pieces"));
  EXPECT_FALSE(std::filesystem::exists(store_));
}

TEST_F(TokensCommand, ConvertsTheOtherFoldersIfOneIsUnreadable) {
  for (const std::string name : {"s0", "s1", "s2"})
    write_test_snapshot(dir_.file(name), dealt_out(0, 300, 1));
  const std::string shard = dir_.file("s1/17/00000000.shard/00000000.snapshot");
  const std::string whole = io::read_file(shard);
  io::write_file(shard, whole.substr(0, whole.size() - 3));
  const CommandOutput first = data("convert 's?' --out 'out/*.tokens' --threads 2");
  EXPECT_EQ(first.status, 2);
  EXPECT_THAT(first.text,
              AllOf(HasSubstr("out/s0.tokens: 300 tokens"), HasSubstr("out/s2.tokens: "),
                    HasSubstr("s1/17/00000000.shard/00000000.snapshot: record at"),
                    HasSubstr("error: convert: 1 of 3 folders failed, 2 were "
                              "converted\n  hint: fix them, then run again with --skip-exis")));
  EXPECT_FALSE(std::filesystem::exists(dir_.file("out/s1.tokens")));
  EXPECT_THAT(data("convert 's?' --out '*-*.tokens'").text, HasSubstr("has more than one *"));
  EXPECT_THAT(data("convert s0 --out s0/a.tokens").text,
              HasSubstr("would be inside the snapshot folder s0"));
  io::write_file(dir_.file("out/s1.tokens"), "");
  EXPECT_THAT(data("convert 's?' --out 'out/*.tokens' --skip-existing").text,
              HasSubstr("--out: out/s1.tokens exists"));
  io::remove_file(dir_.file("out/s1.tokens"));
  io::write_file(shard, whole);
  const CommandOutput again = data("convert 's?' --out 'out/*.tokens' --skip-existing");
  EXPECT_EQ(again.status, 0) << again.text;
  EXPECT_THAT(again.text, AllOf(HasSubstr("out/s1.tokens: 300"), Not(HasSubstr("out/s0.tokens: 3")),
                                HasSubstr("convert: 2 of 3 token stores existed already")));
}

TEST_F(TokensCommand, ConvertsListsToDocuments) {
  TestSnapshot lists;
  lists.scalars = false;
  lists.shards = {{{5, 6}, {}, {7}}};
  write_test_snapshot(dir_.file("s"), lists);
  const CommandOutput out = data("convert s --out a.tokens --vocab vocab.txt");
  EXPECT_EQ(out.status, 0) << out.text;
  EXPECT_THAT(tokens_of(store_), ElementsAre(5, 6, 7));
  EXPECT_THAT(ends_of(store_), ElementsAre(2, 3));
}

TEST_F(TokensCommand, RejectsAFolderWithoutTokens) {
  TestSnapshot lists;
  lists.scalars = false;
  lists.shards = {{{}}};
  write_test_snapshot(dir_.file("s"), lists);
  const CommandOutput out = data("convert s --out a.tokens");
  EXPECT_EQ(out.status, 2);
  EXPECT_THAT(out.text, HasSubstr("error: s: holds no tokens\n  hint: leave this folder out"));
  EXPECT_FALSE(std::filesystem::exists(store_));
}

TEST_F(TokensCommand, InspectShowsStoresAndSnapshotFolders) {
  ASSERT_EQ(data("tokens --input text.txt --vocab vocab.txt --out a.tokens").status, 0);
  const std::string shown = data("inspect a.tokens --vocab vocab.txt").text;
  EXPECT_THAT(shown, HasSubstr("tokens:      7 in 1 file, 3 documents\nids:         1 to 9\n"
                               "vocabulary:  10 pieces, CRC-32C "));
  EXPECT_THAT(shown, HasSubstr("a.tokens: token 0\n  the cat sat the dog ##s [UNK]\n"));
  write_test_snapshot(dir_.file("s"), dealt_out(0, 12, 2));
  EXPECT_THAT(data("inspect s").text,
              HasSubstr("tokens:      12 in 1 file, 0 documents\nids:         0 to 11\nvocabulary:"
                        "  unknown\ns: token 0\n  0 1 2 3 4 5 6 7 8 9 10 11\n"));
  const CommandOutput bad = data("inspect s --vocab vocab.txt");
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.text,
              HasSubstr("inspect: 2 tokens are out of range for 10 pieces, first s: token "
                        "10 is 10"));
  io::write_file(vocab_, io::read_file(vocab_) + "more\n");
  EXPECT_THAT(data("inspect a.tokens --vocab vocab.txt").text,
              HasSubstr("inspect: the tokens were made with another vocabulary than vocab.txt"));
  const auto json = Json::parse(data("inspect a.tokens --json --samples 2").text);
  EXPECT_EQ(json["tokens"], 7);
  EXPECT_EQ(json["samples"][1]["place"], "a.tokens: token 3");
}

TEST_F(TokensCommand, RejectsAnUnknownDocumentEndAndEmptyText) {
  EXPECT_THAT(
      data("tokens --input text.txt --vocab vocab.txt --out a.tokens --document-end '</s>'").text,
      HasSubstr("error: --document-end: vocab.txt has no piece '</s>'\n  hint: name one"));
  io::write_file(text_, "\n\n");
  EXPECT_THAT(data("tokens --input text.txt --vocab vocab.txt --out a.tokens").text,
              HasSubstr("holds no text"));
  EXPECT_FALSE(std::filesystem::exists(store_));
}

}  // namespace
}  // namespace smelt::cli
