// Tests of inference with models in all three formats.
#include "pipeline/objectives/pretrained_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "checkpoint/interop/convert.h"
#include "checkpoint/storage/checkpoint.h"
#include "compiler/ops/ops.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/crc32c.h"
#include "model/models/classifier.h"
#include "model/train_step/program.h"
#include "pipeline/objectives/encoder_source.h"
#include "pipeline/objectives/inference_example.cpp"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Tiny BERT and ELECTRA of the original programs as smelt models, with a vocabulary of 99 words.
class PretrainedModelTest : public testing::Test {
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
    return Json::parse(io::read_file(source_path(str("tests/golden/", name, ".json"))));
  }
  void save(const std::string& task, const std::string& golden, const std::string& prefix,
            const Json& config, const std::set<std::string>& without = {}) const {
    const io::SafetensorsFile file(
        io::read_file(source_path(str("tests/golden/", golden, ".safetensors"))), golden);
    io::TensorMap tensors;
    for (const auto& [key, tensor] : file.tensors())
      if (key.starts_with(prefix)) tensors.emplace(key.substr(prefix.size()), tensor);
    std::erase_if(tensors, [&](const auto& item) {
      return std::ranges::any_of(without,
                                 [&](const auto& part) { return item.first.starts_with(part); });
    });
    io::write_file(dir_.file(task + "/vocab.txt"), vocab_);
    checkpoint::save_checkpoint(
        dir_.file(task + "/model"), 5, tensors,
        {{"task", task}, {"model", config}, {checkpoint::kVocabularyCrc32c, io::crc32c(vocab_)}});
  }
  void convert(const std::string& from, const std::string& to, checkpoint::ModelForm form) const {
    checkpoint::convert_checkpoint({.from = dir_.file(from), .to = dir_.file(to), .form = form});
  }
  PretrainedModel open(const std::string& name, InferenceTask task = InferenceTask::detect,
                       LoadOptions options = {}) const {
    options.task = task;
    return PretrainedModel::of_folder(dir_.file(name), options);
  }
  std::vector<float> found(const std::string& name) const {
    std::vector<float> out;
    const auto judged = open(name).detect({"word7 word9 word30"});
    for (const execution::JudgedToken& token : judged.at(0)) out.push_back(token.probability);
    return out;
  }
  std::string guesses(const std::string& name) const {
    std::string out;
    const auto filled = open(name, InferenceTask::fill_mask).fill_mask({"word7 [MASK] word30"}, 3);
    for (const execution::MaskGuess& guess : filled[0].masks.at(0))
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

TEST_F(PretrainedModelTest, ReadsElectraInEveryFormat) {
  convert("electra/model", "tf/model.ckpt-5", checkpoint::ModelForm::tensorflow);
  convert("electra/model", "hf", checkpoint::ModelForm::hugging_face);
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

TEST_F(PretrainedModelTest, ReadsBertInEveryFormat) {
  convert("bert/model", "tf/bert_model.ckpt", checkpoint::ModelForm::tensorflow);
  convert("bert/model", "hf", checkpoint::ModelForm::hugging_face);
  const std::string filled = guesses("bert/model");
  EXPECT_THAT(filled, HasSubstr("; "));
  for (const char* name : {"tf", "hf"}) EXPECT_EQ(guesses(name), filled) << name;
  EXPECT_THAT(refusal([&] { found("bert/model"); }),
              HasSubstr("detect: a model of type bert has no discriminator"));
}

// transformers' BertForMaskedLM and ElectraForMaskedLM.
TEST_F(PretrainedModelTest, ComputesTheGeluThatAFolderStates) {
  convert("bert/model", "hf", checkpoint::ModelForm::hugging_face);
  Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
  config["hidden_act"] = "gelu";
  io::write_file(dir_.file("hf/config.json"), config.dump());
  convert("hf", "smelt", checkpoint::ModelForm::smelt);
  convert("hf", "hf2", checkpoint::ModelForm::hugging_face);
  EXPECT_EQ(Json::parse(io::read_file(dir_.file("hf2/config.json")))["hidden_act"], "gelu");
  const std::string exact = guesses("hf");
  EXPECT_NE(exact, guesses("bert/model"));
  EXPECT_EQ(guesses("smelt"), exact);
  // The start of a BERT recipe, whose training warns when it loads the weights.
  EXPECT_EQ(model::encoder_config_json(encoder_in(dir_.file("hf"), "test"))["hidden_act"], "gelu");
  EXPECT_THAT(log_.text(), testing::Not(HasSubstr("is replaced by BERT's tanh")));
  convert("hf", "tf/model.ckpt-5", checkpoint::ModelForm::tensorflow);
  EXPECT_THAT(log_.text(), HasSubstr("is replaced by BERT's tanh"));
}

TEST_F(PretrainedModelTest, FillsMasksWithoutPoolerAndOtherHeads) {
  convert("bert/model", "whole", checkpoint::ModelForm::hugging_face);
  const std::string filled = guesses("whole");
  std::filesystem::remove_all(dir_.file("bert/model"));
  save("bert", "bert_tiny", "param/", facts("bert_tiny")["config"],
       {"bert/pooler/", "cls/seq_relationship/"});
  convert("bert/model", "masked", checkpoint::ModelForm::hugging_face);
  EXPECT_THAT(io::read_file(dir_.file("masked/config.json")), HasSubstr("\"BertForMaskedLM\""));
  EXPECT_EQ(guesses("masked"), filled);
  EXPECT_EQ(guesses("bert/model"), filled);
  convert("electra/model", "hf", checkpoint::ModelForm::hugging_face);
  std::string text;
  for (int i = 0; i < 40; ++i) text += "word7 word9 word30 word11 word50 word60 word8\n";
  io::write_file(dir_.file("text.txt"), text);
  for (const char* name : {"whole", "masked", "hf/generator"}) {
    TextToEvaluate scored;
    scored.seq_length = 16;
    scored.text.input = dir_.file("text.txt");
    EXPECT_GT(open(name, InferenceTask::evaluate_text)
                  .evaluate_text(scored)
                  .evaluation.measure("masked_lm_accuracy")
                  .weight,
              0)
        << name;
  }
}

TEST_F(PretrainedModelTest, NamesTheArchitectureIfAHeadIsMissing) {
  std::filesystem::remove_all(dir_.file("bert/model"));
  save("bert", "bert_tiny", "param/", facts("bert_tiny")["config"], {"cls/"});
  convert("bert/model", "hf", checkpoint::ModelForm::hugging_face);
  EXPECT_THAT(refusal([&] { guesses("hf"); }),
              AllOf(HasSubstr("hf (BertModel) has no masked-language-model head\n"),
                    HasSubstr("hint: use a pretrained model of Hugging Face's classes Bert")));
  EXPECT_THAT(refusal([&] { found("hf"); }),
              HasSubstr("detect: a model of type bert (BertModel) has no discriminator"));
  std::string config = io::read_file(dir_.file("hf/config.json"));
  const auto put = [&](const std::string& from, const std::string& to) {
    config.replace(config.find(from), from.size(), to);
  };
  put("\"bert\"", "\"deberta\"");
  put("BertModel", "DebertaForMaskedLM");
  io::write_file(dir_.file("hf/config.json"), config);
  EXPECT_THAT(refusal([&] { guesses("hf"); }),
              HasSubstr("model_type 'deberta' (DebertaForMaskedLM) is not supported\n"));
}

TEST_F(PretrainedModelTest, ReadsTokenizerJsonIfThereIsNoVocabTxt) {
  convert("bert/model", "hf", checkpoint::ModelForm::hugging_face);
  const std::string filled = guesses("hf");
  io::remove_file(dir_.file("hf/vocab.txt"));
  EXPECT_EQ(guesses("hf"), filled);
}

TEST_F(PretrainedModelTest, RejectsAVocabularyWithMoreTokensThanRows) {
  convert("bert/model", "tf/bert_model.ckpt", checkpoint::ModelForm::tensorflow);
  io::write_file(dir_.file("tf/vocab.txt"), vocab_ + "more\n");
  EXPECT_THAT(refusal([&] { guesses("tf"); }),
              AllOf(HasSubstr("fill: "), HasSubstr("tf/vocab.txt has 100 tokens, the model has 99 "
                                                   "rows of embeddings (vocab_size)")));
}

TEST_F(PretrainedModelTest, WarnsOfTextThatTheVocabularyDoesNotKnow) {
  (void)open("bert/model", InferenceTask::fill_mask).fill_mask({"word7 what who [MASK]"}, 1);
  EXPECT_THAT(log_.text(), HasSubstr("fill: "));
  EXPECT_THAT(log_.text(), HasSubstr("% of the tokens are unknown ([UNK])"));
}

// The heads of an Electric are the same as those of an ELECTRA with two towers, with another
// meaning.
TEST_F(PretrainedModelTest, RequiresTheObjectiveOfAnElectricCheckpoint) {
  const Json objective{{"electra_objective", false}, {"electric_objective", true}};
  checkpoint::Checkpoint electric = checkpoint::load_checkpoint(dir_.file("electra/model"), 5);
  const std::vector<std::byte> zeros(99 * sizeof(float));
  electric.tensors["cloze_predictions/output_bias"] = {{compiler::DType::f32, {99}}, zeros};
  Json settings = electric.state;
  settings["objective"] = objective;
  checkpoint::save_checkpoint(dir_.file("m"), 5, electric.tensors, settings);
  io::write_file(dir_.file("vocab.txt"), vocab_);
  convert("m", "tf/model.ckpt-5", checkpoint::ModelForm::tensorflow);
  convert("tf", "back", checkpoint::ModelForm::smelt);
  for (const char* name : {"m", "tf", "back"})
    EXPECT_EQ(checkpoint::open_stored_model(dir_.file(name), "t").objective, objective) << name;
  EXPECT_EQ(checkpoint::load_checkpoint(dir_.file("back"), 5).state["objective"], objective);

  const Json said = Json::parse(io::read_file(dir_.file("tf/electra_config.json")));
  EXPECT_EQ(said["objective"], objective);
  Json config = said;
  config.erase("objective");
  io::write_file(dir_.file("tf/electra_config.json"), config.dump());
  EXPECT_THAT(refusal([&] { found("tf"); }),
              AllOf(HasSubstr("tf/model.ckpt-5: is either Electric or ELECTRA with two towers, and "
                              "its folder does not show which\n  hint: add \"objective\": {"),
                    HasSubstr("to the electra_config.json beside it")));
}

// A checkpoint without the model's sizes in its state.
TEST_F(PretrainedModelTest, ReadsTheSizesFromTheConfigNextToACheckpoint) {
  convert("bert/model", "tf/model.ckpt-5", checkpoint::ModelForm::tensorflow);
  const std::string config = io::read_file(dir_.file("tf/bert_config.json"));
  io::remove_file(dir_.file("tf/bert_config.json"));
  convert("tf", "m", checkpoint::ModelForm::smelt);
  EXPECT_THAT(refusal([&] { open("m"); }),
              HasSubstr("m/checkpoint-5: the model's sizes are unknown"));
  io::write_file(dir_.file("m/bert_config.json"), config);
  EXPECT_EQ(guesses("m"), guesses("bert/model"));
}

TEST_F(PretrainedModelTest, ReportsMissingModelFilesSizesAndVocabulary) {
  EXPECT_THAT(refusal([&] { open("none"); }), HasSubstr("none: No such file or directory"));
  convert("bert/model", "tf/model.ckpt-5", checkpoint::ModelForm::tensorflow);
  io::remove_file(dir_.file("tf/bert_config.json"));
  EXPECT_THAT(
      refusal([&] { open("tf"); }),
      HasSubstr(
          "tf/model.ckpt-5: the model's sizes are unknown: its folder has no bert_config.json"));
  io::remove_file(dir_.file("tf/vocab.txt"));
  EXPECT_THAT(refusal([&] { open("tf"); }),
              HasSubstr("its folder contains no vocabulary\n  hint: name it with --vocab"));
  io::write_file(dir_.file("other.txt"), vocab_ + "more\n");
  EXPECT_THAT(refusal([&] {
                open("electra/model", InferenceTask::detect, {.vocab = dir_.file("other.txt")});
              }),
              HasSubstr("other.txt is not the vocabulary that the model was made with"));
}

TEST_F(PretrainedModelTest, NamesSupportedTasksInTheHint) {
  EXPECT_THAT(
      refusal([&] { found("bert/model"); }),
      testing::EndsWith("hint: use an ELECTRA or a DeBERTa-v3; this model can fill masks, be "
                        "evaluated on text, embed texts, score texts"));
  const PretrainedModel model = PretrainedModel::load(dir_.file("electra/model"));
  EXPECT_TRUE(model.can(InferenceTask::detect));
  EXPECT_FALSE(model.can(InferenceTask::classify));
}

TEST_F(PretrainedModelTest, EmbedsWithTheLastLayerIndependentOfTheBatch) {
  const std::vector<std::string> texts{"word7", "word7 word9 word30 word11 word50", "word8 word9"};
  LoadOptions options;
  options.batch_size = 2;
  const auto found = PretrainedModel::load(dir_.file("bert/model"), options).embed(texts);
  const checkpoint::Checkpoint saved = checkpoint::load_checkpoint(dir_.file("bert/model"), 5);
  const model::Encoder encoder = model::parse_encoder("bert", saved.state["model"], "test");
  const auto client = pjrt::open_device("cpu", 1);
  for (std::size_t i = 0; i < texts.size(); ++i) {  // alone, without padding
    auto row = text::BertTokenizer::load(dir_.file("bert/vocab.txt"), {}).encode(texts[i]);
    row.insert(row.begin(), 2);  // [CLS]
    row.push_back(3);            // [SEP]
    model::Prediction direct{.features = {{.name = "ids", .row = {std::ssize(row)}, .limit = 99}},
                             .outputs = {}};
    direct.outputs = [&](const model::Scope& root, const model::Inputs& in) {
      const compiler::Tensor ids = in["ids"];
      return std::vector{
          encoder->sequence(root, {ids, compiler::ones_like(ids), compiler::zeros_like(ids)})};
    };
    const model::StepProgram program = model::predict_program(direct, 1);
    data::Batch batch = data::empty_batch(direct.features, 1);
    std::ranges::copy(row, batch.arrays[0].values<std::int32_t>().begin());
    const auto weights = execution::ModelState::restore(*client, program.placement, program.state,
                                                        saved.tensors, "test");
    const auto states =
        execution::CompiledStep(client, program).run(batch, weights).results[0][0].to_host<float>();
    const std::size_t H = states.size() / row.size();
    ASSERT_EQ(found[i].mean.size(), H);
    for (std::size_t h = 0; h < H; ++h) {
      double mean = 0;
      for (std::size_t at = 0; at < row.size(); ++at) mean += states[at * H + h];
      EXPECT_NEAR(found[i].mean[h], mean / static_cast<double>(row.size()), 1e-5);
      EXPECT_NEAR(found[i].first[h], states[h], 1e-5);
    }
  }
}

TEST_F(PretrainedModelTest, ScoresATextByItsTokensMaskedOneAtATime) {
  convert("electra/model", "hf", checkpoint::ModelForm::hugging_face);
  for (const char* name : {"bert/model", "electra/model", "hf/generator"}) {
    SCOPED_TRACE(name);
    PretrainedModel model = PretrainedModel::load(dir_.file(name));
    const auto scores = model.score({"word7", "word7 word9 word30"});
    ASSERT_EQ(scores.size(), 2u);
    EXPECT_EQ(scores[1].tokens, 3);
    double sum = 0;
    for (const auto& [text, token] : {std::pair{"[MASK] word9 word30", "word7"},
                                      {"word7 [MASK] word30", "word9"},
                                      {"word7 word9 [MASK]", "word30"}})
      for (const execution::MaskGuess& guess : model.fill_mask({text}, 99)[0].masks[0])
        if (guess.token == token) sum += std::log(guess.probability);
    EXPECT_NEAR(scores[1].log_likelihood, sum, 1e-4);
  }
  std::string longer;
  for (int i = 0; i < 600; ++i) longer += "word7 ";
  EXPECT_THAT(refusal([&] { PretrainedModel::load(dir_.file("bert/model")).score({longer}); }),
              HasSubstr("score: text 1 has 602 tokens, but the model accepts at most "));
}

// The example of the header and of docs/reference/api.md is inference_example.cpp.
TEST_F(PretrainedModelTest, HeaderAndDocsShowTheTestedExample) {
  const std::string example =
      io::read_file(source_path("tests/pipeline/objectives/inference_example.cpp"));
  std::string commented;
  for (const std::string_view line : split(example.substr(0, example.size() - 1), '\n'))
    commented += line.empty() ? "//\n" : str("//   ", line, "\n");
  EXPECT_THAT(io::read_file(source_path("src/pipeline/objectives/pretrained_model.h")),
              HasSubstr(commented));
  EXPECT_THAT(io::read_file(source_path("docs/reference/api.md")),
              HasSubstr("```cpp\n" + example + "```\n"));
  testing::internal::CaptureStdout();
  describe(dir_.file("bert/model"));
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::ContainsRegex("numbers, the first .*\n.*\n.* a token\n.* a token\n"));
}

TEST_F(PretrainedModelTest, FillAndDetectCommandsAcceptModelFolders) {
  const auto smelt = [&](const std::string& arguments) {
    return run_command(str("cd ", dir_.path(), " && ", smelt_program(), " ", arguments));
  };
  EXPECT_THAT(smelt("detect electra/model --text 'word7 word9' --threshold 0").text,
              HasSubstr("[word7] [word9]\n    word7 "));
  EXPECT_THAT(smelt("fill bert/model --text 'word7 [MASK]' --top 1").text,
              HasSubstr("word7 [MASK]\n    "));
  EXPECT_THAT(smelt("fill bert/model --text '[MASK]' --set train.steps=3").text,
              HasSubstr("fill: --set is only for recipes, but bert/model is a model\n"));
  EXPECT_THAT(
      smelt("detect r.yaml --text a --device gpu").text,
      HasSubstr("detect: --device is only for a model folder, but r.yaml is a recipe, which sets"));
  EXPECT_THAT(
      smelt("detect r.yaml --text a --segment-command cat").text,
      HasSubstr("detect: --segment-command is only for a model folder, but r.yaml is a recipe"));
}

}  // namespace
}  // namespace smelt::pipeline
