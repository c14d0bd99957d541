// A fine-tuned model before it predicts.
#include "ask/classify.h"

#include <gmock/gmock.h>

#include "support/plugins.h"

namespace smelt {
namespace {

TEST(Classifier, ComposesLabelsThatAModelWasStoredWith) {
  ClassifyJob job;
  job.labels.names = {"cafe\u0301", "no"};
  SMELT_OPEN_CPU(client, 1);
  const Classifier classifier(client, job,
                              BertTokenizer(Vocabulary({"[UNK]", "[CLS]", "[SEP]"}), {}), {}, "");
  EXPECT_THAT(classifier.job().labels.names, testing::ElementsAre("caf\u00E9", "no"));
}

}  // namespace
}  // namespace smelt
