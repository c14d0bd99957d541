// Tests of recipes with existing inputs: vocabularies of weights, records, SentencePiece models.
#include <gmock/gmock.h>

#include <span>

#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/small_recipe.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/stages/stage_actions.h"
#include "pipeline/stages/stage_list.h"
#include "support/error_of.h"
#include "text/tokenizers/segmenter.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::pipeline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using GivenParts = SmallRecipe;

TEST_F(GivenParts, UsesTheVocabularyOfTheInitialWeights) {
  run_recipe(recipe({"vocab.lower_case=false"}));
  write_text(14);
  for (const char* weights : {"m/model", "m/model/checkpoint-2", "m/huggingface"}) {
    const Recipe next = recipe({"out=" + dir_.file("n"), "train.init_from=" + dir_.file(weights)});
    EXPECT_EQ(given_vocabulary(next), weights == std::string("m/huggingface")
                                          ? dir_.file("m/huggingface/vocab.txt")
                                          : dir_.file("m/vocab.txt"));
    run_recipe(next);
    EXPECT_EQ(io::read_file(dir_.file("n/vocab.txt")), io::read_file(dir_.file("m/vocab.txt")));
    EXPECT_THAT(io::read_file(dir_.file("n/tokenizer_config.json")),
                HasSubstr("\"do_lower_case\": false"));
    io::remove_tree(dir_.file("n"));
  }
  EXPECT_EQ(said("another vocabulary"), 0);
}

TEST_F(GivenParts, ContinuedPretrainingUsesTheSizesOfTheInitialModel) {
  run_recipe(recipe());
  std::string text = io::read_file(dir_.file("r.yaml"));
  const std::size_t from = text.find("model: {"), to = text.find("train: {");
  io::write_file(dir_.file("n.yaml"), text.erase(from, to - from));
  for (const char* weights : {"m/model", "m/huggingface"}) {
    const Recipe next = load_recipe(
        dir_.file("n.yaml"), {"out=" + dir_.file("n"), "train.init_from=" + dir_.file(weights)});
    for (const auto& [field, value] :
         std::map<std::string, std::int64_t>{{"hidden_size", 8},
                                             {"num_hidden_layers", 1},
                                             {"num_attention_heads", 2},
                                             {"intermediate_size", 16},
                                             {"max_position_embeddings", 16},
                                             {"type_vocab_size", 2}})
      EXPECT_EQ(next.model[field], value) << weights << " " << field;
    run_recipe(next);
    io::remove_tree(dir_.file("n"));
  }
  const Recipe own = load_recipe(dir_.file("n.yaml"), {"train.init_from=" + dir_.file("m/model"),
                                                       "model.num_hidden_layers=2"});
  EXPECT_EQ(own.model["num_hidden_layers"], 2);  // set fields keep their values
  const Recipe gone = load_recipe(dir_.file("n.yaml"), {"train.init_from=" + dir_.file("gone")});
  EXPECT_EQ(gone.model["hidden_size"], 768);
}

TEST_F(GivenParts, RejectsWeightsWithoutAVocabulary) {
  run_recipe(recipe());
  const std::string vocab = io::read_file(dir_.file("m/vocab.txt"));
  const Recipe next = recipe({"out=" + dir_.file("n"), "train.init_from=" + dir_.file("m/model")});
  io::write_file(dir_.file("m/vocab.txt"), vocab + "more\n");  // now a vocabulary of another model
  const auto refusal =
      AllOf(HasSubstr("train.init_from: no vocabulary found for " + dir_.file("m/model") +
                      ", and vocab.file is not set"),
            HasSubstr("hint: name the vocabulary of the weights with --set vocab.file=…"));
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(next); }), refusal);
  io::remove_file(dir_.file("m/vocab.txt"));
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(next); }), refusal);
  EXPECT_FALSE(io::exists(dir_.file("n")));
}

TEST_F(GivenParts, WarnsOfAVocabularySizeThatIsIgnored) {
  run_recipe(recipe());
  const std::string init = "train.init_from=" + dir_.file("m/model");
  run_recipe(recipe({"out=" + dir_.file("n"), init, "vocab.size=70"}));
  EXPECT_EQ(said(str("vocab.size 70 is ignored: ", dir_.file("m/vocab.txt"), " has 60 pieces")), 1);
  EXPECT_EQ(said("is ignored"), 1);
}

TEST_F(GivenParts, TrainsOnExistingRecordsWithoutText) {
  run_recipe(recipe({"data.shards=2"}));
  EXPECT_TRUE(io::exists(dir_.file("m/data/train-00001-of-00002.tfrecord")));
  const std::vector<std::string> ready{"out=" + dir_.file("n"),
                                       "text.input=", "vocab.file=" + dir_.file("m/vocab.txt"),
                                       "data.records=" + dir_.file("m/data/train-*.tfrecord")};
  auto evaluated = ready;
  evaluated.push_back("data.heldout=" + dir_.file("m/data/heldout.tfrecord"));
  run_recipe(recipe(evaluated));
  EXPECT_EQ(files("n/huggingface"), files("m/huggingface"));
  EXPECT_FALSE(io::exists(dir_.file("n/text")));
  io::remove_tree(dir_.file("n"));
  run_recipe(recipe(ready));
  EXPECT_FALSE(io::exists(dir_.file("n/model/eval_results.txt")));
  EXPECT_THAT(error_of<UsageError>([&] { evaluate_model(recipe(ready)); }),
              HasSubstr("eval: no held-out examples: data.records are given without data.heldout"));
}

TEST_F(GivenParts, RejectsContradictingFields) {
  const auto refusal = [&](const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { recipe(settings); });
  };
  EXPECT_THAT(
      refusal({"data.records=a"}),
      HasSubstr("data.records needs vocab.file, the vocabulary that the records were made with"));
  EXPECT_THAT(refusal({"data.heldout=a"}), HasSubstr("data.heldout needs data.records"));
  EXPECT_THAT(refusal({"data.records=a", "vocab.file=v", "eval.every=1"}),
              HasSubstr("eval.every is 1, but data.heldout is empty"));
  EXPECT_THAT(refusal({"data.shards=0"}), HasSubstr("data.shards is 0, must be at least 1"));
  EXPECT_THAT(refusal({"vocab.type=unigramm"}), HasSubstr("did you mean 'unigram'?"));
  EXPECT_THAT(refusal({"vocab.file=x.model"}),
              AllOf(HasSubstr("vocab.file is x.model, a SentencePiece model, which a model of type "
                              "bert cannot use"),
                    HasSubstr("hint: remove it and set vocab.type to unigram or bpe")));
}

TEST_F(GivenParts, HintsAtTheCorrectFormOfASetting) {
  const auto refusal = [&](const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { load_recipe(dir_.file("r.yaml"), settings); });
  };
  EXPECT_THAT(refusal({"train.steps", "=", "10"}), AllOf(HasSubstr("--set train.steps: no '='"),
                                                         HasSubstr("write --set train.steps=10")));
  EXPECT_THAT(refusal({"train.steps"}), HasSubstr("write --set train.steps=…, without spaces"));
  EXPECT_THAT(refusal({"=10"}), HasSubstr("--set =10: no field"));
  EXPECT_THAT(refusal({"out=~somebody/mine"}),
              HasSubstr("--set: out is '~somebody/mine', but '~' cannot be expanded"));
  EXPECT_EQ(load_recipe(dir_.file("r.yaml"), {"out=~/mine"}).out,
            str(std::getenv("HOME"), "/mine"));
}

TEST_F(GivenParts, JestimatorModelsAcceptSentencePieceVocabularies) {
  io::write_file(
      dir_.file("r.yaml"),
      str("out: ", dir_.file("m"), "\ntext: {input: ", dir_.file("text.txt"),
          ", sentences: lines, dedup: none, heldout: 0.3}\n"
          "vocab: {type: unigram, size: 40}\n"
          "model: {type: jestimator_bert, max_length: 16, hidden_size: 8, num_layers: 1,\n"
          "  num_heads: 2, mlp_size: 16}\n"
          "train: {batch_size: 2, steps: 2}\neval: {batch_size: 1}\n"));
  const Recipe r = load_recipe(dir_.file("r.yaml"), {});
  run_recipe(r);
  EXPECT_TRUE(io::exists(dir_.file("m/vocab.model")));
  EXPECT_EQ(r.type->task(r).settings["model"]["vocab_size"], 40);
  EXPECT_THAT(error_of<UsageError>([&] {
                PretrainedModel::of_recipe(r, {.task = InferenceTask::fill_mask})
                    .fill_mask({"a [MASK]"}, 1);
              }),
              HasSubstr("m/vocab.model is a SentencePiece vocabulary, which has no [MASK] token"));
}

TEST_F(GivenParts, JestimatorModelsRejectByteLevelVocabularies) {
  io::write_file(dir_.file("r.yaml"), "vocab: {type: byte_bpe}\nmodel: {type: jestimator_bert}\n");
  EXPECT_THAT(
      error_of<UsageError>([&] { load_recipe(dir_.file("r.yaml"), {}); }),
      HasSubstr("vocab.type is byte_bpe, which a model of type jestimator_bert cannot use"));
}

TEST_F(GivenParts, EncodersStoreOtherVocabulariesThanWordPieceInATokenizerJson) {
  const std::map<std::string, std::string> names{{"wordpiece", "vocab.txt"},
                                                 {"auto", "tokenizer.json"},
                                                 {"unigram", "tokenizer.json"},
                                                 {"bpe", "tokenizer.json"},
                                                 {"byte_bpe", "tokenizer.json"}};
  for (const auto& [type, name] : names)
    EXPECT_EQ(RecipePaths(recipe({"vocab.type=" + type})).vocab, dir_.file("m/" + name)) << type;
}

TEST_F(GivenParts, ANewVocabularyKeepsCaseAndAccentsByDefault) {
  io::write_file(dir_.file("m/text/train.txt"), "Été Été İki\n");
  const auto config_of = [&](const std::vector<std::string>& settings) {
    make_vocabulary(recipe(settings));
    return io::read_file(dir_.file("m/tokenizer_config.json"));
  };
  EXPECT_THAT(config_of({}),
              AllOf(HasSubstr("\"do_lower_case\": false"), HasSubstr("\"strip_accents\": null"),
                    HasSubstr("\"normalization\": \"NFC\"")));
  EXPECT_THAT(config_of({"vocab.lower_case=true"}),
              AllOf(HasSubstr("\"do_lower_case\": true"), HasSubstr("\"strip_accents\": false")));
  EXPECT_THAT(config_of({"vocab.lower_case=true", "vocab.strip_accents=auto"}),
              HasSubstr("\"strip_accents\": null"));
  EXPECT_THAT(config_of({"vocab.lower_case=true", "vocab.language=tr"}),
              HasSubstr("\"turkic_case\": true"));
  EXPECT_THAT(error_of<UsageError>([&] { recipe({"vocab.language=turkish"}); }),
              HasSubstr("vocab.language: 'turkish' is not a language tag (BCP 47)"));
}

TEST_F(GivenParts, TheStoredRecipeOmitsTheCaseOfAnExistingVocabulary) {
  io::write_file(dir_.file("given/vocab.txt"), "[UNK]\na\n");
  const std::string given = "vocab.file=" + dir_.file("given/vocab.txt");
  const auto kept_flags = [&](const std::vector<std::string>& settings) {
    keep_recipe(recipe(settings));
    return tokenizer_flags(load_recipe(dir_.file("m/recipe.yaml"), {}));
  };
  EXPECT_EQ(kept_flags({given}).lower_case, std::nullopt);
  EXPECT_EQ(kept_flags({given}).strip_accents, std::nullopt);
  EXPECT_EQ(kept_flags({given, "vocab.lower_case=true"}).lower_case, true);
  // For a vocabulary that the run makes, all fields are stored, in case defaults change later.
  EXPECT_EQ(kept_flags({}).lower_case, false);
}

TEST_F(GivenParts, ExportsAVocabTxtForAWordPieceTokenizerJson) {
  const Recipe r = recipe({"vocab.type=auto"});
  run_recipe(r);
  EXPECT_TRUE(io::exists(dir_.file("m/tokenizer.json")));
  EXPECT_FALSE(io::exists(dir_.file("m/vocab.txt")));
  const auto exported = files("m/huggingface");
  EXPECT_THAT(exported.at("vocab.txt"), testing::StartsWith("[PAD]\n[UNK]\n"));
  EXPECT_EQ(exported.at("tokenizer.json"), io::read_file(dir_.file("m/tokenizer.json")));
}

// The run was made when defaults were different.
TEST_F(GivenParts, ResumesARunOfAnEarlierVersionWithItsDefaults) {
  const std::string setting = "vocab.lower_case=true";
  run_recipe(recipe({setting}));
  const auto before = files("m");
  run_recipe(recipe());  // the recipe's file does not set it
  EXPECT_EQ(files("m"), before);
  EXPECT_TRUE(recipe().vocab.lower_case);
  EXPECT_FALSE(recipe({"out=" + dir_.file("n")}).vocab.lower_case);
}

TEST_F(GivenParts, SplitsChineseCharactersAsTheVocabularyDoes) {
  io::write_file(dir_.file("text.txt"), "東京 タワー\n東京 大学\n\n東京 駅\n東京 大学\n");
  io::write_file(dir_.file("m/text/train.txt"), "東京 大学\n東京 大学\n");
  for (const bool split : {true, false}) {
    make_vocabulary(recipe({str("vocab.split_chinese=", split ? "true" : "false")}));
    EXPECT_EQ(text::Vocabulary::load(dir_.file("m/vocab.txt")).find("東京").has_value(), !split);
  }
  const std::string given = "vocab.file=" + dir_.file("m/vocab.txt");
  EXPECT_THAT(
      error_of<UsageError>([&] {
        make_vocabulary(recipe({given, "out=" + dir_.file("n"), "vocab.split_chinese=true"}));
      }),
      HasSubstr("vocab.split_chinese is true, but " + dir_.file("m/vocab.txt") +
                " was made with false"));
}

// A segmentation command that splits "cat" and "dog", the most frequent words, in two.
constexpr const char* kSplitsCats = "vocab.segment_command=sed -u 's/cat/c at/g'";
constexpr const char* kSplitsDogs = "vocab.segment_command=sed -u 's/dog/d og/g'";

TEST_F(GivenParts, ReRunsVocabularyAndDataIfTheSegmentScriptChanges) {
  const std::string script = dir_.file("words.sh");
  const auto stages = [&](const char* split) {
    io::write_file(script, split);
    auto all = stages_of(recipe({"vocab.segment_command=sh " + script}), {});
    all.erase(all.begin() + 3, all.end());
    return all;
  };
  for (const Stage& stage : stages("sed -u 's/cat/c at/g'")) run_stage(dir_.file("m"), stage);
  const auto is_made = [&](const Stage& stage) { return is_finished(dir_.file("m"), stage); };
  EXPECT_TRUE(std::ranges::all_of(stages("sed -u 's/cat/c at/g'"), is_made));
  EXPECT_EQ(std::ranges::count_if(stages("sed -u 's/dog/d og/g'"), is_made), 1);
}

TEST_F(GivenParts, ReRunsVocabularyAndDataIfTheSegmentCommandChanges) {
  const auto stages = stages_of(recipe({kSplitsCats}), {});
  for (const Stage& stage : std::span(stages).first(3)) run_stage(dir_.file("m"), stage);
  const text::Vocabulary vocabulary = text::Vocabulary::load(dir_.file("m/vocab.txt"));
  EXPECT_TRUE(vocabulary.find("at") && !vocabulary.find("cat"));
  EXPECT_THAT(io::read_file(dir_.file("m/data/train.tfrecord.json")),
              HasSubstr(R"("segment_command": "sed -u 's/cat/c at/g'")"));
  const auto finished = [&](const char* setting) {
    std::vector<std::string> out;
    for (const Stage& stage : stages_of(recipe({setting}), {}))
      if (is_finished(dir_.file("m"), stage)) out.push_back(stage.name);
    return out;
  };
  EXPECT_THAT(finished(kSplitsCats), testing::ElementsAre("text", "vocab", "data"));
  EXPECT_THAT(finished(kSplitsDogs), testing::ElementsAre("text"));
}

TEST_F(GivenParts, ExportsTheSegmentCommandButRunsItOnlyIfTheUserSetsIt) {
  const Recipe r = recipe({kSplitsCats});
  run_recipe(r);
  EXPECT_EQ(PretrainedModel::of_recipe(r, {.task = InferenceTask::fill_mask})
                .fill_mask({"the cat [MASK] a dog"}, 1)
                .at(0)
                .masks.size(),
            1u);
  const std::string folder = dir_.file("m/huggingface");
  EXPECT_THAT(io::read_file(folder + "/tokenizer_config.json"),
              HasSubstr(R"("segment_command": "sed -u 's/cat/c at/g'")"));
  EXPECT_THAT(io::read_file(folder + "/SEGMENT_COMMAND.md"),
              HasSubstr("    sed -u 's/cat/c at/g'\n"));
  text::store_segment_command(folder + "/vocab.txt", "touch " + dir_.file("touched"));
  const auto refusal = HasSubstr("is split into words by the command 'touch ");
  EXPECT_THAT(error_of<UsageError>([&] { PretrainedModel::load(folder); }), refusal);
  const Recipe next = recipe({"out=" + dir_.file("n"), "train.init_from=" + folder});
  EXPECT_THAT(error_of<UsageError>([&] { make_vocabulary(next); }), refusal);
  EXPECT_FALSE(io::exists(dir_.file("touched")));
  const Recipe without =
      recipe({"out=" + dir_.file("n"), "train.init_from=" + folder, "vocab.segment_command=none"});
  make_vocabulary(without);
  EXPECT_EQ(text::segment_command_of(dir_.file("n/vocab.txt"), {}), "");
}

TEST_F(GivenParts, DoesNotRunTheCommandOfARunFolderUntilTheUserSetsIt) {
  const auto is_allowed = [](const Recipe& r) {
    try {
      text::Segmenter::of(r.vocab.segment_command)->check_allowed("x");
      return true;
    } catch (const UsageError&) {
      return false;
    }
  };
  const std::string command = "sed -u 's/one/on e/g'", other = "sed -u 's/two/t wo/g'";
  Recipe kept = recipe({});
  kept.sections["vocab"]["segment_command"] = command;  // as if someone else had written it
  io::write_file(dir_.file("m/.stages/x"), "");
  keep_recipe(kept);
  const Recipe folder = load_recipe(dir_.file("m"), {});
  EXPECT_EQ(folder.vocab.segment_command, command);
  EXPECT_FALSE(is_allowed(folder));
  EXPECT_TRUE(is_allowed(load_recipe(dir_.file("m"), {"vocab.segment_command=" + other})));
  EXPECT_TRUE(is_allowed(load_recipe(dir_.file("m/recipe.yaml"), {}))) << "the user names the file";
}

TEST_F(GivenParts, MakesExportsAndReusesAUnigramVocabulary) {
  const Recipe r = recipe({"vocab.type=unigram"});
  run_recipe(r);
  EXPECT_EQ(PretrainedModel::of_recipe(r, {.task = InferenceTask::fill_mask})
                .fill_mask({"the cat [MASK] a dog"}, 2)
                .at(0)
                .masks.at(0)
                .size(),
            2u);
  const auto exported = files("m/huggingface");
  EXPECT_EQ(exported.at("tokenizer.json"), io::read_file(dir_.file("m/tokenizer.json")));
  EXPECT_FALSE(exported.contains("vocab.txt"));
  EXPECT_THAT(exported.at("tokenizer_config.json"), HasSubstr("PreTrainedTokenizerFast"));
  // A run that starts from its weights uses its vocabulary and ignores vocab.type.
  const Recipe next =
      recipe({"out=" + dir_.file("n"), "train.init_from=" + dir_.file("m/huggingface")});
  run_recipe(next);
  EXPECT_EQ(files("n/huggingface").at("tokenizer.json"), exported.at("tokenizer.json"));
  EXPECT_EQ(recipe({"vocab.file=" + dir_.file("m/tokenizer.json")}).vocab.type, "auto");
  // A run uses its own copy if the original file is deleted.
  const Recipe named =
      recipe({"out=" + dir_.file("n"),
              "train.init_from=", "vocab.file=" + dir_.file("gone/tokenizer.json")});
  EXPECT_EQ(RecipePaths(named).vocab, dir_.file("n/tokenizer.json"));
  make_vocabulary(recipe());
  EXPECT_TRUE(io::exists(dir_.file("m/vocab.txt")));
  EXPECT_FALSE(io::exists(dir_.file("m/tokenizer.json"))) << "the folder holds one vocabulary";
}

}  // namespace
}  // namespace smelt::pipeline
