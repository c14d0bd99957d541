// What a recipe is given instead of making it: weights' vocabularies, ready records, SentencePiece.
#include <gmock/gmock.h>

#include "recipe/evaluation.h"
#include "recipe/given_vocabulary.h"
#include "recipe/objective_type.h"
#include "recipe/small_recipe.h"
#include "store/file.h"
#include "store/folder.h"
#include "support/error_of.h"

namespace smelt {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using GivenParts = SmallRecipe;

TEST_F(GivenParts, WeightsComeWithTheVocabularyThatLiesBesideThem) {
  run_recipe(recipe({"vocab.lower_case=false"}));
  write_text(14);
  for (const char* weights : {"m/model", "m/model/checkpoint-2", "m/huggingface"}) {
    const Recipe next = recipe({"out=" + dir_.file("n"), "train.init=" + dir_.file(weights)});
    EXPECT_EQ(given_vocabulary(next), weights == std::string("m/huggingface")
                                          ? dir_.file("m/huggingface/vocab.txt")
                                          : dir_.file("m/vocab.txt"));
    run_recipe(next);
    EXPECT_EQ(read_file(dir_.file("n/vocab.txt")), read_file(dir_.file("m/vocab.txt")));
    EXPECT_THAT(read_file(dir_.file("n/tokenizer_config.json")),
                HasSubstr("\"do_lower_case\": false"));
    remove_tree(dir_.file("n"));
  }
  EXPECT_EQ(said("another vocabulary"), 0);
}

TEST_F(GivenParts, WeightsWithoutAVocabularyAreRefused) {
  run_recipe(recipe());
  const std::string vocab = read_file(dir_.file("m/vocab.txt"));
  const Recipe next = recipe({"out=" + dir_.file("n"), "train.init=" + dir_.file("m/model")});
  write_file(dir_.file("m/vocab.txt"), vocab + "more\n");  // of another model
  const auto refusal = AllOf(HasSubstr("train.init: no vocabulary lies beside " +
                                       dir_.file("m/model") + ", and vocab.file names none"),
                             HasSubstr("hint: name the weights' own with --set vocab.file=…"));
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(next); }), refusal);
  remove_file(dir_.file("m/vocab.txt"));
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(next); }), refusal);
  EXPECT_FALSE(exists(dir_.file("n")));
}

TEST_F(GivenParts, AVocabularySizeThatIsNotReadIsSaid) {
  run_recipe(recipe());
  const std::string init = "train.init=" + dir_.file("m/model");
  run_recipe(recipe({"out=" + dir_.file("n"), init, "vocab.size=70"}));
  EXPECT_EQ(said(str("vocab.size 70 is not read: ", dir_.file("m/vocab.txt"), " has 60 pieces")),
            1);
  EXPECT_EQ(said("is not read"), 1);
}

TEST_F(GivenParts, ReadyRecordsAreTrainedOnWithoutText) {
  run_recipe(recipe({"data.shards=2"}));
  EXPECT_TRUE(exists(dir_.file("m/data/train-00001-of-00002.tfrecord")));
  const std::vector<std::string> ready{"out=" + dir_.file("n"),
                                       "text.input=", "vocab.file=" + dir_.file("m/vocab.txt"),
                                       "data.records=" + dir_.file("m/data/train-*.tfrecord")};
  auto evaluated = ready;
  evaluated.push_back("data.heldout=" + dir_.file("m/data/heldout.tfrecord"));
  run_recipe(recipe(evaluated));
  EXPECT_EQ(files("n/huggingface"), files("m/huggingface"));
  EXPECT_FALSE(exists(dir_.file("n/text")));
  remove_tree(dir_.file("n"));
  run_recipe(recipe(ready));
  EXPECT_FALSE(exists(dir_.file("n/model/eval_results.txt")));
  EXPECT_THAT(error_of<UsageError>([&] { evaluate_model(recipe(ready)); }),
              HasSubstr("eval: no held-out examples: data.records are given without data.heldout"));
}

TEST_F(GivenParts, FieldsThatDoNotGoTogetherAreRefused) {
  const auto refusal = [&](const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { recipe(settings); });
  };
  EXPECT_THAT(refusal({"data.records=a"}),
              HasSubstr("data.records are given without the vocabulary that they were made with"));
  EXPECT_THAT(refusal({"data.heldout=a"}), HasSubstr("data.heldout is given without data.records"));
  EXPECT_THAT(refusal({"data.records=a", "vocab.file=v", "eval.every=1"}),
              HasSubstr("eval.every is 1, but data.heldout names no examples"));
  EXPECT_THAT(refusal({"data.shards=0"}), HasSubstr("data.shards is 0, must be at least 1"));
  EXPECT_THAT(refusal({"vocab.type=unigramm"}), HasSubstr("did you mean 'unigram'?"));
  EXPECT_THAT(refusal({"vocab.type=unigram"}),
              AllOf(HasSubstr("a model of type bert takes no SentencePiece vocabulary"),
                    HasSubstr("hint: leave vocab.type at wordpiece")));
  EXPECT_THAT(refusal({"vocab.file=x.model"}), HasSubstr("takes no SentencePiece vocabulary"));
}

TEST_F(GivenParts, ASettingInAnotherFormIsToldTheRightOne) {
  const auto refusal = [&](const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { load_recipe(dir_.file("r.yaml"), settings); });
  };
  EXPECT_THAT(refusal({"train.steps", "=", "10"}), AllOf(HasSubstr("--set train.steps: no '='"),
                                                         HasSubstr("write --set train.steps=10")));
  EXPECT_THAT(refusal({"train.steps"}), HasSubstr("write --set train.steps=…, without spaces"));
  EXPECT_THAT(refusal({"=10"}), HasSubstr("--set =10: no field"));
  EXPECT_THAT(refusal({"out=~somebody/mine"}),
              HasSubstr("--set: out is '~somebody/mine', whose '~' cannot be told"));
  EXPECT_EQ(load_recipe(dir_.file("r.yaml"), {"out=~/mine"}).out,
            str(std::getenv("HOME"), "/mine"));
}

TEST_F(GivenParts, JestimatorsModelsTakeSentencePieceVocabularies) {
  write_file(dir_.file("r.yaml"),
             str("out: ", dir_.file("m"), "\ntext: {input: ", dir_.file("text.txt"),
                 ", sentences: lines, dedup: none, heldout: 0.3}\n"
                 "vocab: {type: unigram, size: 40}\n"
                 "model: {type: jestimator_bert, max_length: 16, hidden_size: 8, num_layers: 1,\n"
                 "  num_heads: 2, mlp_size: 16}\n"
                 "train: {batch_size: 2, steps: 2}\neval: {batch_size: 1}\n"));
  const Recipe r = load_recipe(dir_.file("r.yaml"), {});
  run_recipe(r);
  EXPECT_TRUE(exists(dir_.file("m/vocab.model")));
  EXPECT_EQ(r.type->task(r).settings["model"]["vocab_size"], 40);
  EXPECT_THAT(error_of<UsageError>([&] { fill_with_model(r, {"a [MASK]"}, 1); }),
              HasSubstr("m/vocab.model is a SentencePiece model, by which no text has [MASK]"));
}

}  // namespace
}  // namespace smelt
