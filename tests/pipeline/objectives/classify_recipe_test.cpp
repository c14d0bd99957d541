// Tests of recipes with model.type classify: invalid settings, small runs from rows to predictions,
// resuming, several devices, scanned layers, export and import.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/storage/checkpoint.h"
#include "data/preprocess/labelled_rows.h"
#include "evaluation/metrics/entities.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/compression/asked_rows.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/estimate/dry_run.h"
#include "pipeline/objectives/classify_fields.h"
#include "pipeline/objectives/classify_model.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/predictions.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/sweep/trials.h"
#include "runs/golden_classify.h"
#include "runs/golden_t5.h"
#include "runs/state_values.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "text/readers/lines.h"

namespace smelt::pipeline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ClassifyRun : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    GoldenClassify("bert").write_folder(dir_.file("base"));
    std::string rows = "label\ttext\tpair\n";
    for (int i = 0; i < 22; ++i)
      rows += i % 2 == 0 ? str("cats\tcat w", 8 + i % 7, "\tdog\n")
                         : str("dogs\tdog w", 9 + i % 5, "\tcat\n");
    io::write_file(dir_.file("train.tsv"), rows);
    io::write_file(
        dir_.file("r.yaml"),
        str("data: {train: ", dir_.file("train.tsv"),
            ", seq_length: 8, validation_share: 0.3}\n"
            "model: {type: classify}\n"
            "train: {init_from: ",
            dir_.file("base"),
            ", batch_size: 4, steps: 4, optimizer.learning_rate: 1e-4,\n"
            "  schedule.warmup_steps: 100, checkpoint.save_interval_steps: 2, logging_steps: 4}\n"
            "eval: {batch_size: 4}\n"));
  }
  Recipe recipe(const std::string& out, std::vector<std::string> settings = {}) const {
    settings.push_back("out=" + dir_.file(out));
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  execution::Evaluation run(const std::string& out,
                            const std::vector<std::string>& settings = {}) const {
    execution::Evaluation told;
    run_recipe(recipe(out, settings), {}, [&](const execution::Evaluation& e) { told = e; });
    return told;
  }
  std::string refusal(const std::vector<std::string>& settings) const {
    return error_of<UsageError>([&] { run("refused", settings); });
  }
  std::string weights(const std::string& out) const {
    return stored_values(dir_.file(out + "/model"), 4);
  }
  std::string rows_file(const std::string& name, const std::string& content) const {
    io::write_file(dir_.file(name), content);
    return dir_.file(name);
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(ClassifyRun, EvaluatesAndPredictsEveryHeldOutRowOnce) {
  const execution::Evaluation e = run("m");
  EXPECT_EQ(e.examples, 6);  // 3 of 11 of each class: a batch of 4 and one of 2
  EXPECT_EQ(e.measure("accuracy").weight, 6);
  EXPECT_EQ(e.measure("majority_accuracy").value, 0.5);
  EXPECT_THAT(log_.text(), HasSubstr("16 examples to train on, 6 held out"));
  EXPECT_THAT(log_.text(), HasSubstr("eval: 6 of the 6 examples, in 2 batches of 4"));
  double right = 0, rows = 0;
  text::LineReader lines(dir_.file("m/model/predictions.jsonl"));
  for (std::string line; lines.next(line); ++rows) {
    const auto row = Json::parse(line);
    right += row["label"] == row["prediction"] ? 1 : 0;
    EXPECT_NEAR(
        row["probabilities"]["cats"].get<double>() + row["probabilities"]["dogs"].get<double>(), 1,
        1e-5);
    EXPECT_TRUE(row.contains("pair") == false);
  }
  EXPECT_EQ(rows, 6);
  EXPECT_NEAR(e.measure("accuracy").value, right / rows, 1e-6);
}

// The vocabulary lacks capitals, "?" and "\u0301".
TEST_F(ClassifyRun, WritesTheOriginalTextToPredictions) {
  std::string rows = "label\ttext\tpair\n";
  for (int i = 0; i < 8; ++i)
    rows += str(i % 2 == 0 ? "cats" : "dogs", "\tThe  Cafe\u0301 \u2013 w", 8 + i,
                " w9 w10 w11 w12?\tDog!\n");
  run("m", {"data.train=" + rows_file("u.tsv", rows), "data.pair=pair"});
  text::LineReader lines(dir_.file("m/model/predictions.jsonl"));
  std::string line;
  ASSERT_TRUE(lines.next(line));
  const auto row = Json::parse(line);
  EXPECT_THAT(row["text"].get<std::string>(), testing::StartsWith("The  Cafe\u0301 \u2013 w"));
  EXPECT_THAT(row["text"].get<std::string>(), testing::EndsWith(" w9 w10 w11 w12?"));
  EXPECT_EQ(row["pair"], "Dog!");
}

TEST_F(ClassifyRun, WritesTheOriginalTextToInferenceRows) {
  data::LabelledRow row{.text = "Cafe\u0301", .pair = {}, .label = {}};
  data::compose_texts(row);
  EXPECT_EQ(row.text, "Caf\u00e9");
  const OrderedJson json = row_prediction_json(
      row, false, {.problem = io::Problem::single_label, .names = {"a", "b"}}, {1, 0});
  EXPECT_EQ(json["text"], "Cafe\u0301");
}

TEST_F(ClassifyRun, DryRunRejectsRowsWithTheMessageOfTheRun) {
  const auto refused = [&](const std::string& rows, std::vector<std::string> settings) {
    settings.push_back("data.train=" + rows_file("bad.tsv", rows));
    const std::string message =
        error_of<UsageError>([&] { dry_run_text(recipe("dry", settings)); });
    EXPECT_EQ(message, error_of<UsageError>([&] { run("dry", settings); }));
    return message;
  };
  std::string latin1 = "label\ttext\n";
  for (int i = 0; i < 100; ++i) latin1 += i % 2 == 0 ? "cats\tcaf\xe9\n" : "dogs\tth\xe9\n";
  const std::string regression = "model.problem=regression";
  EXPECT_THAT(refused("label\ttext\n", {}), HasSubstr("holds no label"));
  EXPECT_THAT(refused("label\ttext\n", {regression}),
              HasSubstr("bad.tsv has no row to make an example of"));
  EXPECT_THAT(refused("", {regression}), HasSubstr("bad.tsv"));
  EXPECT_THAT(refused(latin1, {}), HasSubstr("the file is not UTF-8"));
}

TEST_F(ClassifyRun, TrainsOnAllRowsIfNoneAreHeldOut) {
  const std::vector<std::string> none{"data.validation_share=0"};
  run("m", none);
  EXPECT_THAT(log_.text(), HasSubstr("22 examples to train on, none held out"));
  EXPECT_FALSE(io::exists(dir_.file("m/data/heldout.tfrecord")));
  EXPECT_FALSE(io::exists(dir_.file("m/model/predictions.jsonl")));
  EXPECT_TRUE(io::exists(dir_.file("m/huggingface/model.safetensors")));
  EXPECT_THAT(error_of<UsageError>([&] { evaluate_model(recipe("m", none)); }),
              HasSubstr("no held-out examples: data.validation_share is 0"));
  EXPECT_EQ(evaluate_model(
                recipe("m", {none[0], "data.test=" + dir_.file("train.tsv"), "eval.split=test"}))
                .examples,
            22);
  EXPECT_THAT(refusal({none[0], "eval.every=1"}),
              HasSubstr("data.validation_share is 0, but eval"));
  EXPECT_THAT(refusal({"data.validation_share=1"}),
              HasSubstr("data.validation_share is 1, must be at least 0 and below 1"));
}

TEST_F(ClassifyRun, ResumesBitIdenticallyAndKeepsItsClasses) {
  run("whole");
  run("cut", {"train.steps=2"});
  run("cut");
  EXPECT_EQ(weights("cut"), weights("whole"));
  EXPECT_THAT(error_of<UsageError>([&] { run("cut", {"data.labels=dogs,cats", "train.steps=6"}); }),
              HasSubstr("labels"));
  EXPECT_THAT(error_of<UsageError>([&] { run("cut", {"model.dropout=0.3", "train.steps=6"}); }),
              HasSubstr("model.dropout 0.1, this run has 0.3"));
}

TEST_F(ClassifyRun, ResumesBitIdenticallyWithClassWeightsAndSmoothing) {
  const std::vector<std::string> weighted{"train.class_weights=1,4", "train.label_smoothing=0.1"};
  std::vector<std::string> spread = weighted, half = weighted;
  spread.insert(spread.end(),
                {"train.devices=2", "train.memory.layers=scan", "train.parallelism.mesh=fsdp=2"});
  run("whole", weighted);
  half.emplace_back("train.steps=2");
  run("cut", half);
  run("cut", weighted);
  EXPECT_EQ(weights("cut"), weights("whole"));
  run("plain");
  EXPECT_NE(weights("plain"), weights("whole"));
  half.insert(half.end(),
              {"train.devices=2", "train.memory.layers=scan", "train.parallelism.mesh=fsdp=2"});
  run("spread", spread);
  run("spread-cut", half);
  run("spread-cut", spread);
  EXPECT_EQ(weights("spread-cut"), weights("spread"));
  EXPECT_THAT(error_of<UsageError>([&] {
                run("cut",
                    {"train.class_weights=balanced", "train.label_smoothing=0.1", "train.steps=6"});
              }),
              HasSubstr("train.class_weights"));
}

TEST_F(ClassifyRun, RejectsClassWeightsThatDoNotMatchTheClasses) {
  EXPECT_THAT(refusal({"train.class_weights=1,2,3"}),
              HasSubstr("train.class_weights has 3 numbers, there are 2 classes: cats, dogs\n  "
                        "hint: give one number for each class, in this order"));
  EXPECT_THAT(refusal({"train.class_weights=1,-2"}),
              HasSubstr("--set: train.class_weights: '-2' is not a number above 0\n  hint: write "
                        "balanced, or a number for each class: 1,2.5,1"));
  EXPECT_THAT(refusal({"train.label_smoothing=1"}),
              HasSubstr("train.label_smoothing is 1, must be at least 0 and below 1"));
  EXPECT_THAT(refusal({"model.problem=multi_label", "train.class_weights=balanced"}),
              HasSubstr("train.class_weights and train.label_smoothing need model.problem "
                        "single_label or token_labels"));
}

TEST(ClassWeights, BalancedWeightsGiveAllClassesTheSameTotal) {
  const std::vector<std::string> names{"a", "b", "c"};
  EXPECT_EQ(class_weights_of("balanced", names, {80, 15, 5}),
            (std::vector<double>{100 / 240.0, 100 / 45.0, 100 / 15.0}));
  EXPECT_EQ(class_weights_of("balanced", names, {}), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(class_weights_of("1, 2.5,1", names, {80, 15, 5}), (std::vector<double>{1, 2.5, 1}));
  EXPECT_EQ(class_weights_of("", names, {80, 15, 5}), std::vector<double>());
}

TEST(NeverPredicted, NamesTheClassesWithTheirLabels) {
  EXPECT_EQ(
      never_predicted({{"a", 86}, {"b", 14}}, {{"a", 100}}),
      "never predicted: 'b' (the label of 14 of 100)\n  hint: more epochs or more examples of "
      "them help; so does --set train.class_weights=balanced, if it is not set yet");
  EXPECT_EQ(never_predicted({{"a", 86}, {"b", 14}}, {{"a", 99}, {"b", 1}}), "");
}

TEST_F(ClassifyRun, ReportsAClassThatIsNeverPredicted) {
  run("m", {"train.class_weights=1,1e6", "train.optimizer.learning_rate=1e-2",
            "train.schedule.warmup_steps=0"});
  EXPECT_THAT(log_.text(), HasSubstr("eval: never predicted: 'cats' (the label of 3 of 6)"));
}

TEST_F(ClassifyRun, FineTuningDefaultsToThreeEpochsOfALowRateWithWarmup) {
  io::write_file(dir_.file("plain.yaml"), str("data: {train: ", dir_.file("train.tsv"),
                                              ", seq_length: 8}\nmodel: {type: classify}\n"
                                              "train: {init_from: ",
                                              dir_.file("base"), ", batch_size: 4}\n"));
  const auto load = [&](const std::vector<std::string>& settings) {
    return load_recipe(dir_.file("plain.yaml"), settings).train;
  };
  EXPECT_EQ(load({}).epochs, 3);
  EXPECT_EQ(load({}).schedule.warmup_ratio, 0.1);
  EXPECT_EQ(load({}).optimizer.learning_rate, 3e-5);
  EXPECT_EQ(load({"train.steps=50"}).epochs, 0);
  EXPECT_EQ(load({"train.steps=50"}).schedule.warmup_steps, 5);
  EXPECT_EQ(load({"train.schedule.warmup_steps=7"}).schedule.warmup_steps, 7);
  EXPECT_EQ(load({"train.optimizer.learning_rate=1e-4"}).optimizer.learning_rate, 1e-4);
}

TEST_F(ClassifyRun, RejectsSwappedTrainingAndValidationFiles) {
  const std::string a = rows_file("a.tsv", io::read_file(dir_.file("train.tsv"))),
                    b = rows_file("b.tsv", io::read_file(a) + "dogs\tdog w9\tcat\n");
  run("m", {"data.train=" + a, "data.validation=" + b});
  const std::string before = io::read_file(dir_.file("m/data/train.tfrecord"));
  const auto refused = [&](const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { run("m", settings); });
  };
  EXPECT_THAT(refused({"data.train=" + b, "data.validation=" + a}),
              HasSubstr(str("contains a model of other data: data: the order of its files was ", a,
                            ", ", b, ", is ", b, ", ", a)));
  EXPECT_THAT(refused({"data.train=" + a, "data.validation=" + a}),
              HasSubstr("contains a model of other data: data"));
  EXPECT_EQ(io::read_file(dir_.file("m/data/train.tfrecord")), before);
}

TEST_F(ClassifyRun, ResumesBitIdenticallyWithBatchesByLength) {
  const std::vector<std::string> two{"data.lengths=4,6", "train.steps=2"},
      four{"data.lengths=4,6", "train.steps=4"};
  run("whole", four);
  run("cut", two);
  io::remove_file(dir_.file("cut/data/train.tfrecord.index"));
  run("cut", four);
  EXPECT_EQ(weights("cut"), weights("whole"));
  const auto state = checkpoint::checkpoint_state(dir_.file("cut/model/checkpoint-4"));
  EXPECT_EQ(state["data"]["lengths"].dump(), "[4,6,8]");
  EXPECT_THAT(error_of<UsageError>([&] { run("cut", {"data.lengths=one", "train.steps=6"}); }),
              HasSubstr("lengths"));
  EXPECT_THAT(refusal({"data.lengths=4,x"}),
              HasSubstr("data.lengths: 'x' is not a sequence length"));
}

TEST_F(ClassifyRun, ComputesStepsFromEpochs) {
  run("m", {"train.epochs=1.5", "train.schedule.warmup_ratio=0.5", "eval.every_epochs=0.75"});
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("m/model")), 6);  // 16 rows in batches of 4
  EXPECT_THAT(log_.text(), HasSubstr("valid/accuracy at step 3:"));
  const Recipe kept = recipe("m", {"train.epochs=1.5", "train.schedule.warmup_ratio=0.5"});
  EXPECT_EQ(kept.train.steps, 6);
  EXPECT_EQ(kept.train.schedule.warmup_steps, 3);
}

TEST_F(ClassifyRun, StopsEarlyAndUsesTheBestCheckpoint) {
  const std::vector<std::string> settings{"train.steps=40",
                                          "eval.every=1",
                                          "train.early_stopping.patience=2",
                                          "train.checkpoint.best_metric=accuracy",
                                          "train.optimizer.learning_rate=1e-20",
                                          "eval.best=true"};
  const execution::Evaluation e = run("m", settings);
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("m/model")), 3);
  EXPECT_EQ(e.global_step, 1);
  EXPECT_THAT(
      log_.text(),
      HasSubstr("train: 2 evaluations without a better accuracy: stopping early at step 3 of 40"));
  run("m", settings);
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("m/model")), 3);
  auto patient = settings;
  patient[2] = "train.early_stopping.patience=4";
  run("m", patient);
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("m/model")), 5);
}

// Regression, and multi_label.
TEST_F(ClassifyRun, LearnsRegressionAndMultiLabel) {
  std::string numbers = "text,label\n", several = "text\tlabel\n";
  for (int i = 0; i < 20; ++i) {
    numbers += str("cat w", 8 + i, ",", 200 + i / 4.0, "\n");
    several += str("cat w", 8 + i, "\t", i % 2 == 0 ? "red" : i % 3 == 0 ? "red, big" : "", "\n");
  }
  const execution::Evaluation n =
      run("n", {"data.train=" + rows_file("n.csv", numbers), "model.problem=regression"});
  EXPECT_EQ(n.measure("squared_error").weight, 6);
  const ReadPredictions read = read_predictions(dir_.file("n/model/predictions.jsonl"));
  const std::vector<std::size_t> all{0, 1, 2, 3, 4, 5};
  EXPECT_NEAR(n.measure("pearson").value,
              evaluation::metric_of("pearson", read.predictions, read.labels)(all), 1e-5);
  const auto said = Json::parse(io::read_file(dir_.file("n/data/train.tfrecord.json")));
  EXPECT_NEAR(said["mean_label"].get<double>(), 202.4, 1);
  const execution::Evaluation s =
      run("s", {"data.train=" + rows_file("s.tsv", several), "model.problem=multi_label"});
  EXPECT_EQ(s.measure("macro_f1").weight, 6);
  const auto stored = PretrainedModel::of_folder(dir_.file("n/huggingface"));
  EXPECT_TRUE(stored.classifier({}).job().labels.names.empty());
  EXPECT_THAT(
      PretrainedModel::of_folder(dir_.file("s/huggingface")).classifier({}).job().labels.names,
      ElementsAre("big", "red"));
}

TEST(ClassPredictions, KeepsClassNamesThatContainCommas) {
  const io::Labels labels{.problem = io::Problem::multi_label,
                          .names = {"lions, tigers", "bears", "x,y"}};
  const std::vector<float> numbers{0.9F, 0.1F, 0.5F};
  EXPECT_EQ(said_json(labels, numbers).dump(), R"(["lions, tigers","x,y"])");
  EXPECT_EQ(said_json(labels, std::vector<float>{0, 0, 0}).dump(), "[]");
  EXPECT_EQ(execution::said_label(labels, numbers), R"(["lions, tigers","x,y"])");
  const auto label = [&](const io::Labels& of, const std::string& text) {
    data::LabelledRow row{.text = "a", .pair = {}, .label = text};
    return row_prediction_json(row, true, of, numbers)["label"].dump();
  };
  EXPECT_EQ(label(labels, "x,y,bears"), R"(["x,y","bears"])");
  EXPECT_EQ(label(labels, R"(["x,y"])"), R"(["x,y"])");
  const io::Labels number{.problem = io::Problem::regression};
  EXPECT_EQ(label(number, "+1.5"), "1.5");
  EXPECT_EQ(label(number, ".5"), "0.5");
  EXPECT_EQ(label(number, "3"), "3");
}

std::string pairs_to_rerank() {
  std::string rows = "query\tdocument\tlabel\n";
  for (int i = 0; i < 24; ++i)
    rows += str("cat w", 8 + i / 4, "\tdog w", 8 + i % 4, "\t", i % 4 == 0 ? "1" : "0.25", "\n");
  return rows;
}

TEST_F(ClassifyRun, RerankerHoldsOutQueriesAndMeasuresTheOrderOfTheirDocuments) {
  const std::vector<std::string> rerank{"model.problem=rerank",
                                        "data.train=" + rows_file("q.tsv", pairs_to_rerank())};
  const execution::Evaluation e = run("m", rerank);
  EXPECT_EQ(e.examples, 8);  // 2 of 6 queries
  EXPECT_EQ(e.measure("ndcg_at_10").weight, 2);
  for (const char* name : {"accuracy", "average_precision", "ndcg_at_10", "mrr_at_10", "map"}) {
    EXPECT_GE(e.measure(name).value, 0) << name;
    EXPECT_LE(e.measure(name).value, 1) << name;
  }
  const ReadPredictions read = read_predictions(dir_.file("m/model/predictions.jsonl"));
  ASSERT_EQ(read.predictions.size(), 8);
  const std::vector<std::size_t> all{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_NEAR(e.measure("average_precision").value,
              evaluation::metric_of("average-precision", read.predictions, read.labels)(all), 1e-6);
  // The exported folder is a CrossEncoder with the same scores.
  const std::vector<execution::PairOfTexts> texts{{"cat w8", "dog w9"}, {"cat w10", "dog"}};
  const auto want = PretrainedModel::load(dir_.file("m")).classify(texts);
  PretrainedModel exported = PretrainedModel::load(dir_.file("m/huggingface"));
  EXPECT_EQ(exported.labels().problem, io::Problem::rerank);
  const auto got = exported.classify(texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_GT(want[i].outputs[0], 0);
    EXPECT_LT(want[i].outputs[0], 1);
    EXPECT_NEAR(got[i].outputs[0], want[i].outputs[0], 1e-6);
  }
  const Json config = Json::parse(io::read_file(dir_.file("m/huggingface/config.json")));
  EXPECT_EQ(config["sentence_transformers"]["activation_fn"],
            "torch.nn.modules.activation.Sigmoid");
  // Two devices give the same weights, and so does a resumed run.
  std::vector<std::string> part = rerank, devices = rerank;
  part.push_back("train.steps=2");
  run("cut", part);
  run("cut", rerank);
  EXPECT_TRUE(weights("cut") == weights("m"));
  devices.push_back("train.devices=2");
  EXPECT_NEAR(run("two", devices).measure("classification_loss").value,
              e.measure("classification_loss").value, 1e-5);
}

TEST_F(ClassifyRun, RerankerReadsRelevantAndOtherDocumentsOfARow) {
  std::string rows;
  for (int i = 0; i < 6; ++i)
    rows += str(R"({"query": "cat w)", 8 + i, R"(", "positive": "dog", "negative": ["w9", "w10"]})",
                "\n");
  const std::vector<std::string> rerank{
      "model.problem=rerank", "data.train=" + rows_file("q.jsonl", rows), "data.negative=negative"};
  EXPECT_EQ(run("m", rerank).examples, 6);  // 2 of 6 queries, with 3 documents each
  EXPECT_THAT(log_.text(), HasSubstr("12 examples to train on, 6 held out"));
  const ReadPredictions read = read_predictions(dir_.file("m/model/predictions.jsonl"));
  EXPECT_EQ(read.labels, (evaluation::JsonValues{1, 0, 0, 1, 0, 0}));
  // Fine-tuning keeps the head of a CrossEncoder that states no sigmoid.
  const std::string folder = dir_.file("m/huggingface");
  Json config = Json::parse(io::read_file(folder + "/config.json"));
  config["sentence_transformers"]["activation_fn"] = "torch.nn.modules.linear.Identity";
  io::write_file(folder + "/config.json", config.dump());
  std::vector<std::string> again = rerank;
  again.push_back("train.init_from=" + folder);
  const CapturedLog log;
  run("again", again);
  EXPECT_THAT(log.text(), Not(HasSubstr("output_weights")));
}

TEST_F(ClassifyRun, RejectsRerankersWithWrongSettingsAndLabels) {
  const std::string problem = "model.problem=rerank";
  EXPECT_THAT(
      refusal({problem,
               "data.train=" + rows_file("l.tsv", "query\tdocument\tlabel\na\tb\t3\nc\td\t3\n")}),
      HasSubstr(
          "l.tsv:2: label 3 must be between 0 (not relevant) and 1 (relevant)\n  hint: divide "
          "the labels by the largest one, or set model.problem to regression"));
  EXPECT_THAT(refusal({"data.negative=x"}),
              HasSubstr("data.negative is only for model.problem rerank\n  hint: set model.problem "
                        "to rerank"));
  EXPECT_THAT(
      refusal({problem, "data.both_orders=true"}),
      HasSubstr("data.both_orders is not for model.problem rerank, whose two texts differ in "
                "kind\n  hint: remove data.both_orders"));
  EXPECT_THAT(refusal({problem, "data.labels=a,b"}),
              HasSubstr("data.labels is set, but the problem has numbers instead of classes\n  "
                        "hint: leave data.labels empty"));
  EXPECT_THAT(refusal({problem, "data.negative=x", "data.label=y"}),
              HasSubstr("data.negative and data.label are both set\n  hint: name the column of the "
                        "labels, or the columns of the documents"));
  EXPECT_THAT(refusal({problem, "train.checkpoint.best_metric=map", "eval.every=2"}),
              HasSubstr("train.checkpoint.best_metric is map, which only the final evaluation "
                        "computes\n  hint: use accuracy or classification_loss"));
}

TEST_F(ClassifyRun, ReadsPairsAndPredictsTheSameFromExportedFolders) {
  run("m", {"data.pair=pair"});
  const std::vector<execution::PairOfTexts> texts{
      {"cat w9 w10 w11 w12 w13 w14 w15", "dog"}, {"dog", "cat w8"}, {"bird", ""}};
  auto by_recipe =
      PretrainedModel::of_recipe(recipe("m", {"data.pair=pair"})).classifier({.batch_size = 2});
  const auto want = by_recipe.classify(texts);
  EXPECT_EQ(by_recipe.cut(), 1u);
  const auto labelled = PretrainedModel::load(dir_.file("m")).classify(texts, {.batch_size = 2});
  EXPECT_EQ(labelled[1].outputs, want[1]);
  EXPECT_EQ(labelled[1].label, execution::said_label(by_recipe.job().labels, want[1]));
  EXPECT_EQ(labelled[1].probability, *std::ranges::max_element(want[1]));
  for (const char* folder : {"m/model", "m/huggingface"}) {
    auto stored = PretrainedModel::of_folder(dir_.file(folder)).classifier({});
    const auto got =
        stored.classify(std::vector<execution::PairOfTexts>{texts.begin() + 1, texts.end()});
    for (std::size_t i = 0; i < got.size(); ++i)
      for (std::size_t c = 0; c < got[i].size(); ++c)
        EXPECT_NEAR(got[i][c], want[i + 1][c], 1e-6) << folder << i;
  }
  EXPECT_THAT(io::read_file(dir_.file("m/model/predictions.jsonl")), HasSubstr("\"pair\":\""));
  // The exported folder can be fine-tuned again, because its head has the same classes.
  run("again", {"train.init_from=" + dir_.file("m/huggingface"), "train.steps=2"});
  EXPECT_THAT(log_.text(), HasSubstr("base: its head has other classes ([\"a\",\"b\",\"c\"])"));
  EXPECT_THAT(log_.text(), HasSubstr("  loaded      41\n"));
}

// Scanned layers on a mesh with gradient accumulation compute the same as one device, and resume
// with the same bits.
TEST_F(ClassifyRun, TrainsTheSameOnAMeshWithScannedLayers) {
  const double one = run("one", {"data.lengths=4,6"}).measure("classification_loss").value;
  for (const std::vector<std::string>& form :
       {std::vector<std::string>{"train.devices=2", "train.parallelism.mesh=data=1,fsdp=2",
                                 "train.memory.layers=scan", "train.memory.remat_policy=products",
                                 "data.lengths=4,6"},
        {"train.devices=2", "train.gradient_accumulation_steps=2", "data.lengths=4,6"}}) {
    EXPECT_NEAR(run(str("mesh", form.size()), form).measure("classification_loss").value, one,
                2e-5);
    auto half = form;
    half.push_back("train.steps=2");
    run("cut", half);
    run("cut", form);
    EXPECT_EQ(weights("cut"), weights(str("mesh", form.size())));
    io::remove_tree(dir_.file("cut"));
  }
}

TEST_F(ClassifyRun, FineTunesAnElectraWithLayerDecay) {
  GoldenClassify("electra").write_folder(dir_.file("electra"));
  run("e", {"train.init_from=" + dir_.file("electra"), "train.optimizer.layer_decay=0.5"});
  EXPECT_THAT(io::read_file(dir_.file("e/huggingface/config.json")),
              HasSubstr("ElectraForSequenceClassification"));
  const auto state = checkpoint::checkpoint_state(dir_.file("e/model/checkpoint-4"));
  const std::string rules = state["optimizer"]["rules"].dump();
  EXPECT_THAT(rules, HasSubstr("electra/embeddings"));
  EXPECT_THAT(rules, HasSubstr("0.0625"));  // two layers below the head: 0.5 ^ 4
}

TEST_F(ClassifyRun, PrintsSeedsAndSettingsInOneTable) {
  const TrialsSummary s = run_trials({.recipe = dir_.file("r.yaml"),
                                      .settings = {"out=" + dir_.file("t"), "train.steps=2"},
                                      .seeds = 1,
                                      .grid = {"train.optimizer.learning_rate=1e-4,1e-3"},
                                      .against = {},
                                      .against_fresh = true,
                                      .metric = "accuracy",
                                      .resample = {.samples = 20}});
  EXPECT_EQ(s.examples, 6u);
  ASSERT_EQ(s.trials.size(), 2u);
  EXPECT_EQ(s.trials[1].name, "learning_rate=1e-3");
  EXPECT_EQ(s.trials[1].scores.size(), 1u);
  EXPECT_EQ(s.margins.size(), 2u);
  EXPECT_THAT(trials_text(s), HasSubstr("accuracy of 6 held-out examples"));
  EXPECT_THAT(trials_text(s), HasSubstr("difference "));
  EXPECT_NEAR(s.margins[0].difference.value, s.trials[0].mean.value - s.against[0].mean.value,
              1e-9);
}

// Sentences in which the words w9 and w10 begin a place and the words after them are inside it.
std::string tagged_sentences() {
  std::string out;
  for (int i = 0; i < 20; ++i)
    out += str(i % 5 == 0 ? "-DOCSTART- -X- O\n\n" : "", "cat NN O\nw9 NN B-LOC\nw",
               i % 2 == 0 ? "10 NN I-LOC\n" : "20 NN O\n", i % 3 == 0 ? "dog NN O\n\n" : "\n\n");
  return out;
}

TEST_F(ClassifyRun, LabelsWordsAndScoresEntities) {
  const std::vector<std::string> settings{"data.train=" + rows_file("t.conll", tagged_sentences()),
                                          "model.problem=token_labels", "data.lengths=one"};
  const execution::Evaluation e = run("t", settings);
  EXPECT_EQ(e.examples, 6);
  double words = 0, rows = 0;
  evaluation::EntityCounts entities;
  text::LineReader lines(dir_.file("t/model/predictions.jsonl"));
  for (std::string line; lines.next(line); ++rows) {
    const auto row = Json::parse(line);
    const auto said = row["prediction"].get<std::vector<std::string>>(),
               label = row["label"].get<std::vector<std::string>>();
    EXPECT_EQ(row["words"].size(), label.size());
    EXPECT_EQ(row["words"][0], "cat");
    words += static_cast<double>(label.size());
    entities += evaluation::entity_counts(said, label);
  }
  EXPECT_EQ(rows, 6);
  EXPECT_EQ(e.measure("accuracy").weight, words);
  EXPECT_EQ(e.measure("entity_f1").value, entities.score().f1);
  EXPECT_EQ(e.measure("entity_f1").weight, 6);
  EXPECT_TRUE(e.measure("majority_accuracy").value > 0.4);
  // The same rows as arrays, on a mesh with scanned layers, and resumed.
  std::string arrays;
  data::LabelledRows conll(
      {.input = dir_.file("t.conll"), .text = "1", .label = "3", .words = true}, "t");
  for (data::LabelledRow row; conll.next(row);)
    arrays += Json{{"text", data::label_names(io::Problem::token_labels, row.text)},
                   {"label", data::label_names(io::Problem::token_labels, row.label)}}
                  .dump() +
              "\n";
  auto mesh = settings;
  mesh[0] = "data.train=" + rows_file("t.jsonl", arrays);
  for (const char* one :
       {"train.devices=2", "train.parallelism.mesh=data=1,fsdp=2", "train.memory.layers=scan"})
    mesh.emplace_back(one);
  auto two = mesh;
  two.emplace_back("train.steps=2");
  run("mesh", two);
  EXPECT_NEAR(run("mesh", mesh).measure("classification_loss").value,
              e.measure("classification_loss").value, 2e-5);
}

TEST_F(ClassifyRun, ExportedFoldersLabelTheSameWords) {
  GoldenClassify("electra").write_folder(dir_.file("electra"));
  for (const char* base : {"base", "electra"}) {
    const std::string out = str("t-", base);
    const std::vector<std::string> settings{
        "data.train=" + rows_file("t.conll", tagged_sentences()), "model.problem=token_labels",
        "train.init_from=" + dir_.file(base), "train.optimizer.layer_decay=0.8"};
    run(out, settings);
    auto by_recipe =
        PretrainedModel::of_recipe(recipe(out, settings)).classifier({.batch_size = 2});
    // [CLS], [SEP], and six of the seven words fit.
    const std::vector<execution::PairOfTexts> texts{
        {"cat w9 w10 w11 w12 dog cat"}, {"w9"}, {"dog  w9w10 "}};
    const auto want = by_recipe.classify(texts);
    const std::size_t C = by_recipe.job().labels.names.size();
    EXPECT_EQ(want[0].size(), 6 * C);
    EXPECT_EQ(want[2].size(), 2 * C);
    for (const char* folder : {"/model", "/huggingface"}) {
      auto stored = PretrainedModel::of_folder(dir_.file(out + folder)).classifier({});
      EXPECT_EQ(stored.job().labels.names, by_recipe.job().labels.names);
      const auto got = stored.classify(texts);
      ASSERT_EQ(got[1].size(), want[1].size());
      for (std::size_t i = 0; i < got[1].size(); ++i) EXPECT_NEAR(got[1][i], want[1][i], 1e-6);
    }
    PretrainedModel model = PretrainedModel::load(dir_.file(out));
    const auto labelled = model.token_labels({"cat w9 w10 w11 w12 dog cat", "w9", "dog  w9w10 "});
    EXPECT_EQ(labelled[0].size(), 6u);
    const TokenLabel& second = labelled[2].at(1);
    EXPECT_EQ(std::tuple(second.word, second.begin, second.end), std::tuple("w9w10", 5u, 10u));
    EXPECT_NEAR(second.probability,
                *std::max_element(want[2].end() - std::ssize(model.labels().names), want[2].end()),
                1e-6);
    EXPECT_THAT(
        error_of<UsageError>([&] { model.classify(texts); }),
        HasSubstr("classify(): the model's problem is \"token_labels\"\n  hint: call token"));
    run("again-" + out, {settings[0], settings[1], "train.steps=2",
                         "train.init_from=" + dir_.file(out + "/huggingface")});
    EXPECT_THAT(log_.text(),
                HasSubstr(str("  loaded      ", std::string(base) == "base" ? 39 : 41)));
  }
}

TEST_F(ClassifyRun, LabelsTruncatedWordsAsOutside) {
  const io::Labels labels{.problem = io::Problem::token_labels, .names = {"B-LOC", "I-LOC", "O"}};
  const std::vector<float> numbers{0.1F, 0.7F, 0.2F, 0.1F, 0.7F, 0.2F, 0, 0.25F, 0.75F};
  EXPECT_EQ(words_json(labels, {"New", "York", "is", "big"}, numbers).dump(),
            R"({"words":["New","York","is","big"],"prediction":["B-LOC","I-LOC","O","O"],)"
            R"("probabilities":[0.7,0.7,0.75,null],)"
            R"("entities":[{"type":"LOC","text":"New York","first":0,"last":1}]})");
}

TEST_F(ClassifyRun, RejectsInvalidSettings) {
  EXPECT_THAT(refusal({"model.problem=token_labels", "data.pair=pair"}),
              HasSubstr("data.pair cannot be set with model.problem token_labels"));
  EXPECT_THAT(refusal({"model.problem=token_labels"}),
              HasSubstr("train.tsv:2: 2 words and 1 label\n  hint: give each word one label"));
  EXPECT_THAT(refusal({"train.init_from="}),
              HasSubstr("train.init_from: no pre-trained model to fine-tune"));
  EXPECT_THAT(refusal({"data.train="}), HasSubstr("data.train: no labelled texts"));
  GoldenT5("small").write_folder(dir_.file("t5"));
  EXPECT_THAT(refusal({"train.init_from=" + dir_.file("t5")}),
              HasSubstr("t5: not an encoder model (BERT, ELECTRA, RoBERTa or ModernBERT)"));
  EXPECT_THAT(refusal({"data.label=kind"}), HasSubstr("train.tsv:1: no column 'kind'"));
  EXPECT_THAT(refusal({"data.seq_length=13"}),
              HasSubstr("data.seq_length 13 is longer than model.max_position_embeddings 12\n  "
                        "hint: add --set data.seq_length=12: the model of train.init_from has"));
  EXPECT_THAT(refusal({"data.validation=" + rows_file("v.tsv", "text\tlabel\ncat\tbirds\n")}),
              HasSubstr("v.tsv:2: label 'birds' is not one of the 2 classes of the training data"));
  EXPECT_THAT(refusal({"data.train=" + rows_file("f.tsv", "text\tlabel\na\t0.5\nb\t1\nc\t0.5\n")}),
              HasSubstr("holds numbers with fractions, such as 0.5, which are not classes\n  hint: "
                        "set model.problem to regression"));
  EXPECT_THAT(refusal({"data.train=" + rows_file("o.tsv", "text\tlabel\na\tx\nb\tx\n")}),
              HasSubstr("holds only one label, 'x'"));
  EXPECT_THAT(refusal({"model.problem=regression"}),
              HasSubstr("train.tsv:2: label 'cats' is not a number"));
  EXPECT_THAT(refusal({"eval.split=test"}),
              HasSubstr("eval.split is test, but data.test is not set"));
  EXPECT_THAT(refusal({"train.early_stopping.patience=2"}),
              HasSubstr("train.early_stopping.patience needs train.checkpoint.best_metric"));
}

TEST_F(ClassifyRun, RejectsAVocabularyWithMoreTokensThanEmbeddingRows) {
  const std::string vocab = dir_.file("base/vocab.txt"), lines = io::read_file(vocab);
  io::write_file(vocab, lines + "more\nwords\n");
  io::remove_file(dir_.file("base/tokenizer.json"));
  const auto refused = testing::AllOf(HasSubstr("vocab: " + vocab + " has "),
                                      HasSubstr(" rows of embeddings (vocab_size)"));
  EXPECT_THAT(refusal({}), refused);
  EXPECT_FALSE(io::exists(dir_.file("refused")));
  EXPECT_THAT(error_of<UsageError>([&] { (void)with_existing_size(recipe("refused")); }), refused);
}

TEST_F(ClassifyRun, FineTunesAFolderOfTransformers5) {
  const std::string lines = io::read_file(dir_.file("base/vocab.txt"));
  io::remove_file(dir_.file("base/vocab.txt"));
  EXPECT_EQ(given_vocabulary(recipe("m")), dir_.file("base/tokenizer.json"));
  run("m", {"train.steps=2"});
  EXPECT_EQ(io::read_file(dir_.file("m/vocab.txt")), lines);
}

TEST_F(ClassifyRun, SkipsAndReportsUnreadableRows) {
  run("m", {"data.max_bad=0.3",
            "data.train=" + rows_file("bad.tsv",
                                      "text\tlabel\ncat\ta\n \ta\ndog\tb\textra\ndog\tb\ncat\ta\n"
                                      "dog w8\tb\nbird\tonce\n")});
  EXPECT_THAT(log_.text(), HasSubstr("bad.tsv:3 (the text in 'text' is empty)"));
  EXPECT_THAT(log_.text(), HasSubstr("bad.tsv:4 (3 columns, but the first line has 2)"));
  EXPECT_THAT(log_.text(),
              HasSubstr("class 'once' has only one example, which is used for training"));
  EXPECT_THAT(refusal({"data.train=" + dir_.file("bad.tsv")}),
              HasSubstr("2 of 7 rows cannot be read; data.max_bad is 0.01"));
}

}  // namespace
}  // namespace smelt::pipeline
