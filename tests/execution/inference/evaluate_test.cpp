// Evaluation: matches the metrics of an independent implementation on any number of devices.
#include "execution/inference/evaluate.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "checkpoint/storage/checkpoint.h"
#include "data/input_pipeline/record_source.h"
#include "execution/inference/scorer.h"
#include "execution/train_state/model_state.h"
#include "io/filesystem/file.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "model/tasks/electra_task.h"
#include "model/tasks/jestimator_bert_task.h"
#include "model/tasks/t5_task.h"
#include "runs/golden_bert.h"
#include "runs/small_run.h"
#include "support/error_of.h"

namespace smelt::execution {
namespace {

using testing::HasSubstr;

// Writes the rows of batches as records.
void write_records(const std::string& path, const io::Features& features,
                   const std::vector<data::Batch>& batches) {
  std::string out;
  io::ExampleWriter writer;
  for (const data::Batch& all : batches)
    for (std::int64_t row = 0; row < all.rows; ++row) {
      const data::Batch one = rows_of(all, row, row + 1);
      for (std::size_t i = 0; i < features.size(); ++i)
        if (features[i].dtype == compiler::DType::f32)
          writer.reals(features[i].name, one.arrays[i].values<float>());
        else
          writer.integers(features[i].name, one.arrays[i].values<std::int32_t>());
      io::append_record(out, writer.take());
    }
  io::write_file(path, out);
}

// Returns the weighted share of rows whose largest logit is that of the label.
double accuracy(const std::vector<float>& logits, std::span<const std::int32_t> labels,
                std::span<const float> weights) {
  const std::size_t width = logits.size() / labels.size();
  double right = 0, all = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i * width);
    const auto best = std::max_element(row, row + static_cast<std::ptrdiff_t>(width)) - row;
    all += weights[i];
    right += best == labels[i] ? weights[i] : 0;
  }
  return right / all;
}

class GoldenEvaluation : public testing::Test {
 protected:
  EvaluateJob job(std::int64_t devices, std::int64_t batch_size) {
    checkpoint::save_checkpoint(dir_.file("model"), 7, golden_.state(), {});
    model::BertTask bert = golden_.task();
    bert.majority_token = majority_;
    const model::Task task = model::bert_task(bert);
    write_records(dir_.file("records"), task.features, {golden_.batch(0), golden_.batch(1)});
    return {.task = task,
            .batch_size = batch_size,
            .on = {.devices = devices},
            .data = dir_.file("records"),
            .model_dir = dir_.file("model")};
  }
  std::span<const std::int32_t> labels(const data::Batch& batch, std::size_t feature) {
    return batch.arrays[feature].values<std::int32_t>();
  }

  GoldenBert golden_;
  std::int32_t majority_ = 0;
  CapturedLog log_;
  TempDir dir_;
};

TEST_F(GoldenEvaluation, LossesAndAccuraciesMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const data::Batch batch = golden_.batch(0);
  const auto answers = labels(batch, 4);
  const auto weights = batch.arrays[5].values<float>();
  majority_ = answers[0];
  EvaluateJob first = job(1, batch.rows);
  first.steps = 1;
  const Evaluation e = evaluate(first);
  const auto& facts = golden_.facts()["loss"];
  EXPECT_EQ(e.global_step, 7);
  EXPECT_EQ(e.examples, batch.rows);
  EXPECT_NEAR(e.loss, facts["loss"].get<double>(), 1e-5 * e.loss);
  EXPECT_NEAR(e.measure("masked_lm_loss").value, facts["mlm_loss"].get<double>(), 1e-5 * e.loss);
  EXPECT_NEAR(e.measure("next_sentence_loss").value, facts["nsp_loss"].get<double>(),
              1e-5 * e.loss);
  EXPECT_FLOAT_EQ(e.measure("masked_lm_accuracy").value,
                  accuracy(golden_.values("output/mlm_logits"), answers, weights));
  EXPECT_FLOAT_EQ(e.measure("next_sentence_accuracy").value,
                  accuracy(golden_.values("output/nsp_logits"), labels(batch, 6),
                           std::vector<float>(static_cast<std::size_t>(batch.rows), 1)));
  double hits = 0, all = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    all += weights[i];
    hits += answers[i] == majority_ ? weights[i] : 0;
  }
  EXPECT_FLOAT_EQ(e.measure("majority_token_accuracy").value, hits / all);
  EXPECT_EQ(e.measure("masked_lm_loss").weight, all);
}

TEST_F(GoldenEvaluation, EightDevicesGiveTheMetricsOfOneDevice) {
  SMELT_OPEN_CPU(client, 8);
  const Evaluation one = evaluate(job(1, 8)), eight = evaluate(job(8, 8));
  EXPECT_NEAR(eight.loss, one.loss, 1e-6 * one.loss);
  ASSERT_EQ(eight.measures.size(), one.measures.size());
  for (std::size_t i = 0; i < one.measures.size(); ++i) {
    EXPECT_NEAR(eight.measures[i].value, one.measures[i].value, 1e-6) << one.measures[i].name;
    EXPECT_EQ(eight.measures[i].weight, one.measures[i].weight) << one.measures[i].name;
  }
}

// 8 examples in batches of 3: two full batches, and a last one with a padding example.
TEST_F(GoldenEvaluation, ScoresEveryExampleForAnyBatchSize) {
  SMELT_OPEN_CPU(client, 1);
  const Evaluation whole = evaluate(job(1, 8)), parts = evaluate(job(1, 3));
  EXPECT_EQ(parts.examples, 8);
  EXPECT_NEAR(parts.loss, whole.loss, 1e-5 * whole.loss);
  for (std::size_t i = 0; i < whole.measures.size(); ++i) {
    EXPECT_NEAR(parts.measures[i].value, whole.measures[i].value, 1e-5) << whole.measures[i].name;
    EXPECT_EQ(parts.measures[i].weight, whole.measures[i].weight) << whole.measures[i].name;
  }
}

TEST_F(GoldenEvaluation, HandlesDevicesWithoutExamplesInAnIncompleteBatch) {
  SMELT_OPEN_CPU(client, 8);
  const Evaluation one = evaluate(job(1, 8)), sixteen = evaluate(job(8, 16));
  EXPECT_EQ(sixteen.examples, 8);
  EXPECT_NEAR(sixteen.loss, one.loss, 1e-5 * one.loss);
}

TEST_F(GoldenEvaluation, DropsAnIncompleteBatchInTheOriginalsMode) {
  SMELT_OPEN_CPU(client, 1);
  EvaluateJob original = job(1, 3);
  original.as_original = true;
  EXPECT_EQ(evaluate(original).examples, 6);
}

TEST_F(GoldenEvaluation, WarnsAboutDroppedExamplesOfATaskWithoutPadding) {
  SMELT_OPEN_CPU(client, 1);
  EvaluateJob unpadded = job(1, 3);
  unpadded.task.row_weights.clear();
  EXPECT_EQ(evaluate(unpadded).examples, 6);
  EXPECT_THAT(log_.text(),
              HasSubstr("eval: the last 2 examples are not scored: they are fewer than "
                        "eval.batch_size 3"));
}

// Evaluates five examples of arbitrary tokens, for tasks that draw masks or have targets of several
// lengths.
class PaddedEvaluation : public testing::TestWithParam<std::function<model::Task()>> {
 protected:
  static data::Batch arbitrary_examples(const io::Features& features) {
    data::Batch out = data::empty_batch(features, 5);
    for (std::size_t i = 0; i < features.size(); ++i)
      for (std::size_t at = 0; std::int32_t& value : out.arrays[i].values<std::int32_t>()) {
        value = static_cast<std::int32_t>(5 + ++at * (7 + i) % 20);
        if (features[i].name == "input_mask") value = at % 8 != 0;
        if (features[i].name == "segment_ids") value = 0;
      }
    return out;
  }
  Evaluation in_batches_of(const std::shared_ptr<const pjrt::Client>& client, std::int64_t size,
                           const model::ShardingPlan& placement) const {
    const model::Task task = GetParam()();
    write_records(dir_.file("records"), task.features, {arbitrary_examples(task.features)});
    const Scorer scorer(client, task, placement, model::ComputePolicy(),
                        {.data = dir_.file("records"), .batch_size = size}, recipe_field);
    const auto& program = scorer.program();
    return scorer.score(ModelState::fresh(*client, program.placement, program.state, 1), 0);
  }
  TempDir dir_;
};

model::Task tiny_electra() {
  model::ElectraTask c{.seq_length = 8, .ids = {.cls = 1, .sep = 2, .mask = 3}};
  c.model.vocab_size = 30;
  c.model.hidden_size = c.model.embedding_size = c.model.intermediate_size = 8;
  c.model.num_hidden_layers = c.model.num_attention_heads = 1;
  c.model.generator_hidden_size = 1;
  c.model.max_position_embeddings = 8;
  c.settings.mask_prob = 0.3;
  c.settings.masks = model::MaskDraws::original;  // with it disc_auc counts padding tokens
  return model::electra_task(c);
}

model::Task tiny_jestimator() {
  model::JestimatorBertTask c{.settings = {.mask_token_id = 4, .mask_rate = 0.3}};
  c.model.vocab_size = 30;
  c.model.max_length = c.model.hidden_size = c.model.mlp_size = 8;
  c.model.num_heads = c.model.num_layers = 1;
  return model::jestimator_bert_task(c);
}

model::Task tiny_t5() {
  model::T5Task c{.inputs_length = 8, .targets_length = 4, .words = {{.begin = 5, .end = 20}}};
  c.model.vocab_size = 30;
  c.model.d_model = c.model.d_kv = c.model.d_ff = 8;
  c.model.num_layers = c.model.num_heads = 1;
  return model::t5_task(c);
}

INSTANTIATE_TEST_SUITE_P(Tasks, PaddedEvaluation,
                         testing::Values(tiny_electra, tiny_jestimator, tiny_t5));

TEST_P(PaddedEvaluation, GivesTheMetricsOfOneBatchAlsoWithTpuSettings) {
  SMELT_OPEN_CPU(client, 1);
  const Evaluation whole = in_batches_of(client, 5, model::ShardingPlan());
  const Evaluation padded =
      in_batches_of(client, 4, model::placement_for("tpu", 1, model::Reduction::global));
  EXPECT_EQ(padded.examples, 5);
  EXPECT_NEAR(padded.loss, whole.loss, 1e-5 * whole.loss);
  for (std::size_t i = 0; i < whole.measures.size(); ++i) {
    EXPECT_NEAR(padded.measures[i].value, whole.measures[i].value, 1e-5) << whole.measures[i].name;
    EXPECT_EQ(padded.measures[i].weight, whole.measures[i].weight) << whole.measures[i].name;
  }
}

using EvaluationErrors = SmallRun;

TEST_F(EvaluationErrors, ReportMissingCheckpointsAndInvalidBatchSizes) {
  EvaluateJob evaluation = this->evaluation("model");
  EXPECT_THAT(error_of([&] { evaluate(evaluation); }), HasSubstr("eval: no checkpoint in"));
  save_first_weights("model");
  evaluation.as_original = true;
  evaluation.batch_size = 100000;
  EXPECT_THAT(error_of([&] { evaluate(evaluation); }), HasSubstr("fewer than one batch of 100000"));
  evaluation.batch_size = 0;
  EXPECT_THAT(error_of([&] { evaluate(evaluation); }), HasSubstr("batch size 0: must be"));
  evaluation.batch_size = 8;
  evaluation.on.devices = 3;
  EXPECT_THAT(error_of([&] { evaluate(evaluation); }),
              HasSubstr("a batch of 8 examples does not divide over 3 devices"));
}

TEST_F(EvaluationErrors, RejectACheckpointThatDoesNotMatchTheModel) {
  save_first_weights("model");
  enum class Settings { known, unknown };
  const auto refusal = [&](Settings settings,
                           const std::function<void(model::BertConfig&)>& change) {
    model::BertTask changed = bert();
    change(changed.model);
    EvaluateJob other = evaluation("model");
    other.task = model::bert_task(changed);
    if (settings == Settings::unknown) other.task.settings.erase("model");
    return error_of([&] { evaluate(other); });
  };
  EXPECT_THAT(refusal(Settings::known, [](auto& m) { m.num_attention_heads = 4; }),
              HasSubstr("checkpoint-0: was made with model.num_attention_heads 2, this run has 4"));
  EXPECT_THAT(refusal(Settings::known,
                      [](auto& m) {
                        m.initializer_range = 0.5;  // settings that matter in training only
                        m.hidden_dropout_prob = m.attention_probs_dropout_prob = 0;
                      }),
              "no error");
  EXPECT_THAT(refusal(Settings::unknown, [](auto& m) { m.num_hidden_layers = 2; }),
              HasSubstr("checkpoint-0: no tensor bert/encoder/layer_1/attention/self/"));
  EXPECT_THAT(
      refusal(Settings::unknown, [](auto& m) { m.intermediate_size = 64; }),
      HasSubstr("bert/encoder/layer_0/intermediate/dense/kernel has shape f32[16,32], the model "
                "expects f32[16,64]"));
}

TEST(BitsPerCharacter, AreTheLossInBitsDividedByCharactersPerToken) {
  const data::DataDescription described =
      data::parse_description(R"({"text": {"characters": 30, "tokens": 12}})", "x.json");
  const auto bits_of = [](const std::optional<data::DataDescription>& description,
                          const char* loss) {
    Evaluation e{.measures = {{.name = loss, .value = 5 * std::log(2.0), .weight = 8}}};
    add_bits_per_character(description, e);
    return e.measures.size() == 2 ? e.measure("bits_per_character").value : -1;
  };
  EXPECT_NEAR(bits_of(described, "masked_lm_loss"), 2, 1e-12);
  EXPECT_EQ(bits_of(described, "next_sentence_loss"), -1);
  EXPECT_EQ(bits_of(data::parse_description("{}", "x.json"), "masked_lm_loss"), -1);
  EXPECT_EQ(bits_of(std::nullopt, "masked_lm_loss"), -1);
}

}  // namespace
}  // namespace smelt::execution
