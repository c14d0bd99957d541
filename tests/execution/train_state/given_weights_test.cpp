// Runs that start with pretrained weights: what is loaded, what is initialized randomly, and what
// is rejected.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "checkpoint/interop/hugging_face.h"
#include "execution/train_state/initial_weights.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/config.h"
#include "runs/small_run.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::execution {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// ---- matching, without a model ----

model::StateTensor parameter(const std::string& name, compiler::Dims dims,
                             std::int64_t layers = 0) {
  if (layers > 0) dims.insert(dims.begin(), layers);
  return {
      .name = name, .shape = {compiler::DType::f32, std::move(dims)}, .init = {}, .layers = layers};
}

checkpoint::PretrainedWeights given(
    const std::vector<std::pair<std::string, compiler::Dims>>& parameters) {
  static const std::vector<std::byte> kZeros(1 << 12);
  checkpoint::PretrainedWeights out{.where = "W", .parameters = {}, .model = {}, .owners = {}};
  for (const auto& [name, dims] : parameters) {
    const compiler::Shape shape{compiler::DType::f32, dims};
    out.parameters[name] = {shape, std::span(kZeros).first(shape.size_bytes())};
  }
  return out;
}

bool is_table(std::string_view name) { return name == "table"; }

TEST(TakeWeights, MatchesByNameAndShape) {
  model::StateLayout layout;
  layout.tensors = {parameter("table", {6, 2}), parameter("layer_*/a", {3}, 2),
                    parameter("new", {2}), parameter("table/adam_m", {6, 2})};
  layout.values = 3;
  const InitialWeights taken = take_weights(
      layout, given({{"table", {4, 2}}, {"layer_0/a", {3}}, {"old", {9}}, {"older", {1}}}),
      is_table);
  EXPECT_THAT(taken.resized, ElementsAre("table f32[4,2] to f32[6,2]"));
  EXPECT_THAT(taken.fresh, ElementsAre("layer_1/a", "new"));
  EXPECT_THAT(taken.unused, ElementsAre("old", "older"));
  ASSERT_EQ(taken.parameters.size(), 2u);
  EXPECT_EQ(taken.parameters.at("table").shape, (compiler::Shape{compiler::DType::f32, {4, 2}}));
  EXPECT_EQ(table_of(taken),
            "weights of W:\n"
            "  loaded       1\n"
            "  resized      1  table f32[4,2] to f32[6,2]\n"
            "  random       2  layer_1/a, new\n"
            "  unused       2  old, older");
  const InitialWeights shorter = take_weights(layout, given({{"table", {9, 2}}}), is_table);
  EXPECT_EQ(shorter.parameters.at("table").shape, (compiler::Shape{compiler::DType::f32, {6, 2}}));
  EXPECT_EQ(shorter.parameters.at("table").data.size(), 48u);
}

TEST(TakeWeights, RejectsOtherShapesAndOtherModels) {
  model::StateLayout layout;
  layout.tensors = {parameter("table", {6, 2}), parameter("a", {3})};
  layout.values = 2;
  const auto refusal = [&](const std::vector<std::pair<std::string, compiler::Dims>>& parameters) {
    return error_of([&] { take_weights(layout, given(parameters), is_table); });
  };
  const std::string hint =
      "\n  hint: set the model's sizes to those of the pretrained weights, or train without them";
  EXPECT_EQ(refusal({{"a", {4}}}), "init: W: a has shape f32[4], this run expects f32[3]" + hint);
  EXPECT_EQ(refusal({{"table", {6, 3}}}),
            "init: W: table has shape f32[6,3], this run expects f32[6,2]" + hint);
  EXPECT_EQ(
      refusal({{"b", {4}}, {"c", {4}}}),
      "init: W: none of its 2 parameters (such as b) is a parameter of this run (such as table)\n"
      "  hint: use pretrained weights of the same model type");
}

TEST(TakeWeights, WarnsAboutEncoderParametersWithRandomValues) {
  model::StateLayout layout;
  for (const char* name : {"bert/embeddings/LayerNorm/beta", "bert/embeddings/LayerNorm/gamma",
                           "bert/pooler/dense/bias", "cls/predictions/output_bias"})
    layout.tensors.push_back(parameter(name, {3}));
  layout.values = 4;
  const auto taken = [&](const std::vector<std::string>& names) {
    std::vector<std::pair<std::string, compiler::Dims>> parameters;
    for (const std::string& name : names) parameters.push_back({name, {3}});
    return take_weights(layout, given(parameters), is_table);
  };
  EXPECT_EQ(missing_encoder_parameters(taken({"bert/pooler/dense/bias", "layer_normalization"})),
            "has 1 of the 3 parameters of this run's encoder; the other 2 start with random "
            "values: bert/embeddings/LayerNorm/beta, bert/embeddings/LayerNorm/gamma");
  EXPECT_EQ(missing_encoder_parameters(
                taken({"bert/embeddings/LayerNorm/beta", "bert/embeddings/LayerNorm/gamma",
                       "bert/pooler/dense/bias"})),
            "")
      << "a head may start with random values";
  EXPECT_EQ(error_of<UsageError>([&] { taken({"cls/predictions/output_bias", "model/beta"}); }),
            "init: W: none of the 3 parameters of this run's encoder (such as "
            "bert/embeddings/LayerNorm/beta) is among its parameters (such as model/beta)\n"
            "  hint: use pretrained weights of the same model type");
}

TEST(TakeWeights, UsesAlternativeNamesIfTheRunHasNoParametersUnderTheFirst) {
  const auto taken = [](const std::vector<std::string>& run, const std::vector<std::string>& from) {
    model::StateLayout layout;
    for (const std::string& name : run) layout.tensors.push_back(parameter(name, {3}));
    layout.values = run.size();
    std::vector<std::pair<std::string, compiler::Dims>> parameters;
    for (const std::string& name : from) parameters.push_back({name, {3}});
    checkpoint::PretrainedWeights weights = given(parameters);
    weights.else_under = {{"g/", "e/"}, {"g/words/", "e/words/"}};
    return take_weights(layout, std::move(weights), is_table);
  };
  const InitialWeights only = taken({"e/words/a", "e/b"}, {"g/words/a", "g/b"});
  EXPECT_EQ(only.fresh.size() + only.unused.size(), 0u);
  const InitialWeights shared = taken({"e/words/a", "e/b", "g/b"}, {"g/words/a", "g/b"});
  EXPECT_THAT(shared.fresh, ElementsAre("e/b"));
  EXPECT_EQ(shared.unused.size(), 0u);
  const InitialWeights both = taken({"e/b"}, {"e/b", "g/b"});
  EXPECT_THAT(both.unused, ElementsAre("g/b"));
}

TEST(OtherVocabulary, NamesTheFirstRowWithAnotherToken) {
  const TempDir dir;
  const std::string vocab = dir.file("vocab.txt");
  io::write_file(vocab, "[PAD]\nthe\nriver\n");
  checkpoint::PretrainedWeights weights = given({});
  EXPECT_EQ(other_vocabulary(weights, vocab), "");
  for (const char* same : {"[PAD]\nthe\nriver", "[PAD]\r\nthe\r\n", "[PAD]\nthe\nriver\nbed\n"}) {
    weights.vocab_txt = same;
    EXPECT_EQ(other_vocabulary(weights, vocab), "") << same;
  }
  weights.vocab_txt = "[PAD]\na\nriver\n";
  EXPECT_EQ(other_vocabulary(weights, vocab),
            "has another vocabulary than " + vocab +
                ": row 1 is 'a' instead of 'the'; embeddings are copied by row number");
  EXPECT_EQ(other_vocabulary(weights, ""), "");
  weights.vocab_txt.clear();
  weights.vocabulary_crc32c = 5;
  EXPECT_THAT(other_vocabulary(weights, vocab), HasSubstr("its crc32c is 5, not "));
}

// ---- training runs ----

class GivenWeightsRun : public SmallRun {
 protected:
  void SetUp() override {
    SmallRun::SetUp();
    train::train(job("given", 5));
  }
  // Uses another seed, so that values that are not loaded differ.
  train::TrainJob from(
      const std::string& init, const std::string& model, std::int64_t steps,
      const std::function<void(model::BertTask&)>& change = [](model::BertTask&) {}) const {
    train::TrainJob out = job(model, steps);
    model::BertTask task = bert();
    change(task);
    out.task = model::bert_task(task);
    out.config.seed = 7;
    out.init = init.empty() ? "" : dir_.file(init);
    return out;
  }
  // Checks that the parameters of `begun` that `given` also has are bit-identical, and that the
  // slots are zeros.
  void expect_given(const std::map<std::string, std::vector<float>>& begun) const {
    const auto given = state("given", 5);
    for (const auto& [name, values] : begun) {
      const bool slot = name.ends_with("/adam_m") || name.ends_with("/adam_v");
      if (slot) {
        EXPECT_THAT(values, testing::Each(0.0f)) << name;
      } else if (given.contains(name)) {
        EXPECT_EQ(values, given.at(name)) << name;
      }
    }
  }
};

TEST_F(GivenWeightsRun, StepZeroHasTheBitsOfThePretrainedWeights) {
  train::train(from("given", "begun", 0));
  const auto begun = state("begun", 0);
  EXPECT_EQ(begun.size(), state("given", 5).size());
  expect_given(begun);
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("weights of " + dir_.file("given/checkpoint-5:\n")),
                                 Not(HasSubstr("\n  random")), Not(HasSubstr("\n  unused"))));
  const Evaluation mine = evaluate(evaluation("begun")), theirs = evaluate(evaluation("given"));
  EXPECT_EQ(mine.global_step, 0);
  EXPECT_EQ(mine.loss, theirs.loss);
  for (std::size_t i = 0; i < mine.measures.size(); ++i)
    EXPECT_EQ(mine.measures[i].value, theirs.measures[i].value) << mine.measures[i].name;
}

TEST_F(GivenWeightsRun, AdditionalLayersAndRowsStartAsInANewRun) {
  const auto larger = [](model::BertTask& task) {
    task.model.num_hidden_layers = 2;
    task.model.vocab_size += 9;
  };
  for (const model::Layers layers : {model::Layers::unrolled, model::Layers::scan}) {
    const std::string name = layers == model::Layers::scan ? "scan" : "unrolled";
    train::TrainJob begun = from("given", name, 0, larger),
                    fresh = from("", name + "_fresh", 0, larger);
    begun.on.compute = fresh.on.compute = model::ComputeOptions{.layers = layers};
    train::train(begun);
    train::train(fresh);
    auto got = state(name, 0);
    const auto drawn = state(name + "_fresh", 0);
    for (const std::string table :
         {"bert/embeddings/word_embeddings", "cls/predictions/output_bias"}) {
      const std::vector<float> theirs = state("given", 5).at(table);
      std::vector<float> want = drawn.at(table);
      ASSERT_GT(want.size(), theirs.size());
      std::ranges::copy(theirs, want.begin());
      EXPECT_EQ(got.at(table), want) << table;
      got.erase(table);
    }
    expect_given(got);
    for (const auto& [tensor, values] : got)
      if (tensor.starts_with("bert/encoder/layer_1/")) {
        EXPECT_EQ(values, drawn.at(tensor)) << tensor;
      }
  }
  EXPECT_THAT(log_.text(), HasSubstr("resized      2  bert/embeddings/word_embeddings f32["));
}

TEST_F(GivenWeightsRun, HuggingFaceFolderGivesTheSameBits) {
  const checkpoint::Checkpoint checkpoint = checkpoint::load_checkpoint(dir_.file("given"), 5);
  checkpoint::HuggingFaceBert folder;
  folder.config = io::config_json(bert().model);
  folder.parameters = checkpoint.tensors;
  folder.vocab_txt = io::read_file(vocab());
  checkpoint::export_hugging_face(dir_.file("hf"), folder);
  train::TrainJob begun = from("hf", "begun", 0);
  begun.vocab = vocab();
  train::train(begun);
  expect_given(state("begun", 0));
  EXPECT_THAT(log_.text(),
              AllOf(Not(HasSubstr("\n  random")), Not(HasSubstr("another vocabulary"))));

  std::ranges::replace(folder.vocab_txt, 'e', 'E');
  checkpoint::export_hugging_face(dir_.file("other"), folder);
  train::TrainJob other = from("other", "begun_2", 0);
  other.vocab = vocab();
  train::train(other);
  EXPECT_THAT(log_.text(), HasSubstr("other has another vocabulary than " + vocab() + ": row "));
}

TEST_F(GivenWeightsRun, ResumedRunDoesNotNeedThePretrainedWeights) {
  train::train(from("given", "whole", 10));
  cut_back(dir_.file("whole"), dir_.file("resumed"), 5);
  io::remove_tree(dir_.file("given"));
  const train::TrainSummary resumed = train::train(from("given", "resumed", 10));
  EXPECT_EQ(resumed.first_step, 5);
  EXPECT_EQ(state("resumed", 10), state("whole", 10));
  EXPECT_THAT(log_.text(), HasSubstr("given is not used: this run has a checkpoint of its own"));
  EXPECT_EQ(checkpoint::load_checkpoint(dir_.file("resumed"), 10).state["init"],
            dir_.file("given/checkpoint-5"));
}

TEST_F(GivenWeightsRun, ReportsWeightsThatDoNotFit) {
  const auto refusal = [&](const std::string& init,
                           const std::function<void(model::BertTask&)>& change) {
    return error_of([&] { train::train(from(init, "begun", 0, change)); });
  };
  EXPECT_THAT(
      refusal("given", [](auto& t) { t.model.hidden_size = 32; }),
      AllOf(HasSubstr("given/checkpoint-5: bert/embeddings/word_embeddings has shape f32[345,16], "
                      "this run expects f32[345,32]"),
            HasSubstr("hint: set the model's sizes to those of the pretrained")));
  EXPECT_THAT(refusal("given", [](auto& t) { t.model.max_position_embeddings = 64; }),
              HasSubstr("position_embeddings has shape f32[32,16], this run expects f32[64,16]"));
  EXPECT_THAT(refusal("gone", [](auto&) {}), AllOf(HasSubstr("init: there is no "),
                                                   HasSubstr("gone\n  hint: give a smelt model")));
  std::filesystem::create_directory(dir_.file("nothing"));
  EXPECT_THAT(refusal("nothing", [](auto&) {}),
              EndsWith("nothing has neither a checkpoint nor config.json\n  hint: give a smelt "
                       "model folder, a TensorFlow checkpoint (…/bert_model.ckpt), or a Hugging "
                       "Face folder of a BERT, RoBERTa, ModernBERT, DeBERTa, ELECTRA or T5"));
  std::filesystem::create_directory(dir_.file("out"));
  std::filesystem::rename(dir_.file("given"), dir_.file("out/model"));
  EXPECT_EQ(checkpoint::load_weights(dir_.file("out")).where,
            checkpoint::load_weights(dir_.file("out/model")).where);
  std::filesystem::rename(dir_.file("out/model/checkpoint-5"), dir_.file("mine"));
  EXPECT_THAT(refusal("mine", [](auto&) {}),
              EndsWith("mine is a renamed checkpoint; its name must be checkpoint-5\n  hint: "
                       "rename the folder to checkpoint-5"));
  std::filesystem::rename(dir_.file("mine"), dir_.file("out/model/checkpoint-5"));
  std::filesystem::rename(dir_.file("out/model"), dir_.file("given"));
  EXPECT_EQ(refusal("given", [](auto& t) { t.model.num_attention_heads = 4; }), "no error");
  EXPECT_THAT(log_.text(),
              HasSubstr("given/checkpoint-5: was made with model.num_attention_heads 2, "
                        "this run has 4"));
}

}  // namespace
}  // namespace smelt::execution
