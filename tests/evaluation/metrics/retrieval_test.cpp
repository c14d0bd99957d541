// Exact search and retrieval metrics against pytrec_eval and sentence-transformers
// (tools/golden_retrieval.py), and the reader of BEIR's files.
#include "evaluation/metrics/retrieval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "evaluation/metrics/beir.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::evaluation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> numbers(const Json& rows) {
  std::vector<float> out;
  for (const Json& row : rows)
    for (const Json& one : row) out.push_back(one.get<float>());
  return out;
}

// Returns the mean of each metric over the golden queries. With `binary`, all grades above 0 are 1.
std::map<std::string, double> means(const Json& golden, bool binary) {
  const auto hits =
      nearest_documents(numbers(golden["queries"]), numbers(golden["documents"]), 4, 100);
  std::map<std::string, double> out;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    std::map<std::size_t, double> grades;
    RankedGrades query;
    for (const Json& pair : golden["grades"][i]) {
      const double grade = pair[1].get<double>();
      if (grade <= 0) continue;
      grades[pair[0].get<std::size_t>()] = binary ? 1 : grade;
      query.relevant.push_back(binary ? 1 : grade);
    }
    for (const SearchHit& hit : hits[i])
      query.found.push_back(grades.contains(hit.document) ? grades[hit.document] : 0);
    for (const auto& metric :
         retrieval_metrics("test", "ndcg@10,mrr@10,recall@5,recall@100,map@100"))
      out[metric.name] += metric.of_query(query, metric.k) / static_cast<double>(hits.size());
  }
  return out;
}

TEST(RetrievalMetrics, MatchPytrecEvalAndSentenceTransformers) {
  const Json golden = Json::parse(io::read_file(source_path("tests/golden/retrieval.json")));
  for (const char* library : {"pytrec_eval", "sentence_transformers"}) {
    auto got = means(golden, library == std::string("sentence_transformers"));
    for (const auto& [name, value] : golden[library].items())
      EXPECT_NEAR(got.at(name), value.get<double>(), 1e-9) << library << " " << name;
  }
}

TEST(NearestDocuments, PrefersTheFirstOfEqualDocumentsAndReturnsAllIfThereAreFew) {
  const std::vector<float> query{1, 0}, documents{0, 5, 2, 1, 2, 7, 3, 0};
  std::vector<std::size_t> found;
  const auto hits = nearest_documents(query, documents, 2, 3);
  for (const SearchHit& hit : hits[0]) found.push_back(hit.document);
  EXPECT_THAT(found, ElementsAre(3, 1, 2));
  EXPECT_EQ(nearest_documents(query, documents, 2, 9)[0].size(), 4);
}

TEST(RetrievalMetrics, RejectUnknownNames) {
  for (const char* name : {"ndcg", "ndcg@0", "hits@3", "ndcg@1x"})
    EXPECT_EQ(error_of<UsageError>([&] { retrieval_metrics("--metric", name); }),
              str("--metric: metric '", name,
                  "' is unknown\n  hint: use ndcg@10, mrr@10, recall@100 or map@100, or another "
                  "number"));
}

class Beir : public testing::Test {
 protected:
  void write(const std::string& corpus, const std::string& queries, const std::string& qrels) {
    io::write_file(dir_.file("corpus.jsonl"), corpus);
    io::write_file(dir_.file("queries.jsonl"), queries);
    io::write_file(dir_.file("qrels/test.tsv"), "query-id\tcorpus-id\tscore\n" + qrels);
  }
  BeirData read() const { return read_beir(dir_.path(), "test", "retrieve"); }
  std::string refusal() const {
    return error_of<UsageError>([&] { read(); });
  }
  TempDir dir_;
  std::string corpus_ = R"({"_id": "a", "title": "T", "text": "x"})"
                        "\n"
                        R"({"_id": "b", "title": "", "text": "y"})"
                        "\n";
  std::string queries_ = R"({"_id": "1", "text": "q"})"
                         "\n"
                         R"({"_id": "2", "text": "r"})"
                         "\n";
};

TEST_F(Beir, ReadsTextsAndTheQueriesOfASplit) {
  write(corpus_, queries_, "2\tb\t2\n1\ta\t0\n");
  const BeirData data = read();
  EXPECT_EQ(data.documents.at(0).text, "T x");
  EXPECT_EQ(data.documents.at(1).text, "y");
  ASSERT_EQ(data.queries.size(), 1);
  EXPECT_EQ(data.queries[0].id, "2");
  EXPECT_EQ(data.grades[0][0].document, 1);
  EXPECT_EQ(data.grades[0][0].grade, 2);
}

TEST_F(Beir, RejectsMissingFilesAndWrongLines) {
  EXPECT_THAT(refusal(), HasSubstr("corpus.jsonl does not exist\n  hint: give a folder with"));
  write(corpus_ + corpus_, queries_, "");
  EXPECT_THAT(refusal(), HasSubstr("corpus.jsonl:3: _id 'a' occurs twice"));
  write("{\"_id\": 3}\n", queries_, "");
  EXPECT_THAT(refusal(), HasSubstr("corpus.jsonl:1: expected an object with the texts _id and "
                                   "text"));
  write(corpus_, queries_, "1\tc\t1\n");
  EXPECT_THAT(refusal(), HasSubstr("qrels/test.tsv:2: 'c' is not an _id of corpus.jsonl"));
  write(corpus_, queries_, "1 a 1\n");
  EXPECT_THAT(refusal(), HasSubstr("test.tsv:2: expected query-id, corpus-id and score"));
  write(corpus_, queries_, "1\ta\t0\n");
  EXPECT_THAT(refusal(), HasSubstr("has no query with a relevant document"));
}

}  // namespace
}  // namespace smelt::evaluation
