// The training loop on a tiny model: resumed runs, per-replica order, wrong input.
#include "train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "checkpoint/checkpoint.h"
#include "examples/bert_examples.h"
#include "format/tfrecord.h"
#include "store/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "train/compiled_step.h"
#include "train/evaluate.h"
#include "train/fill_mask.h"
#include "train/golden_bert.h"

namespace smelt {
namespace {

using testing::HasSubstr;

std::string vocab() { return source_path("tests/golden/pretraining/vocab_uncased.txt"); }

class TrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      open_device("cpu", 1);
    } catch (const UsageError& error) {
      GTEST_SKIP() << error.what();
    }
    BertExamplesJob job;
    job.text.input = source_path("tests/golden/pretraining/english.txt");
    job.vocab = vocab();
    job.output = dir_.file("train.tfrecord");
    job.pairs.seq_length = 32;
    job.pairs.max_predictions = 5;
    build_bert_examples(job);
  }

  PretrainJob job(const std::string& model, std::int64_t steps) const {
    PretrainJob job;
    BertConfig& m = job.config.model;
    m.vocab_size = Vocabulary::load(vocab()).size();
    m.hidden_size = 16;
    m.num_hidden_layers = 1;
    m.num_attention_heads = 2;
    m.intermediate_size = 32;
    m.max_position_embeddings = 32;
    m.type_vocab_size = 2;
    job.config.batch = {.batch_size = 8, .seq_length = 32, .max_predictions = 5};
    job.config.schedule = {
        .learning_rate = 1e-3, .warmup_steps = 2, .total_steps = 12, .power = 1.0};
    job.config.schedule.total_steps = steps;
    job.data = dir_.file("train.tfrecord");
    job.model_dir = dir_.file(model);
    job.save_every = 5;
    return job;
  }

  // All tensors of a step, by name.
  std::map<std::string, std::vector<float>> state(const std::string& model,
                                                  std::int64_t step) const {
    const Checkpoint checkpoint = load_checkpoint(dir_.file(model), step);
    std::map<std::string, std::vector<float>> values;
    for (const auto& [name, view] : checkpoint.tensors) values[name] = tensor_values<float>(view);
    return values;
  }

  CapturedLog log_;
  TempDir dir_;
};

// A copy of a run's folder in which only the checkpoint of `step` is left, as if it had been killed
// after it.
void cut_back(const std::string& from, const std::string& to, std::int64_t step) {
  std::filesystem::create_directories(to);
  const std::string name = str("/checkpoint-", step);
  std::filesystem::copy(from + name, to + name, std::filesystem::copy_options::recursive);
}

TEST_F(TrainerTest, AResumedRunGivesTheBitsOfAnUninterruptedOne) {
  const PretrainSummary whole = pretrain(job("whole", 12));
  EXPECT_EQ(whole.last_step, 12);
  cut_back(dir_.file("whole"), dir_.file("resumed"), 5);
  const PretrainSummary resumed = pretrain(job("resumed", 12));
  EXPECT_EQ(resumed.first_step, 5);
  EXPECT_EQ(resumed.metrics, whole.metrics);
  const auto want = state("whole", 12);
  EXPECT_EQ(state("resumed", 12), want);
  EXPECT_EQ(want.size() % 3, 0u);
  EXPECT_NE(state("whole", 5), want);
}

TEST_F(TrainerTest, AFinishedRunDoesNothingMore) {
  pretrain(job("model", 3));
  EXPECT_EQ(pretrain(job("model", 3)).first_step, 3);
}

TEST_F(TrainerTest, ASignalSavesWhereTheRunStops) {
  PretrainJob endless = job("stopped", 1'000'000'000);
  endless.save_every = endless.log_every = 1'000'000'000;
  std::signal(SIGTERM, SIG_IGN);  // what arrives before the run listens
  std::atomic<bool> over = false;
  std::thread killer([&] {
    while (!over) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      std::raise(SIGTERM);
    }
  });
  const std::string message = error_of([&] { pretrain(endless); });
  over = true;
  killer.join();
  std::signal(SIGTERM, SIG_DFL);
  const auto saved = latest_checkpoint(dir_.file("stopped"));
  ASSERT_TRUE(saved);
  EXPECT_THAT(message, HasSubstr(str("train: stopped by a signal at step ", *saved,
                                     " of 1000000000; saved")));
  EXPECT_THAT(message, HasSubstr("hint: run the same command again"));
}

TEST_F(TrainerTest, ACheckpointOfOtherSettingsIsRefused) {
  pretrain(job("model", 2));
  PretrainJob other = job("model", 4);
  other.config.batch.batch_size = 4;
  EXPECT_THAT(error_of([&] { pretrain(other); }),
              HasSubstr("checkpoint-2: was made with batch_size 8, this run has 4"));
}

TEST_F(TrainerTest, EachSettingOfACheckpointIsHeld) {
  pretrain(job("model", 2));
  const auto refusal = [&](const std::function<void(PretrainingConfig&)>& change) {
    PretrainJob other = job("model", 4);
    change(other.config);
    return error_of([&] { pretrain(other); });
  };
  EXPECT_THAT(refusal([](auto& c) { c.model.num_hidden_layers = 2; }),
              HasSubstr("was made with model {"));
  EXPECT_THAT(refusal([](auto& c) { c.seed = 9; }),
              HasSubstr("was made with seed 12345, this run has 9"));
  EXPECT_THAT(refusal([](auto& c) { c.optimizer.weight_decay = 0.5; }),
              HasSubstr("was made with optimizer {"));
  EXPECT_THAT(refusal([](auto& c) { c.clip_norm = 2; }), HasSubstr("was made with optimizer {"));
  EXPECT_THAT(refusal([](auto& c) { c.reduction = Reduction::per_replica; }),
              HasSubstr("was made with reduction \"global\", this run has \"per_replica\""));
  EXPECT_THAT(refusal([](auto& c) { c.next_sentence = false; }),
              HasSubstr("was made with next_sentence true, this run has false"));
  EXPECT_THAT(refusal([](auto& c) { c.schedule.learning_rate = 1e-4; }), "no error");
}

TEST_F(TrainerTest, ADifferenceInTheLastRecordIsAnotherData) {
  pretrain(job("model", 2));
  std::string bytes = read_file(dir_.file("train.tfrecord")), changed, last;
  RecordReader records(bytes);
  while (const auto record = records.next()) {
    if (!last.empty()) append_record(changed, last);
    last = *record;
  }
  last.back() ^= 1;  // whether its next sentence is random
  append_record(changed, last);
  write_file(dir_.file("train.tfrecord"), changed);
  EXPECT_THAT(error_of([&] { pretrain(job("model", 4)); }), HasSubstr("was made with data {"));
}

// What the description beside the data says, changed by `change`.
TEST_F(TrainerTest, DataThatAreNotAsDescribedAreRefused) {
  const std::string path = dir_.file("train.tfrecord.json"), before = read_file(path);
  const auto refusal = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json description = nlohmann::json::parse(before);
    change(description);
    write_file(path, description.dump());
    PretrainJob one = job("model", 1);
    one.vocab = vocab();
    return error_of([&] { pretrain(one); });
  };
  EXPECT_THAT(refusal([](auto& d) { d["examples"] = 3; }),
              HasSubstr("train.tfrecord.json: says examples 3, not "));
  EXPECT_THAT(refusal([](auto& d) { d["seq_length"] = 64; }),
              HasSubstr("says seq_length 64, not 32"));
  EXPECT_THAT(refusal([](auto& d) { d["max_predictions"] = 9; }),
              HasSubstr("says max_predictions 9, not 5"));
  EXPECT_THAT(refusal([](auto& d) { d["vocabulary"]["crc32c"] = 7; }), HasSubstr("is 7, not "));
  EXPECT_THAT(refusal([](auto& d) { d["next_sentence"] = false; }),
              HasSubstr("says next_sentence false, the model learns to tell next sentences"));
  EXPECT_THAT(refusal([](auto& d) { d["next_sentence"] = "no"; }),
              HasSubstr("next_sentence is neither true nor false"));
  EXPECT_FALSE(std::filesystem::exists(dir_.file("model")));
  EXPECT_THAT(refusal([](auto&) {}), "no error");
}

TEST_F(TrainerTest, WithoutNextSentencesItsLossDoesNotCount) {
  PretrainJob off = job("off", 3);
  off.config.next_sentence = false;
  const PretrainSummary s = pretrain(off);
  EXPECT_EQ(s.metrics[0], s.metrics[1]);  // loss and masked_lm_loss
  const auto first = state("off", 3);
  EXPECT_EQ(first.at("cls/seq_relationship/output_bias/adam_m"), std::vector<float>(2, 0.0f));
}

TEST_F(TrainerTest, ASignalsCheckpointIsResumedToTheBitsOfAnUninterruptedRun) {
  PretrainJob stopped = job("stopped", 600);
  stopped.save_every = 50;
  std::signal(SIGTERM, SIG_IGN);  // what arrives after the run
  std::atomic<bool> over = false;
  std::thread killer([&] {
    while (!std::filesystem::exists(dir_.file("stopped/checkpoint-50")) && !over)
      std::this_thread::yield();
    while (!over) {
      std::raise(SIGTERM);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  error_of([&] { pretrain(stopped); });
  over = true;
  killer.join();
  std::signal(SIGTERM, SIG_DFL);
  const auto saved = latest_checkpoint(dir_.file("stopped"));
  ASSERT_TRUE(saved);
  ASSERT_LT(*saved, 600);
  EXPECT_EQ(pretrain(stopped).first_step, *saved);
  PretrainJob whole = job("whole", 600);
  whole.save_every = 600;
  pretrain(whole);
  EXPECT_EQ(state("stopped", 600), state("whole", 600));
}

TEST_F(TrainerTest, ACheckpointOfOtherDataIsRefused) {
  pretrain(job("model", 2));
  BertExamplesJob other;
  other.text.input = source_path("tests/golden/pretraining/languages.txt");
  other.vocab = vocab();
  other.output = dir_.file("other.tfrecord");
  other.pairs.seq_length = 32;
  other.pairs.max_predictions = 5;
  build_bert_examples(other);
  PretrainJob changed = job("model", 4);
  changed.data = other.output;
  EXPECT_THAT(error_of([&] { pretrain(changed); }),
              HasSubstr("checkpoint-2: was made with data {"));
}

TEST_F(TrainerTest, ALossThatIsNotFiniteEndsTheRun) {
  PretrainJob wild = job("model", 50);
  wild.config.schedule.learning_rate = 1e30;
  EXPECT_THAT(error_of([&] { pretrain(wild); }), HasSubstr("train: the loss is "));
}

TEST_F(TrainerTest, WrongSizesAreRefusedWithBothValues) {
  PretrainJob wrong = job("model", 2);
  wrong.config.devices = 3;
  EXPECT_THAT(error_of([&] { pretrain(wrong); }),
              HasSubstr("batch size 8 does not divide over 3 devices"));
  wrong = job("model", 2);
  wrong.config.model.max_position_embeddings = 16;
  EXPECT_THAT(error_of([&] { pretrain(wrong); }),
              HasSubstr("sequence length 32 is longer than max_position_embeddings 16"));
  wrong = job("model", 2);
  wrong.config.model.vocab_size = 60;
  EXPECT_THAT(error_of([&] { pretrain(wrong); }), HasSubstr("is out of range for vocab_size 60"));
  wrong = job("model", 2);
  wrong.config.batch.seq_length = 16;
  EXPECT_THAT(error_of([&] { pretrain(wrong); }), testing::AllOf(HasSubstr("16"), HasSubstr("32")));
}

TEST_F(TrainerTest, ACheckpointThatDoesNotFillTheModelIsRefused) {
  const PretrainJob trained = job("model", 1);
  pretrain(trained);
  EvaluateJob evaluation{.config = trained.config,
                         .device = "cpu",
                         .data = trained.data,
                         .train_data = {},
                         .model_dir = trained.model_dir,
                         .steps = 1};
  evaluation.config.model.num_hidden_layers = 2;
  EXPECT_THAT(error_of([&] { evaluate(evaluation); }),
              HasSubstr("checkpoint-1: no tensor bert/encoder/layer_1/attention/self/"));
  evaluation.config.model.num_hidden_layers = 1;
  evaluation.config.model.intermediate_size = 64;
  EXPECT_THAT(error_of([&] { evaluate(evaluation); }),
              HasSubstr("bert/encoder/layer_0/intermediate/dense/kernel is f32[16,32], the model "
                        "wants f32[16,64]"));
}

TEST_F(TrainerTest, EvaluationCountsTheMajorityTokenAsByHand) {
  const PretrainJob trained = job("model", 3);
  EvaluateJob evaluation{.config = trained.config,
                         .device = "cpu",
                         .data = trained.data,
                         .train_data = {},
                         .model_dir = trained.model_dir,
                         .steps = 0};
  EXPECT_THAT(error_of([&] { evaluate(evaluation); }), HasSubstr("eval: no checkpoint in"));
  pretrain(trained);
  const Evaluation e = evaluate(evaluation);
  const BertRecordSource source({.input = trained.data,
                                 .seq_length = 32,
                                 .max_predictions = 5,
                                 .vocab_size = trained.config.model.vocab_size,
                                 .type_vocab_size = 2,
                                 .seed = 0});
  std::map<std::int32_t, double> counts;
  double all = 0;
  for (std::uint64_t i = 0; i < source.whole_batches(8); ++i) {
    const BertBatch batch = source.batch_in_order(i, 8);
    for (std::size_t j = 0; j < batch.masked_lm_ids.size(); ++j) {
      counts[batch.masked_lm_ids[j]] += batch.masked_lm_weights[j];
      all += batch.masked_lm_weights[j];
    }
  }
  EXPECT_EQ(static_cast<double>(e.masked_tokens), all);
  EXPECT_DOUBLE_EQ(e.majority_token_accuracy, counts[e.majority_token] / all);
  for (const auto& [token, count] : counts) EXPECT_LE(count, counts[e.majority_token]);
  EXPECT_EQ(e.global_step, 3);
  evaluation.config.batch.batch_size = 100000;
  EXPECT_THAT(error_of([&] { evaluate(evaluation); }), HasSubstr("fewer than one batch of 100000"));
}

TEST_F(TrainerTest, MasksAreFilledWithTheBestGuessesFirst) {
  const PretrainJob trained = job("model", 3);
  pretrain(trained);
  const BertTokenizer tokenizer(Vocabulary::load(vocab()), {.lower_case = true});
  const FillMaskJob fill{
      .model = trained.config.model, .device = "cpu", .model_dir = trained.model_dir, .top = 4};
  const auto filled = fill_masks(fill, tokenizer, {"a [MASK] of [MASK].", "[MASK]"});
  ASSERT_EQ(filled.size(), 2u);
  ASSERT_EQ(filled[0].masks.size(), 2u);
  ASSERT_EQ(filled[1].masks.size(), 1u);
  for (const auto& guesses : filled[0].masks) {
    ASSERT_EQ(guesses.size(), 4u);
    for (std::size_t i = 1; i < 4; ++i)
      EXPECT_GE(guesses[i - 1].probability, guesses[i].probability);
  }
  EXPECT_THAT(error_of([&] { fill_masks(fill, tokenizer, {"no mask"}); }),
              HasSubstr("no [MASK] in 'no mask'"));
}

// First moments after one step are a tenth of the gradient that the optimizer saw.
std::map<std::string, std::vector<float>> first_moments(const std::shared_ptr<const Client>& client,
                                                        const GoldenBert& golden,
                                                        const PretrainingConfig& config,
                                                        const BertBatch& batch) {
  PretrainingProgram program;
  build_train_step(config, program);
  const CompiledStep step(client, config, program);
  ModelState state =
      ModelState::restore(*client, static_cast<int>(config.devices), program.parameters,
                          StateParts::values_and_moments, golden.state(), "golden");
  const std::int32_t zero = 0;
  Execution execution = step.run(batch, std::span(&zero, 1), state);
  state.replace(execution.results);
  std::map<std::string, std::vector<float>> moments;
  const HostState host = state.download();
  for (const auto& [name, view] : host.tensors)
    if (name.ends_with("/adam_m")) moments[name] = tensor_values<float>(view);
  return moments;
}

BertBatch one_row(const BertBatch& b, std::int64_t row) {
  const auto cut = [&](const auto& values, std::int64_t width) {
    return std::decay_t<decltype(values)>(values.begin() + row * width,
                                          values.begin() + (row + 1) * width);
  };
  return {.batch = 1,
          .seq_length = b.seq_length,
          .max_predictions = b.max_predictions,
          .input_ids = cut(b.input_ids, b.seq_length),
          .input_mask = cut(b.input_mask, b.seq_length),
          .segment_ids = cut(b.segment_ids, b.seq_length),
          .masked_lm_positions = cut(b.masked_lm_positions, b.max_predictions),
          .masked_lm_ids = cut(b.masked_lm_ids, b.max_predictions),
          .masked_lm_weights = cut(b.masked_lm_weights, b.max_predictions),
          .next_sentence_labels = cut(b.next_sentence_labels, 1)};
}

// The original's order: each replica clips its own gradient, then they are summed.
TEST(PerReplica, EightReplicasSumTheGradientsThatEachClippedAlone) {
  SMELT_OPEN_CPU(client, 8);
  const GoldenBert golden;
  PretrainingConfig config = golden.config();
  config.batch.batch_size = 8;
  config.devices = 8;
  config.reduction = Reduction::per_replica;
  const BertBatch batch = golden.double_batch(0);
  const auto together = first_moments(client, golden, config, batch);

  config.batch.batch_size = 1;
  config.devices = 1;
  config.reduction = Reduction::global;
  std::map<std::string, std::vector<double>> sums;
  for (std::int64_t row = 0; row < 8; ++row)
    for (const auto& [name, m] : first_moments(client, golden, config, one_row(batch, row))) {
      auto& sum = sums[name];
      sum.resize(m.size());
      for (std::size_t i = 0; i < m.size(); ++i) sum[i] += m[i];
    }
  for (const auto& [name, sum] : sums) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      difference = std::max(difference, std::abs(together.at(name)[i] - sum[i]));
      size = std::max(size, std::abs(sum[i]));
    }
    // A key's bias has no gradient but rounding.
    EXPECT_LE(difference, 1e-5 * std::max(size, 1e-3)) << name;
  }
}

}  // namespace
}  // namespace smelt
