// Tests of the model properties that come from the description of the data.
#include "pipeline/config/vocabulary_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::pipeline {
namespace {

TEST(VocabularyFacts, RejectsAMajorityTokenThatIsNotInTheVocabulary) {
  const TempDir dir;
  const text::Vocabulary vocabulary({"[PAD]", "[UNK]", "a"}, "words.txt");
  const auto described = [&](int id) {
    io::write_file(
        dir.file("a.tfrecord.json"),
        str(R"({"files": ["a.tfrecord"], "majority_token": {"id": )", id, R"(, "count": 5}})"));
    return majority_token({dir.file("a.tfrecord")}, vocabulary);
  };
  EXPECT_EQ(described(2), 2);
  for (const int id : {3, -1})
    EXPECT_THAT(error_of<UsageError>([&] { described(id); }),
                testing::HasSubstr(
                    str("a.tfrecord.json: majority_token.id ", id,
                        " is not one of the 3 tokens of words.txt\n  hint: make the data again")));
}

}  // namespace
}  // namespace smelt::pipeline
