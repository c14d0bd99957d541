// Tests of recipes with model.type electra: invalid settings, and a whole run on a small text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/random.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "data/input_pipeline/description.h"
#include "io/filesystem/file.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/sweep/trials.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::pipeline {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kSmall =
    "text: {heldout: 0.2, dedup: none, sentences: lines}\n"
    "vocab: {size: 60, min_frequency: 1}\n"
    "data: {seq_length: 16}\n"
    "model: {type: electra, hidden_size: 16, embedding_size: 8, num_hidden_layers: 1,"
    " num_attention_heads: 2, generator_hidden_size: 0.5, max_position_embeddings: 20}\n"
    "train: {batch_size: 8, steps: 4, schedule.warmup_steps: 2, schedule.type: electra}\n"
    "eval: {batch_size: 4}\n";

class ElectraRecipe : public testing::Test {
 protected:
  Recipe recipe(std::vector<std::string> settings = {}) {
    io::write_file(dir_.file("r.yaml"), kSmall);
    settings.push_back("out=" + dir_.file("out"));
    settings.push_back("text.input=" + dir_.file("in.txt"));
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  std::string refusal(const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { recipe(settings); });
  }
  void write_text() {
    const std::vector<std::string> words{"river", "house", "green", "walks", "never",
                                         "under", "small", "light", "seven", "old"};
    PythonRandom random(7);
    std::string text;
    for (int document = 0; document < 120; ++document, text += "\n")
      for (int sentence = 0; sentence < 3; ++sentence, text += ".\n") {
        text += "The";
        for (int i = 0; i < 7; ++i)
          text += " " + words[static_cast<std::size_t>(random.randint(0, 9))];
      }
    io::write_file(dir_.file("in.txt"), text);
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(ElectraRecipe, RejectsInvalidSettingsOnLoad) {
  EXPECT_EQ(refusal({}), "no error");
  EXPECT_THAT(refusal({"model.size=smal"}),
              HasSubstr("--set: model: size is 'smal'\n  hint: did you mean 'small'?"));
  EXPECT_THAT(refusal({"model.generator_hidden_size=2"}),
              HasSubstr("--set: model: the generator's hidden size 32 is larger than the "
                        "discriminator's 16, whose embeddings it shares\n"));
  EXPECT_EQ(refusal({"model.generator_hidden_size=2", "model.untied_generator_embeddings=true"}),
            "no error");
  EXPECT_THAT(refusal({"data.seq_length=4"}),
              HasSubstr("--set: data.seq_length is 4, must be at least 5"));
  EXPECT_THAT(refusal({"data.seq_length=24"}), HasSubstr("--set: data.seq_length 24 is longer than "
                                                         "model.max_position_embeddings 20"));
  EXPECT_THAT(refusal({"data.order=orignal"}), HasSubstr("did you mean 'original'?"));
  EXPECT_THAT(refusal({"model.vocab_size=-1"}),
              HasSubstr("--set: model.vocab_size is -1, must be at least 0"));
  EXPECT_THAT(refusal({"model.mask_prob=1.5"}),
              HasSubstr("--set: electra: mask_prob is 1.5, must be above 0 and below 1"));
  EXPECT_THAT(refusal({"model.masks=distinkt"}),
              HasSubstr("--set: model.masks is 'distinkt'\n  hint: did you mean 'distinct'?"));
  EXPECT_THAT(
      refusal({"train.schedule.type=elektra"}),
      HasSubstr("--set: train.schedule.type is 'elektra'\n  hint: did you mean 'electra'?"));
  EXPECT_THAT(refusal({"model.maskprob=0.2"}), HasSubstr("did you mean 'model.mask_prob'?"));
}

TEST_F(ElectraRecipe, RejectsABertVocabularyByNamingTheField) {
  write_text();
  const std::string vocab = dir_.file("vocab.txt");
  io::write_file(vocab, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n");
  text::save_tokenizer_config(vocab, {.control = text::ControlCharacters::bert});
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(recipe({"vocab.file=" + vocab})); }),
              AllOf(HasSubstr("model.type: electra, but "), HasSubstr("has bert\n  hint: set ")));
}

TEST_F(ElectraRecipe, RejectsInferenceBeforeTraining) {
  EXPECT_THAT(error_of<UsageError>([&] {
                PretrainedModel::of_recipe(recipe(), {.task = InferenceTask::detect}).detect({"a"});
              }),
              HasSubstr("out: the vocabulary is not made yet ("));
}

TEST_F(ElectraRecipe, TrainsExportsFillsMasksAndDetectsTokens) {
  SMELT_OPEN_CPU(client, 1);
  write_text();
  const Recipe r = recipe();
  std::string report;
  run_recipe(r, {}, [&](const execution::Evaluation& e) { report = evaluation_report(r, e); });
  EXPECT_THAT(report, AllOf(HasSubstr("disc_auc = "), HasSubstr("always_original_accuracy = "),
                            HasSubstr(" held-out tokens correct, AUC 0."),
                            HasSubstr("; always predicting 'original': "), HasSubstr("generator: "),
                            HasSubstr(" masked tokens correct; always predicting '")));
  EXPECT_EQ(text::load_tokenizer_config(r.path("vocab.txt"))->control,
            text::ControlCharacters::electra);
  EXPECT_TRUE(data::find_description({r.path("data/train.tfrecord")})->majority_token);
  EXPECT_TRUE(std::filesystem::exists(r.path("model/electra_config.json")));
  EXPECT_TRUE(std::filesystem::exists(r.path("huggingface/discriminator/model.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(r.path("huggingface/generator/model.safetensors")));

  // Both folders together contain the model's parameters; the generator's has the shared
  // embeddings.
  const checkpoint::PretrainedWeights model = checkpoint::load_weights(r.path("model")),
                                      towers = checkpoint::load_weights(r.path("huggingface"));
  for (const auto& [name, view] : model.parameters) {
    ASSERT_TRUE(towers.parameters.contains(name)) << name;
    EXPECT_TRUE(std::ranges::equal(view.data, towers.parameters.at(name).data)) << name;
  }
  EXPECT_EQ(towers.parameters.size(), model.parameters.size() + 5);

  const auto filled = PretrainedModel::of_recipe(r, {.task = InferenceTask::fill_mask})
                          .fill_mask({"the [MASK] house"}, 3);
  ASSERT_EQ(filled[0].masks.size(), 1u);
  EXPECT_EQ(filled[0].masks[0].size(), 3u);

  const auto judged = PretrainedModel::of_recipe(r, {.task = InferenceTask::detect})
                          .detect({"The old house.", "river"});
  ASSERT_EQ(judged.size(), 2u);
  EXPECT_EQ(judged[0][0].span.begin, 0u);
  EXPECT_EQ(judged[0].back().span.end, 14u);
  // The padding of the shorter text must not change the result.
  const float alone = PretrainedModel::of_recipe(r, {.task = InferenceTask::detect})
                          .detect({"river"})[0][0]
                          .probability;
  EXPECT_GT(alone, 0);
  EXPECT_LT(alone, 1);
  EXPECT_NEAR(judged[1][0].probability, alone, 1e-6);
  EXPECT_EQ(PretrainedModel::load(r.out).detect({"river"})[0][0].probability, alone);

  EXPECT_THAT(error_of<UsageError>([&] {
                PretrainedModel::of_recipe(r, {.task = InferenceTask::detect})
                    .detect({"old", "..........................."});
              }),
              HasSubstr("detect: text 2 has 29 tokens, the model takes at most 20"));
  EXPECT_THAT(error_of<UsageError>([&] {
                PretrainedModel::of_recipe(r, {.task = InferenceTask::detect}).detect({" "});
              }),
              HasSubstr("detect: no words in ' '"));
  const CommandOutput printed =
      run_smelt(str("detect ", dir_.file("r.yaml"), " --set out=", dir_.file("out"),
                    " --text 'The old house' --threshold 0 --json 2>", dir_.file("log")));
  ASSERT_EQ(printed.status, 0) << printed.text;
  const auto json = Json::parse(printed.text);
  EXPECT_EQ(json["text"], "The old house");
  EXPECT_EQ(json["tokens"].back()["offsets"][1], 13);
  EXPECT_TRUE(json["tokens"][0]["replaced"]);
  EXPECT_NEAR(json["tokens"][0]["probability"],
              PretrainedModel::of_recipe(r, {.task = InferenceTask::detect})
                  .detect({"The old house"})[0][0]
                  .probability,
              1e-6);

  EXPECT_THAT(error_of<UsageError>([&] { train_model(recipe({"model.vocab_size=20"})); }),
              HasSubstr("model.vocab_size 20 is smaller than the "));
  EXPECT_THAT(error_of<UsageError>([&] {
                PretrainedModel::of_recipe(recipe({"model.electra_objective=false"}),
                                           {.task = InferenceTask::detect})
                    .detect({"old"});
              }),
              HasSubstr("detect: a masked LM has no discriminator"));
  EXPECT_THAT(error_of<UsageError>([&] {
                PretrainedModel::of_recipe(recipe({"model.uniform_generator=true"}),
                                           {.task = InferenceTask::fill_mask})
                    .fill_mask({"[MASK]"}, 1);
              }),
              HasSubstr("fill: the uniform generator cannot fill masks"));

  text::Vocabulary vocabulary = text::Vocabulary::load(r.path("vocab.txt"));
  auto tokens = vocabulary.tokens();
  std::swap(tokens.back(), tokens[tokens.size() - 2]);
  text::Vocabulary(tokens).save(r.path("vocab.txt"));
  for (const std::function<void()>& use : std::initializer_list<std::function<void()>>{
           [&] { PretrainedModel::of_recipe(r, {.task = InferenceTask::detect}).detect({"old"}); },
           [&] {
             PretrainedModel::of_recipe(r, {.task = InferenceTask::fill_mask})
                 .fill_mask({"[MASK]"}, 1);
           },
           [&] { evaluate_model(r); }, [&] { export_model(r, dir_.file("hf")); }})
    EXPECT_THAT(error_of<UsageError>(use),
                HasSubstr("vocab.txt is not the vocabulary that the model was made with: its crc"));
}

TEST_F(ElectraRecipe, DoesNotExportAGeneratorThatTransformersCannotLoad) {
  SMELT_OPEN_CPU(client, 1);
  write_text();
  testing::internal::CaptureStdout();
  run_recipe(recipe({"model.hidden_act=relu", "train.steps=1", "train.schedule.warmup_steps=0"}));
  testing::internal::GetCapturedStdout();
  const std::string made = recipe().path("huggingface");
  EXPECT_TRUE(std::filesystem::exists(made + "/discriminator/config.json"));
  EXPECT_FALSE(std::filesystem::exists(made + "/generator"));
  EXPECT_THAT(error_of<UsageError>(
                  [&] { recipe({"model.hidden_act=relu", "model.electra_objective=false"}); }),
              HasSubstr("model.hidden_act is 'relu': the model could not be exported"));
}

// For all variants: separate or shared encoders and embeddings, and a masked LM alone.
TEST_F(ElectraRecipe, StartsFromItsOwnExport) {
  SMELT_OPEN_CPU(client, 1);
  write_text();
  testing::internal::CaptureStdout();
  run_recipe(recipe());
  testing::internal::GetCapturedStdout();
  using Parameters = std::map<std::string, std::vector<std::byte>>;
  const auto trained = [&](const Recipe& r) {
    Parameters out;
    const checkpoint::PretrainedWeights model = checkpoint::load_weights(r.path("model"));
    for (const auto& [name, view] : model.parameters)
      out[name].assign(view.data.begin(), view.data.end());
    std::filesystem::remove_all(r.path("model"));
    return out;
  };
  std::filesystem::remove_all(recipe().path("model"));
  for (const std::string kind :
       {"model.untied_generator=true", "model.untied_generator=false",
        "model.electra_objective=false", "model.untied_generator_embeddings=true"}) {
    const Recipe first = recipe({kind, "train.steps=2", "train.schedule.warmup_steps=0"});
    train_model(first);
    const std::string folder = dir_.file("of_" + kind);
    export_model(first, folder);
    const Parameters given = trained(first);
    const auto begun = [&](const std::string& init) {
      Recipe r = recipe({kind, "train.seed=7", "train.init_from=" + init});
      r.train.steps = 0;
      const CapturedLog log;
      train_model(r);
      return std::pair(trained(r), log.text());
    };
    const auto [whole, said] = begun(folder);
    EXPECT_EQ(whole, given) << kind;
    EXPECT_EQ(said.find("\n  random"), std::string::npos) << said;
    // The generator's folder has all parameters that do not belong to the discriminator alone.
    const Parameters generator = begun(folder + "/generator").first;
    const bool one_encoder = kind.find("untied_generator=true") == std::string::npos &&
                             kind.find("untied_generator_embeddings") == std::string::npos;
    for (const auto& [name, bytes] : given) {
      const bool own =
          name.starts_with("discriminator_") || (!one_encoder && name.starts_with("electra/"));
      const bool shared =
          kind == "model.untied_generator=true" && name.starts_with("electra/embeddings/");
      if (!own || shared) {
        EXPECT_EQ(generator.at(name), bytes) << kind << ": " << name;
      }
    }
  }
}

TEST_F(ElectraRecipe, RejectsFoldersWithoutAModelBeforeAnythingIsWritten) {
  write_text();
  EXPECT_THAT(
      error_of<UsageError>([&] { run_recipe(recipe({"train.init_from=" + dir_.file("none")})); }),
      testing::AllOf(HasSubstr("init: there is no "), HasSubstr("none\n")));
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(recipe({"train.init_from=some-model"})); }),
              HasSubstr("; for a model on the Hugging Face Hub write ORGANIZATION/NAME"));
  EXPECT_FALSE(std::filesystem::exists(dir_.file("out/text")));
}

TEST_F(ElectraRecipe, BertHasNoDiscriminator) {
  io::write_file(dir_.file("bert.yaml"), "out: x\n");
  EXPECT_THAT(error_of<UsageError>([&] {
                PretrainedModel::of_recipe(load_recipe(dir_.file("bert.yaml"), {}),
                                           {.task = InferenceTask::detect})
                    .detect({"a"});
              }),
              HasSubstr("detect: a model of type bert has no discriminator"));
}

// A minimal comparison of pre-trained and random weights.
TEST_F(ElectraRecipe, ComparesFineTuningOfTheDiscriminatorWithRandomWeights) {
  REQUIRE_PLUGIN("cpu");
  write_text();
  run_recipe(recipe());
  std::string rows = "label\ttext\n";
  for (int i = 0; i < 12; ++i) rows += i % 2 == 0 ? "up\tthe river walks\n" : "down\told light\n";
  io::write_file(dir_.file("rows.tsv"), rows);
  const TrialsSummary s = run_trials(
      {.recipe = source_path("recipes/electra-classify-demo.yaml"),
       .settings = {"out=" + dir_.file("tuned"), "data.train=" + dir_.file("rows.tsv"),
                    "data.seq_length=16", "train.init_from=" + dir_.file("out/huggingface"),
                    "train.batch_size=4", "train.epochs=1", "eval.batch_size=4"},
       .seeds = 1,
       .grid = {},
       .against = {},
       .against_fresh = true,
       .resample = {.samples = 20}});
  ASSERT_EQ(s.margins.size(), 1u);
  EXPECT_EQ(s.examples, 10u);  // four fifths of the rows
  EXPECT_THAT(io::read_file(s.trials[0].folders[0] + "/huggingface/config.json"),
              HasSubstr("ElectraForSequenceClassification"));
  // Both start with a random head, one of them with the discriminator's layers.
  EXPECT_NE(s.against[0].settings[0].find("train.init_from="), std::string::npos);
  EXPECT_THAT(trials_text(s), HasSubstr("difference "));
}

}  // namespace
}  // namespace smelt::pipeline
