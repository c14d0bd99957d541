// Tests of the section distill of a recipe: a student resumes with the same bits, its folder
// contains nothing of the teacher, and unsuitable teachers are rejected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/interop/hugging_face.h"
#include "checkpoint/interop/hugging_face_electra.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "model/tasks/electra_task.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/small_recipe.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "runs/golden_classify.h"
#include "runs/golden_electra.h"
#include "runs/state_values.h"
#include "support/error_of.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class DistilledRun : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    GoldenClassify("bert").write_folder(dir_.file("base"));
    GoldenClassify("electra").write_folder(dir_.file("teacher"));
    std::string rows = "label\ttext\n";
    for (int i = 0; i < 30; ++i)
      rows += str(std::string(1, static_cast<char>('a' + i % 3)), "\tcat w", 8 + i % 7, "\n");
    io::write_file(dir_.file("train.tsv"), rows);
    io::write_file(
        dir_.file("r.yaml"),
        str("data: {train: ", dir_.file("train.tsv"), ", seq_length: 8, validation_share: 0.3}\n",
            "model: {type: classify}\ntrain: {init_from: ", dir_.file("base"),
            ", batch_size: 4, steps: 4, optimizer.learning_rate: 1e-4, schedule.warmup_steps: 100, "
            "checkpoint.save_interval_steps: 2, logging_steps: 4, devices: 2, memory.layers: scan, "
            "gradient_accumulation_steps: 2}\neval: {batch_size: 4}\ndistill: {teacher: ",
            dir_.file("teacher"), ", hidden: 0.1, attention: 0.1}\n"));
  }
  Recipe recipe(const std::string& out, std::vector<std::string> settings = {}) const {
    settings.push_back("out=" + dir_.file(out));
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  void run(const std::string& out, const std::vector<std::string>& settings = {}) const {
    run_recipe(recipe(out, settings));
  }
  std::string refusal(const std::vector<std::string>& settings) const {
    return error_of<UsageError>([&] { run("refused", settings); });
  }
  std::string weights(const std::string& out) const {
    return stored_values(dir_.file(out + "/model"), 4);
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(DistilledRun, ResumesBitIdenticallyAndStoresNothingOfTheTeacher) {
  const std::string before = io::read_file(dir_.file("teacher/model.safetensors"));
  run("whole");
  EXPECT_THAT(io::read_file(dir_.file("whole/model/metrics.jsonl")), HasSubstr("kd_loss"));
  run("cut", {"train.steps=2"});
  run("cut");
  EXPECT_EQ(weights("cut"), weights("whole"));
  run("alone", {"distill.teacher="});
  EXPECT_NE(weights("alone"), weights("whole"));
  EXPECT_EQ(checkpoint::load_checkpoint(dir_.file("whole/model"), 4).tensors.size(),
            checkpoint::load_checkpoint(dir_.file("alone/model"), 4).tensors.size());
  EXPECT_EQ(io::read_file(dir_.file("teacher/model.safetensors")), before);
  EXPECT_THAT(error_of<UsageError>([&] { run("cut", {"distill.kd=0.5", "train.steps=6"}); }),
              HasSubstr("distill.kd 0.9, this run has 0.5"));
  EXPECT_THAT(error_of<UsageError>([&] { run("cut", {"distill.teacher=", "train.steps=6"}); }),
              HasSubstr("was trained with a teacher, this run has none"));
  EXPECT_THAT(error_of<UsageError>([&] {
                run("alone", {"train.steps=6", "distill.teacher=" + dir_.file("teacher")});
              }),
              HasSubstr("was trained without a teacher, this run has one"));
  // A finished run must keep its teacher, too, at any path.
  EXPECT_THAT(error_of<UsageError>([&] { run("cut", {"distill.teacher=" + dir_.file("base")}); }),
              HasSubstr("distill.teacher"));
  EXPECT_THAT(error_of<UsageError>([&] { run("cut", {"distill.teacher="}); }),
              HasSubstr("was trained with a teacher, this run has none"));
  EXPECT_THAT(
      error_of<UsageError>([&] { run("alone", {"distill.teacher=" + dir_.file("teacher")}); }),
      HasSubstr("was trained without a teacher, this run has one"));
  // The teacher is moved, then replaced, then deleted.
  std::filesystem::rename(dir_.file("teacher"), dir_.file("moved"));
  run("cut", {"distill.teacher=" + dir_.file("moved")});
  EXPECT_THAT(error_of<UsageError>(
                  [&] { run("cut", {"distill.teacher=" + dir_.file("base"), "train.steps=6"}); }),
              HasSubstr("distill.teacher"));
  EXPECT_EQ(evaluate_model(recipe("cut")).examples, 9);
  EXPECT_THAT(error_of<UsageError>([&] { run("cut", {"train.steps=6"}); }),
              HasSubstr("distill.teacher"));
}

// The teacher may be deleted after the recipe was checked.
TEST_F(DistilledRun, OpensItsTeacherOnce) {
  const Recipe r = recipe("once", {"train.steps=1"});
  std::filesystem::remove_all(dir_.file("teacher"));
  run_recipe(r);
  EXPECT_THAT(io::read_file(dir_.file("once/model/metrics.jsonl")), HasSubstr("kd_loss"));
}

TEST_F(DistilledRun, RejectsUnsuitableTeachers) {
  EXPECT_THAT(refusal({"data.labels=a,c,b"}),
              HasSubstr(R"(has labels ["a","b","c"], the student ["a","c","b"])"));
  EXPECT_THAT(refusal({"distill.layers=0:9"}), HasSubstr("'9' is not a layer of the teacher"));
  std::string words = io::read_file(dir_.file("teacher/vocab.txt"));
  words.replace(words.find("bird"), 4, "fish");
  io::write_file(dir_.file("teacher/vocab.txt"), words);
  EXPECT_THAT(refusal({}), HasSubstr("row 7 is 'fish' instead of 'bird'"));
  EXPECT_THAT(refusal({"distill.teacher=" + dir_.file("nowhere")}), HasSubstr("nowhere"));
}

TEST_F(DistilledRun, RejectsAnElectraGeneratorAsTeacher) {
  const GoldenElectra golden("electra");
  checkpoint::ModelFolder model;
  model.parameters = golden.state();
  for (std::int64_t i = 0; i < golden.settings().model.vocab_size; ++i)
    model.vocab_txt += i == 0   ? "[PAD]\n"
                       : i == 1 ? "[UNK]\n"
                       : i == 2 ? "[CLS]\n"
                       : i == 3 ? "[SEP]\n"
                       : i == 4 ? "[MASK]\n"
                                : str("w", i, "\n");
  checkpoint::export_hugging_face(
      dir_.file("g"), checkpoint::electra_generator_part(golden.settings().model), model);
  EXPECT_THAT(refusal({"distill.teacher=" + dir_.file("g")}),
              HasSubstr("is the generator of an ELECTRA"));
  checkpoint::export_hugging_face(
      dir_.file("d"), checkpoint::electra_discriminator(golden.settings().model), model);
  EXPECT_THAT(refusal({"distill.teacher=" + dir_.file("d")}),
              HasSubstr("has no classification head"));
}

class DistilledBert : public SmallRecipe {
 protected:
  // A student of the teacher m.
  void run_student(const std::string& out, std::vector<std::string> settings) const {
    settings.insert(settings.begin(),
                    {"out=" + dir_.file(out), "vocab.file=" + dir_.file("m/vocab.txt"),
                     "distill.teacher=" + dir_.file("m")});
    run_recipe(load_recipe(dir_.file("r.yaml"), settings));
  }
};

TEST_F(DistilledBert, DistillsALargeBertIntoASmallOne) {
  run_recipe(recipe({"eval.every=0"}));
  const std::vector<std::string> student{"out=" + dir_.file("small"),
                                         "vocab.file=" + dir_.file("m/vocab.txt"),
                                         "distill.teacher=" + dir_.file("m"),
                                         "model.intermediate_size=8",
                                         "distill.ce=2",
                                         "distill.kd=5",
                                         "distill.cosine=1"};
  run_recipe(load_recipe(dir_.file("r.yaml"), student));
  EXPECT_THAT(io::read_file(dir_.file("small/model/metrics.jsonl")), HasSubstr("cosine_loss"));
  EXPECT_EQ(
      checkpoint::import_hugging_face(dir_.file("small/huggingface")).config["intermediate_size"],
      8);
  auto others = student;
  others[1] = "vocab.size=58";
  others[0] = "out=" + dir_.file("other");
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(load_recipe(dir_.file("r.yaml"), others)); }),
              AnyOf(HasSubstr("the student 58"), HasSubstr("has another vocabulary than")));
}

// The projection of a narrower student's hidden states belongs to the run, not to the model.
TEST_F(DistilledBert, ResumesAndExportsAStudentOfAnotherWidth) {
  run_recipe(recipe({"eval.every=0"}));
  std::vector<std::string> narrow{"model.hidden_size=4", "distill.hidden=1",
                                  "train.memory.layers=scan"};
  run_student("whole", narrow);
  run_student("cut", {"model.hidden_size=4", "distill.hidden=1", "train.memory.layers=scan",
                      "train.steps=1"});
  run_student("cut", narrow);
  EXPECT_EQ(stored_values(dir_.file("cut/model"), 2), stored_values(dir_.file("whole/model"), 2));
  EXPECT_TRUE(checkpoint::load_checkpoint(dir_.file("whole/model"), 2)
                  .tensors.contains("distill/hidden_0/kernel"));
  EXPECT_EQ(checkpoint::import_hugging_face(dir_.file("cut/huggingface")).config["hidden_size"], 4);
  EXPECT_THAT(io::read_file(dir_.file("cut/huggingface/model.safetensors")),
              Not(HasSubstr("distill")));
}

}  // namespace
}  // namespace smelt::pipeline
