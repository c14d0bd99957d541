// Exported classifier folders: transformers computes the same scores, and smelt reads them back.
#include "checkpoint/interop/hugging_face_classifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/interop/stored_classifier.h"
#include "checkpoint/interop/stored_model.h"
#include "io/filesystem/file.h"
#include "runs/golden_classify.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

using testing::HasSubstr;

class ClassifierFolder : public testing::TestWithParam<const char*> {
 protected:
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Encoders, ClassifierFolder,
                         testing::Values("bert", "electra", "bert-tokens", "electra-tokens",
                                         "bert-spans", "electra-spans"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(ClassifierFolder, TransformersComputesTheSameScores) {
  REQUIRE_ORACLE();
  const GoldenClassify golden(GetParam());
  golden.write_folder(dir_.file("hf"));
  const data::Batch batch = golden.batch();
  io::TensorMap inputs;
  for (const auto& [i, name] : {std::pair{0, "input_ids"}, {1, "input_mask"}, {2, "segment_ids"}})
    inputs[name] = {batch.arrays[static_cast<std::size_t>(i)].shape,
                    batch.arrays[static_cast<std::size_t>(i)].bytes};
  io::write_file(dir_.file("in"), io::safetensors_bytes(inputs));
  const auto result =
      run_oracle(str(source_path("tools/check_hf_folder.py"), " ", dir_.file("hf"), " --inputs ",
                     dir_.file("in"), " --outputs ", dir_.file("out")));
  ASSERT_EQ(result.status, 0) << result.text;
  const io::SafetensorsFile out(io::read_file(dir_.file("out")), "out");
  const auto got = io::tensor_values<float>(out.at("class_logits")), want = golden.values("scores");
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
}

TEST_P(ClassifierFolder, RoundTripKeepsClasses) {
  const GoldenClassify golden(GetParam());
  golden.write_folder(dir_.file("hf"));
  const StoredModel model = open_stored_model(dir_.file("hf"), "test");
  EXPECT_EQ(model_type_of(model.tensors), "classify");
  EXPECT_EQ(model.objective.dump(),
            golden.of_answers()
                ? R"({"answers":{"answer_tokens":30,"doc_stride":128,"question_tokens":64},)"
                  R"("dropout":0.0,"labels":[],"no_answer":true,"problem":"answer_spans"})"
                : str(R"({"dropout":0.0,"labels":["a","b","c"],"problem":")",
                      golden.of_tokens() ? "token_labels" : "single_label", R"("})"));
  EXPECT_TRUE(model.skipped.empty());
  for (const auto& [name, view] : golden.state()) {
    ASSERT_TRUE(model.tensors.contains(name)) << name;
    EXPECT_EQ(model.tensors.at(name).read(),
              std::vector<std::byte>(view.data.begin(), view.data.end()))
        << name;
  }
}

TEST(ClassifierHead, UsesNumLabelsWithoutNames) {
  Json config{{"architectures", {"BertForSequenceClassification"}}, {"num_labels", 3}};
  EXPECT_EQ(classifier_head(config, "c")->labels.names,
            (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
  config.erase("num_labels");
  EXPECT_EQ(classifier_head(config, "c")->labels.names.size(), 2u);
  for (const Json& wrong : {Json(4'000'000'000), Json(0), Json("3")}) {
    config["num_labels"] = wrong;
    EXPECT_THAT(error_of<UsageError>([&] { classifier_head(config, "c"); }),
                HasSubstr(str("c: num_labels is ", wrong.dump(),
                              ", must be an integer from 1 to 1000000\n  hint: correct it")));
  }
}

// Labels of folders and checkpoints are normalized like those of rows: in distillation the
// student's labels come from rows and must equal the teacher's.
TEST(ClassifierHead, NormalizesLabels) {
  const std::vector<std::string> composed{"caf\u00E9", "no"}, stored{"cafe\u0301", "no"};
  const Json config{{"architectures", {"BertForSequenceClassification"}},
                    {"id2label", {{"0", stored[0]}, {"1", stored[1]}}}};
  EXPECT_EQ(classifier_head(config, "c")->labels.names, composed);
  StoredModel checkpoint;
  checkpoint.settings = {{"labels", stored}, {"problem", "single_label"}};
  EXPECT_EQ(stored_head(checkpoint).labels.names, composed);
  StoredModel folder;
  folder.objective = head_settings({.labels = {.names = stored}});
  EXPECT_EQ(stored_head(folder).labels.names, composed);
}

TEST(ClassifierHead, ReadsConfigWrittenByTransformers) {
  const auto head = [](const char* json) {
    return classifier_head(Json::parse(json), "config.json");
  };
  EXPECT_FALSE(head(R"({"architectures": ["BertModel"]})"));
  const auto plain = head(R"({"architectures": ["BertForSequenceClassification"]})");
  EXPECT_EQ(plain->labels.names, (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
  EXPECT_EQ(plain->labels.problem, io::Problem::single_label);
  const auto one = head(
      R"({"architectures": ["ElectraForSequenceClassification"], "id2label": {"0": "score"},
          "classifier_dropout": null, "hidden_dropout_prob": 0.3})");
  EXPECT_EQ(one->labels.problem, io::Problem::regression);
  EXPECT_EQ(one->dropout, 0.3);
  const auto answers = head(R"({"architectures": ["BertForQuestionAnswering"]})");
  EXPECT_EQ(answers->labels.problem, io::Problem::answer_spans);
  EXPECT_FALSE(answers->labels.no_answer);
  EXPECT_EQ(answers->answers, io::AnswerLimits());
  EXPECT_EQ(answers->seq_length, 0);
  const auto trained = head(R"({"architectures": ["BertForQuestionAnswering"], "seq_length": 48,
      "answers": {"question_tokens": 12, "doc_stride": 16, "answer_tokens": 5}})");
  EXPECT_EQ(trained->seq_length, 48);
  EXPECT_EQ(trained->answers, (io::AnswerLimits{12, 16, 5}));
  const auto refused = [&](const char* json) { return error_of<UsageError>([&] { head(json); }); };
  EXPECT_THAT(refused(R"({"architectures": ["BertForSequenceClassification"],
                          "id2label": {"0": "a", "2": "b"}})"),
              HasSubstr("config.json: id2label has no name for 1"));
  EXPECT_THAT(refused(R"({"architectures": ["BertForSequenceClassification"],
                          "problem_type": "ranking"})"),
              HasSubstr("config.json: problem_type 'ranking' is unknown"));
  EXPECT_THAT(refused(R"({"architectures": ["BertForQuestionAnswering"], "seq_length": "long"})"),
              HasSubstr("config.json: seq_length is \"long\", must be a positive integer"));
  EXPECT_THAT(refused(R"({"architectures": ["BertForQuestionAnswering"],
                          "answers": {"doc_stride": 0}})"),
              HasSubstr("config.json: answers.doc_stride is 0, must be a positive integer"));
}

}  // namespace
}  // namespace smelt::checkpoint
