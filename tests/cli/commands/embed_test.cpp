// smelt embed and smelt retrieve with a folder of sentence-transformers
// (tools/golden_sentence_transformers.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/command.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

using testing::HasSubstr;

class Embed : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    const Json golden = Json::parse(io::read_file(folder_ + "/embeddings.json"));
    std::string texts;
    for (const Json& text : golden["texts"]) texts += text.get<std::string>() + "\n";
    for (const Json& row : golden["embeddings"])
      for (const Json& one : row) want_.push_back(one.get<float>());
    io::write_file(dir_.file("in.txt"), texts);
  }
  CommandOutput in(const std::string& arguments) const {
    return run_command(str("cd ", dir_.file("."), " && ", smelt_program(), " ", arguments));
  }
  void expect_refused(const std::string& arguments, const std::string& message) const {
    const CommandOutput got = in(arguments);
    EXPECT_EQ(got.status, 2) << got.text;
    EXPECT_THAT(got.text, HasSubstr(message));
  }
  // Returns the matrix of a .npy file with `rows` rows.
  std::vector<float> matrix(const std::string& name, std::size_t rows, std::size_t columns) const {
    const std::string bytes = io::read_file(dir_.file(name));
    EXPECT_EQ(bytes.substr(0, 6), "\x93NUMPY");
    EXPECT_THAT(bytes.substr(0, 128), HasSubstr(str("'shape': (", rows, ", ", columns, ")")));
    std::vector<float> out(rows * columns);
    EXPECT_EQ(bytes.size(), 128 + out.size() * sizeof(float));
    std::memcpy(out.data(), bytes.data() + 128, bytes.size() - 128);
    return out;
  }
  const std::string folder_ = source_path("tests/golden/sentence_transformers/v3");
  std::vector<float> want_;
  TempDir dir_;
};

TEST_F(Embed, WritesAMatrixInTheOrderOfTheTexts) {
  const CommandOutput made = in(str("embed ", folder_, " --input in.txt --output x.npy --batch 2"));
  EXPECT_EQ(made.status, 0) << made.text;
  const auto got = matrix("x.npy", 5, 8);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want_[i], 1e-5) << i;
  EXPECT_THAT(made.text, HasSubstr("embed: 1 text is longer than 12 tokens: truncated"));
  EXPECT_THAT(made.text, testing::Not(HasSubstr("gelu")));
  expect_refused(str("embed ", folder_, " --input in.txt --output x.npy"),
                 "embed: --output x.npy exists\n  hint: name another file, or remove it");
  EXPECT_THAT(in(str("embed ", folder_, " --output y.npy --json < in.txt")).text,
              HasSubstr(R"({"output":"y.npy","texts":5,"dimensions":8,"truncated":1})"));
  EXPECT_EQ(io::read_file(dir_.file("y.npy")), io::read_file(dir_.file("x.npy")));
}

TEST_F(Embed, WritesParquetThatPyarrowReads) {
  const CommandOutput made =
      in(str("embed ", folder_, " --input in.txt --output x.parquet --batch 1"));
  ASSERT_EQ(made.status, 0) << made.text;
  const CommandOutput read = run_command(
      str(source_path(".venv/bin/python"),
          " -c \"import json, pyarrow.parquet as p; t = p.read_table('", dir_.file("x.parquet"),
          "'); print(t.schema.field('embedding').type, json.dumps(t.to_pydict()))\""));
  ASSERT_EQ(read.status, 0) << read.text;
  const std::string type = "fixed_size_list<element: float not null>[8] ";
  ASSERT_THAT(read.text, testing::StartsWith(type));
  const Json table = Json::parse(read.text.substr(type.size()));
  EXPECT_EQ(table["text"][1], "Bad cab");
  ASSERT_EQ(table["embedding"].size(), 5);
  for (std::size_t i = 0; i < want_.size(); ++i)
    EXPECT_NEAR(table["embedding"][i / 8][i % 8].get<double>(), want_[i], 1e-5) << i;
}

TEST_F(Embed, PrintsTruncatedEmbeddings) {
  const CommandOutput made =
      in(str("embed ", folder_, " --text a --text 'Bad cab' --dimensions 3 2>/dev/null"));
  ASSERT_EQ(made.status, 0) << made.text;
  const Json first = Json::parse(made.text.substr(0, made.text.find('\n')));
  EXPECT_EQ(first["text"], "a");
  ASSERT_EQ(first["embedding"].size(), 3);
  const double norm = std::hypot(want_[0], want_[1], want_[2]);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(first["embedding"][i].get<double>(), want_[i] / norm, 1e-5);
}

TEST_F(Embed, OnnxHasPoolingAndNormalization) {
  REQUIRE_ORACLE();
  for (const char* version : {"v3", "v6"}) {  // mean and normalized, cls
    const std::string folder = source_path(str("tests/golden/sentence_transformers/", version));
    const CommandOutput made = in(str("convert ", folder, " ", version, " --to onnx"));
    ASSERT_EQ(made.status, 0) << made.text;
    const CommandOutput run = run_oracle(str(source_path("tools/check_onnx_embeddings.py"), " ",
                                             dir_.file(version), " ", folder, "/embeddings.json"));
    EXPECT_EQ(run.status, 0) << run.text;
  }
}

TEST_F(Embed, RejectsWrongArguments) {
  expect_refused(str("embed ", folder_, " --text a --output x.csv"),
                 "embed: --output x.csv has an unknown extension");
  expect_refused(str("embed ", folder_, " --text a --dimensions 9"),
                 "embed: --dimensions 9: the model's embeddings have 8 dimensions");
  expect_refused(str("embed ", folder_, " --text a --pooling max"), "--pooling 'max' is unknown");
  expect_refused(str("embed ", folder_, " --text a --input in.txt"),
                 "embed: --text and --input cannot be combined");
  expect_refused(str("embed ", folder_, " < /dev/null"), "embed: there is no text");
}

TEST_F(Embed, RetrievesEachTextByItself) {
  std::string corpus, queries, qrels = "query-id\tcorpus-id\tscore\n";
  for (const char* word : {"a", "bad", "cab x", "gh z"}) {
    corpus += str(R"({"_id": "d)", word, R"(", "title": "", "text": ")", word, "\"}\n");
    queries += str(R"({"_id": "q)", word, R"(", "text": ")", word, "\"}\n");
    qrels += str("q", word, "\td", word, "\t1\n");
  }
  io::write_file(dir_.file("data/corpus.jsonl"), corpus);
  io::write_file(dir_.file("data/queries.jsonl"), queries);
  io::write_file(dir_.file("data/qrels/test.tsv"), qrels);
  const CommandOutput json =
      in(str("retrieve ", folder_, " --data data --metric mrr@10,recall@1 --json 2>/dev/null"));
  ASSERT_EQ(json.status, 0) << json.text;
  EXPECT_EQ(Json::parse(json.text)["mrr@10"]["value"], 1.0);
  const CommandOutput text =
      in(str("retrieve ", folder_, " --data data --metric recall@1 --run run.txt"));
  EXPECT_THAT(text.text, HasSubstr("4 queries, 4 documents\nrecall@1    1.0000  [1.0000, 1.0000]"));
  EXPECT_THAT(io::read_file(dir_.file("run.txt")), testing::StartsWith("qa Q0 da 1 "));
  // A document with the id of the query is not counted as found.
  io::write_file(dir_.file("data/corpus.jsonl"),
                 corpus + R"({"_id": "qa", "title": "", "text": "a"})" + "\n");
  EXPECT_THAT(in(str("retrieve ", folder_, " --data data --metric recall@1")).text,
              HasSubstr("4 queries, 5 documents\nrecall@1    1.0000"));
  // The reranker changes the order of the first two documents only.
  const std::string reranker = source_path("tests/golden/cross_encoder/v6");
  const CommandOutput reranked =
      in(str("retrieve ", folder_, " --data data --metric mrr@10 --rerank ", reranker,
             " --rerank-depth 2 --run reranked.txt"));
  ASSERT_EQ(reranked.status, 0) << reranked.text;
  const auto lines = split(io::read_file(dir_.file("reranked.txt")), '\n');
  // A line is "qa Q0 document rank score smelt", and a document's id is "d" and its text.
  const auto score = [&](std::size_t line) {
    const auto fields = split(lines[line], ' ');
    return std::stod(std::string(fields[fields.size() - 2]));
  };
  const auto end = lines[0].find(" 1 ");
  const CommandOutput predicted = in(str("predict ", reranker, " --text a --pair '",
                                         lines[0].substr(7, end - 7), "' --json 2>/dev/null"));
  EXPECT_NEAR(Json::parse(predicted.text)["prediction"].get<double>(), score(0), 1e-5);
  EXPECT_GT(score(0), score(1));
  EXPECT_NEAR(score(2), score(1) - 1, 1e-5);
  expect_refused(str("retrieve ", folder_, " --data data --rerank ", folder_),
                 "a model of type bert (BertModel) has no classification head");
  expect_refused(str("retrieve ", folder_, " --data nowhere"),
                 "retrieve: nowhere/corpus.jsonl does not exist");
}

}  // namespace
}  // namespace smelt::cli
