// smelt fill and smelt detect of a model that is named by its folder, in each of the three forms.
#include "pipeline/stored_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "checkpoint/interop/convert.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/crc32c.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The original's tiny BERT and ELECTRA as models of smelt's, with a vocabulary of 99 words.
class StoredAnswersTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    std::string vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (int i = 5; i < 99; ++i) vocab += str("word", i, "\n");
    vocab_ = vocab;
    const Json h = facts("electra_tiny")["cases"]["electra"]["hparams"];
    Json config{{"vocab_size", h["vocab_size"]},
                {"embedding_size", h["embedding_size"]},
                {"generator_layers", h["generator_layers"]},
                {"generator_hidden_size", h["generator_hidden_size"]}};
    config.update(h["model_hparam_overrides"]);
    save("electra", "electra_tiny", "electra/param/", config);
    save("bert", "bert_tiny", "param/", facts("bert_tiny")["config"]);
  }
  static Json facts(const std::string& name) {
    return Json::parse(read_file(source_path(str("tests/golden/", name, ".json"))));
  }
  void save(const std::string& task, const std::string& golden, const std::string& prefix,
            const Json& config, const std::set<std::string>& without = {}) const {
    const SafetensorsFile file(read_file(source_path(str("tests/golden/", golden, ".safetensors"))),
                               golden);
    TensorMap tensors;
    for (const auto& [key, tensor] : file.tensors())
      if (key.starts_with(prefix)) tensors.emplace(key.substr(prefix.size()), tensor);
    std::erase_if(tensors, [&](const auto& item) {
      return std::ranges::any_of(without,
                                 [&](const auto& part) { return item.first.starts_with(part); });
    });
    write_file(dir_.file(task + "/vocab.txt"), vocab_);
    save_checkpoint(dir_.file(task + "/model"), 5, tensors,
                    {{"task", task}, {"model", config}, {kVocabularyCrc32c, crc32c(vocab_)}});
  }
  void convert(const std::string& from, const std::string& to, ModelForm form) const {
    convert_checkpoint({.from = dir_.file(from), .to = dir_.file(to), .form = form});
  }
  StoredAnswers open(const std::string& name, const std::string& command = "detect",
                     const StoredModelFlags& flags = {}) const {
    return {command, dir_.file(name), flags};
  }
  std::vector<float> found(const std::string& name) const {
    std::vector<float> out;
    const auto judged = open(name).detector()({"word7 word9 word30"});
    for (const JudgedToken& token : judged.at(0)) out.push_back(token.probability);
    return out;
  }
  std::string guesses(const std::string& name) const {
    std::string out;
    const auto filled = open(name, "fill").filler(3)({"word7 [MASK] word30"});
    for (const MaskGuess& guess : filled[0].masks.at(0))
      out += str(guess.token, " ", guess.probability, "; ");
    return out;
  }
  template <class Work>
  static std::string refusal(Work work) {
    return error_of<UsageError>(work);
  }

  std::string vocab_;
  TempDir dir_;
  CapturedLog log_;
};

TEST_F(StoredAnswersTest, OfElectraAreTheSameInAnyForm) {
  convert("electra/model", "tf/model.ckpt-5", ModelForm::tensorflow);
  convert("electra/model", "hf", ModelForm::hugging_face);
  const std::vector<float> replaced = found("electra/model");
  ASSERT_EQ(replaced.size(), 3u);
  EXPECT_NE(replaced[0], replaced[1]);
  const std::string filled = guesses("electra/model");
  for (const char* name : {"electra/model/checkpoint-5", "tf", "tf/model.ckpt-5", "hf"}) {
    EXPECT_EQ(found(name), replaced) << name;
    EXPECT_EQ(guesses(name), filled) << name;
  }
  EXPECT_EQ(found("hf/discriminator"), replaced);
  EXPECT_EQ(guesses("hf/generator"), filled);
  EXPECT_THAT(refusal([&] { guesses("hf/discriminator"); }),
              AllOf(HasSubstr("fill: "),
                    HasSubstr("hf/discriminator (ElectraForPreTraining) has no generator\n")));
  EXPECT_THAT(refusal([&] { found("hf/generator"); }),
              HasSubstr("detect: a masked LM has no discriminator"));
}

TEST_F(StoredAnswersTest, OfBertAreTheSameInAnyForm) {
  convert("bert/model", "tf/bert_model.ckpt", ModelForm::tensorflow);
  convert("bert/model", "hf", ModelForm::hugging_face);
  const std::string filled = guesses("bert/model");
  EXPECT_THAT(filled, HasSubstr("; "));
  for (const char* name : {"tf", "hf"}) EXPECT_EQ(guesses(name), filled) << name;
  EXPECT_THAT(refusal([&] { found("bert/model"); }),
              HasSubstr("detect: a model of type bert has no discriminator"));
}

// transformers' BertForMaskedLM and ElectraForMaskedLM.
TEST_F(StoredAnswersTest, OfAMaskedLmNeedNoPoolerNorAnotherHead) {
  convert("bert/model", "whole", ModelForm::hugging_face);
  const std::string filled = guesses("whole");
  std::filesystem::remove_all(dir_.file("bert/model"));
  save("bert", "bert_tiny", "param/", facts("bert_tiny")["config"],
       {"bert/pooler/", "cls/seq_relationship/"});
  convert("bert/model", "masked", ModelForm::hugging_face);
  EXPECT_THAT(read_file(dir_.file("masked/config.json")), HasSubstr("\"BertForMaskedLM\""));
  EXPECT_EQ(guesses("masked"), filled);
  EXPECT_EQ(guesses("bert/model"), filled);
  convert("electra/model", "hf", ModelForm::hugging_face);
  std::string text;
  for (int i = 0; i < 40; ++i) text += "word7 word9 word30 word11 word50 word60 word8\n";
  write_file(dir_.file("text.txt"), text);
  for (const char* name : {"whole", "masked", "hf/generator"}) {
    TextToScore scored;
    scored.seq_length = 16;
    scored.text.input = dir_.file("text.txt");
    EXPECT_GT(open(name, "eval").score(scored).evaluation.measure("masked_lm_accuracy").weight, 0)
        << name;
  }
}

TEST_F(StoredAnswersTest, WithoutTheHeadNameTheArchitecture) {
  std::filesystem::remove_all(dir_.file("bert/model"));
  save("bert", "bert_tiny", "param/", facts("bert_tiny")["config"], {"cls/"});
  convert("bert/model", "hf", ModelForm::hugging_face);
  EXPECT_THAT(refusal([&] { guesses("hf"); }),
              AllOf(HasSubstr("hf (BertModel) has no masked-language-model head\n"),
                    HasSubstr("hint: take a pretrained model: of Hugging Face's classes Bert")));
  EXPECT_THAT(refusal([&] { found("hf"); }),
              HasSubstr("detect: a model of type bert (BertModel) has no discriminator"));
  std::string config = read_file(dir_.file("hf/config.json"));
  const auto put = [&](const std::string& from, const std::string& to) {
    config.replace(config.find(from), from.size(), to);
  };
  put("\"bert\"", "\"deberta\"");
  put("BertModel", "DebertaForMaskedLM");
  write_file(dir_.file("hf/config.json"), config);
  EXPECT_THAT(refusal([&] { guesses("hf"); }),
              HasSubstr("model_type is 'deberta' (DebertaForMaskedLM)\n"));
}

TEST_F(StoredAnswersTest, TakeTheTokenizerJsonOfAFolderWithoutVocabTxt) {
  convert("bert/model", "hf", ModelForm::hugging_face);
  const std::string filled = guesses("hf");
  remove_file(dir_.file("hf/vocab.txt"));
  EXPECT_EQ(guesses("hf"), filled);
}

TEST_F(StoredAnswersTest, OfAVocabularyWithMoreTokensThanRowsAreRefused) {
  convert("bert/model", "tf/bert_model.ckpt", ModelForm::tensorflow);
  write_file(dir_.file("tf/vocab.txt"), vocab_ + "more\n");
  EXPECT_THAT(refusal([&] { guesses("tf"); }),
              AllOf(HasSubstr("fill: "), HasSubstr("tf/vocab.txt has 100 tokens, the model has 99 "
                                                   "rows of embeddings (vocab_size)")));
}

TEST_F(StoredAnswersTest, AreWarnedOfIfTheTextIsUnknown) {
  (void)open("bert/model", "fill").filler(1)({"word7 what who [MASK]"});
  EXPECT_THAT(log_.text(), HasSubstr("fill: "));
  EXPECT_THAT(log_.text(), HasSubstr("% of the tokens are unknown ([UNK])"));
}

// As an Electric has them: the same heads as ELECTRA with two towers, and another meaning.
TEST_F(StoredAnswersTest, OfAnElectricNeedItsObjective) {
  const Json objective{{"electra_objective", false}, {"electric_objective", true}};
  Checkpoint electric = load_checkpoint(dir_.file("electra/model"), 5);
  const std::vector<std::byte> zeros(99 * sizeof(float));
  electric.tensors["cloze_predictions/output_bias"] = {{DType::f32, {99}}, zeros};
  Json settings = electric.state;
  settings["objective"] = objective;
  save_checkpoint(dir_.file("m"), 5, electric.tensors, settings);
  write_file(dir_.file("vocab.txt"), vocab_);
  convert("m", "tf/model.ckpt-5", ModelForm::tensorflow);
  convert("tf", "back", ModelForm::smelt);
  for (const char* name : {"m", "tf", "back"})
    EXPECT_EQ(open_stored_model(dir_.file(name), "t").objective, objective) << name;
  EXPECT_EQ(load_checkpoint(dir_.file("back"), 5).state["objective"], objective);

  const Json said = Json::parse(read_file(dir_.file("tf/electra_config.json")));
  EXPECT_EQ(said["objective"], objective);
  Json config = said;
  config.erase("objective");
  write_file(dir_.file("tf/electra_config.json"), config.dump());
  EXPECT_THAT(refusal([&] { found("tf"); }),
              AllOf(HasSubstr("tf/model.ckpt-5: Electric or ELECTRA with two towers, its objective "
                              "is not known\n  hint: add \"objective\": {"),
                    HasSubstr("to the electra_config.json beside it")));
}

// One that smelt wrote without knowing the model, and now knows it.
TEST_F(StoredAnswersTest, OfACheckpointWithoutSizesTakeTheFileBesideIt) {
  convert("bert/model", "tf/model.ckpt-5", ModelForm::tensorflow);
  const std::string config = read_file(dir_.file("tf/bert_config.json"));
  remove_file(dir_.file("tf/bert_config.json"));
  convert("tf", "m", ModelForm::smelt);
  EXPECT_THAT(refusal([&] { open("m"); }), HasSubstr("m/checkpoint-5: the model's sizes are not"));
  write_file(dir_.file("m/bert_config.json"), config);
  EXPECT_EQ(guesses("m"), guesses("bert/model"));
}

TEST_F(StoredAnswersTest, WhatIsNotKnownIsSaid) {
  EXPECT_THAT(refusal([&] { open("none"); }), HasSubstr("none: No such file or directory"));
  convert("bert/model", "tf/model.ckpt-5", ModelForm::tensorflow);
  remove_file(dir_.file("tf/bert_config.json"));
  EXPECT_THAT(
      refusal([&] { open("tf"); }),
      HasSubstr("tf/model.ckpt-5: the model's sizes are not known: there is no bert_config.json "));
  remove_file(dir_.file("tf/vocab.txt"));
  EXPECT_THAT(refusal([&] { open("tf"); }),
              HasSubstr("its vocabulary is not beside it\n  hint: name it with --vocab"));
  write_file(dir_.file("other.txt"), vocab_ + "more\n");
  EXPECT_THAT(refusal([&] { open("electra/model", "detect", {.vocab = dir_.file("other.txt")}); }),
              HasSubstr("other.txt is not the vocabulary that the model was made with"));
}

TEST_F(StoredAnswersTest, AreGivenByTheCommands) {
  const auto smelt = [&](const std::string& arguments) {
    return run_command(str("cd ", dir_.path(), " && ", smelt_program(), " ", arguments));
  };
  EXPECT_THAT(smelt("detect electra/model --text 'word7 word9' --threshold 0").text,
              HasSubstr("[word7] [word9]\n    word7 "));
  EXPECT_THAT(smelt("fill bert/model --text 'word7 [MASK]' --top 1").text,
              HasSubstr("word7 [MASK]\n    "));
  EXPECT_THAT(smelt("fill bert/model --text '[MASK]' --set train.steps=3").text,
              HasSubstr("fill: --set is for recipes, bert/model is a model\n"));
  EXPECT_THAT(
      smelt("detect r.yaml --text a --device gpu").text,
      HasSubstr("detect: --device is for a model's folder, r.yaml is a recipe, which says"));
  EXPECT_THAT(smelt("detect r.yaml --text a --segment-command cat").text,
              HasSubstr("detect: --segment-command is for a model's folder, r.yaml is a recipe"));
}

}  // namespace
}  // namespace smelt
