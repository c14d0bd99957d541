// Compares filled masks with the logits of the same weights.
#include "execution/inference/fill_mask.h"

#include <gmock/gmock.h>

#include <cmath>

#include "compiler/ops/ops.h"
#include "execution/train_state/compiled_step.h"
#include "model/models/bert.h"
#include "runs/small_run.h"
#include "support/error_of.h"

namespace smelt::execution {
namespace {

using testing::HasSubstr;

class FillMask : public SmallRun {
 protected:
  text::BertTokenizer tokenizer() const {
    return text::BertTokenizer(text::Vocabulary::load(vocab()), {.lower_case = true});
  }
  FillMaskJob fill(std::int64_t top) const {
    const model::BertConfig model = bert().model;
    FillMaskJob job;
    job.guesses = [model](std::int64_t S, std::int64_t P, std::int64_t k) {
      return model::bert_mask_guesses(model, S, P, k);
    };
    job.max_tokens = model.max_position_embeddings;
    job.vocab_size = model.vocab_size;
    job.top = top;
    return job;
  }
  // Creates a mask filler with the weights of the latest checkpoint.
  MaskFiller filler(const FillMaskJob& job) const {
    const auto saved = std::make_shared<const checkpoint::SlicedCheckpoint>(
        *checkpoint::load_latest_sliced_checkpoint(dir_.file("model")));
    return {pjrt::open_device("cpu", 1),
            job,
            tokenizer(),
            {.tensors = {saved, &saved->tensors}, .where = "model"}};
  }
};

// Returns the softmax of the logits at one position, for a single text without padding.
std::vector<double> probabilities(const model::BertConfig& model, const std::string& model_dir,
                                  const std::vector<std::int32_t>& ids, std::int32_t position) {
  const auto S = std::ssize(ids);
  model::Prediction direct{.features = {{.name = "ids", .row = {S}, .limit = model.vocab_size},
                                        {.name = "position", .row = {1}, .limit = S}},
                           .outputs = {}};
  direct.outputs = [&](const model::Scope& root, const model::Inputs& in) {
    const model::BertEncoded encoded = model::bert(
        root, model, {in["ids"], compiler::ones_like(in["ids"]), compiler::zeros_like(in["ids"])});
    return std::vector<compiler::Tensor>{
        model::lm_logits(model::masked_lm_head(root, model, encoded.sequence, in["position"]))};
  };
  const auto client = pjrt::open_device("cpu", 1);
  const model::StepProgram program = model::predict_program(direct, 1);
  const CompiledStep step(client, program);
  const auto checkpoint = checkpoint::load_latest_checkpoint(model_dir);
  const ModelState state =
      ModelState::restore(*client, program.placement, program.state, checkpoint->tensors, "model");
  data::Batch batch = data::empty_batch(direct.features, 1);
  std::ranges::copy(ids, batch.arrays[0].values<std::int32_t>().begin());
  batch.arrays[1].values<std::int32_t>()[0] = position;
  const auto logits = step.run(batch, state).results[0][0].to_host<float>();
  double sum = 0;
  std::vector<double> out;
  for (const float logit : logits) out.push_back(std::exp(static_cast<double>(logit)));
  for (const double e : out) sum += e;
  for (double& p : out) p /= sum;
  return out;
}

TEST_F(FillMask, GuessesHaveTheHighestLogitsForAnyPadding) {
  train::train(job("model", 3));
  const text::BertTokenizer tokenizer = this->tokenizer();
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  // The first text is shorter and needs padding.
  const auto filled = filler(fill(4)).fill({"[MASK]", "a [MASK] of [MASK] and the"});
  ASSERT_EQ(filled.size(), 2u);
  ASSERT_EQ(filled[0].masks.size(), 1u);
  ASSERT_EQ(filled[1].masks.size(), 2u);
  const std::vector<std::int32_t> ids{vocabulary.id("[CLS]"), vocabulary.id("[MASK]"),
                                      vocabulary.id("[SEP]")};
  const auto want = probabilities(bert().model, dir_.file("model"), ids, 1);
  const std::vector<std::int32_t> longer{vocabulary.id("[CLS]"),  vocabulary.id("a"),
                                         vocabulary.id("[MASK]"), vocabulary.id("of"),
                                         vocabulary.id("[MASK]"), vocabulary.id("and"),
                                         vocabulary.id("the"),    vocabulary.id("[SEP]")};
  const auto expect = [&](const std::vector<MaskGuess>& guesses, const std::vector<double>& want) {
    ASSERT_EQ(guesses.size(), 4u);
    EXPECT_NEAR(guesses[0].probability, *std::ranges::max_element(want), 1e-6);
    for (std::size_t i = 0; i < guesses.size(); ++i) {
      const auto id = static_cast<std::size_t>(vocabulary.id(guesses[i].token));
      EXPECT_NEAR(guesses[i].probability, want[id], 1e-6) << guesses[i].token;
      EXPECT_GE(guesses[i == 0 ? 0 : i - 1].probability, guesses[i].probability);
    }
  };
  expect(filled[0].masks[0], want);
  expect(filled[1].masks[0], probabilities(bert().model, dir_.file("model"), longer, 2));
  expect(filled[1].masks[1], probabilities(bert().model, dir_.file("model"), longer, 4));
}

TEST_F(FillMask, SkipsIdsBeyondTheVocabulary) {
  train::TrainJob wide = job("model", 0);
  model::BertTask more = bert();
  more.model.vocab_size += 5;
  wide.task = model::bert_task(more);
  train::train(wide);
  FillMaskJob all = fill(tokenizer().vocabulary().size());
  all.guesses = [more](std::int64_t S, std::int64_t P, std::int64_t top) {
    return model::bert_mask_guesses(more.model, S, P, top);
  };
  all.vocab_size = more.model.vocab_size;
  const auto filled = filler(all).fill({"a [MASK]"});
  EXPECT_EQ(std::ssize(filled[0].masks[0]), tokenizer().vocabulary().size());
}

TEST_F(FillMask, ReusesProgramAndDeviceWeightsForBatchesOfOneShape) {
  save_first_weights("model");
  FillMaskJob counted = fill(2);
  int programs = 0;
  counted.guesses = [&programs, made = counted.guesses](auto S, auto P, auto top) {
    ++programs;
    return made(S, P, top);
  };
  const auto checkpoint = checkpoint::load_latest_sliced_checkpoint(dir_.file("model"));
  const auto weights = std::make_shared<checkpoint::SlicedTensors>(checkpoint->tensors);
  MaskFiller filler(pjrt::open_device("cpu", 1), counted, tokenizer(), {weights, "model"});
  const auto first = filler.fill({"a [MASK] of", "the [MASK]"});
  weights->clear();
  const auto second = filler.fill({"the [MASK]", "a [MASK] of"});
  EXPECT_EQ(programs, 1);
  EXPECT_EQ(first[0].masks[0][0].probability, second[1].masks[0][0].probability);
  EXPECT_EQ(first[1].masks[0][0].token, second[0].masks[0][0].token);
}

TEST_F(FillMask, AcceptsMasksInLowerCase) {
  save_first_weights("model");
  const auto filled = filler(fill(2)).fill({"a [MASK] of [MASK]", "a [mask] of [Mask]"});
  ASSERT_EQ(filled[1].masks.size(), 2u);
  EXPECT_EQ(filled[1].masks[1][0].probability, filled[0].masks[1][0].probability);
}

TEST_F(FillMask, ExactProductsUseTheHighestMatmulPrecision) {
  const auto text = [&](bool exact) {
    return compiler::emit_module(
        model::predict_program(fill(1).guesses(8, 1, 1), 1, {.exact_products = exact}).program,
        "fill");
  };
  EXPECT_THAT(text(true), HasSubstr("HIGHEST"));
  EXPECT_THAT(text(false), testing::Not(HasSubstr("HIGHEST")));
}

TEST_F(FillMask, NamesInvalidInput) {
  save_first_weights("model");
  const auto refusal = [&](const FillMaskJob& job, const std::string& text) {
    return error_of([&] { filler(job).fill({text}); });
  };
  EXPECT_THAT(refusal(fill(4), "no mask"), HasSubstr("no [MASK] in 'no mask'"));
  EXPECT_THAT(refusal(fill(0), "[MASK]"), HasSubstr("fill: --top is 0, must be from 1 to "));
  std::string longer = "[MASK]";
  for (int i = 0; i < 40; ++i) longer += " a";
  EXPECT_THAT(refusal(fill(4), longer),
              HasSubstr("fill: a text has 43 tokens, the model takes at most 32"));
}

}  // namespace
}  // namespace smelt::execution
