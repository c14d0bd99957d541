// The files of a recipe that are uploaded for a job, and the recipe that the machine runs.
#include "cli/cloud/job_recipe.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsSupersetOf;

class JobRecipe : public testing::Test {
 protected:
  StagedRecipe staged(const std::vector<std::string>& more) const {
    std::vector<std::string> settings{"out=" + dir_.file("out"),
                                      "text.input=" + dir_.file("a.txt")};
    settings.insert(settings.end(), more.begin(), more.end());
    io::write_file(dir_.file("r.yaml"), "model: {hidden_size: 12}\n");
    return staged_recipe(pipeline::load_recipe(dir_.file("r.yaml"), settings), "gs://b/job");
  }
  static std::vector<std::string> there(const StagedRecipe& staged) {
    std::vector<std::string> out;
    for (const StagedFile& file : staged.files) out.push_back(file.to);
    return out;
  }
  void write(const std::string& name, const std::string& text = "x") const {
    io::make_folders(io::parent_path(dir_.file(name)));
    io::write_file(dir_.file(name), text);
  }

  TempDir dir_;
};

TEST_F(JobRecipe, UploadsTheTokenizerSettingsWithAVocabulary) {
  write("a.txt");
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  write("tokenizer_config.json", R"({"do_lower_case": false})");
  const StagedRecipe out = staged({"vocab.file=" + dir_.file("vocab.txt")});
  EXPECT_THAT(there(out), IsSupersetOf({"gs://b/job/input/vocab.file/vocab.txt",
                                        "gs://b/job/input/vocab.file/tokenizer_config.json",
                                        "gs://b/job/input/text.input/a.txt"}));
  EXPECT_THAT(out.text, HasSubstr("file: \"gs://b/job/input/vocab.file/vocab.txt\"\n"));
}

TEST_F(JobRecipe, RejectsADeviceCountOtherThanThatOfTheMachine) {
  write("a.txt");
  const cost_model::Accelerator type = cost_model::creatable_tpu("--type", "v4-8");
  io::write_file(dir_.file("r.yaml"), "text: {input: a.txt}\n");
  const auto said = [&](int devices) {
    return judge_recipe(dir_.file("r.yaml"),
                        {"text.input=" + dir_.file("gone.txt"), "train.device=tpu",
                         str("train.devices=", devices)},
                        &type)
        .check;
  };
  EXPECT_EQ(said(8).said, "train.devices: 8: a v4-8 has 4 devices");
  EXPECT_THAT(said(8).remedy, HasSubstr("--set train.devices=4"));
  EXPECT_THAT(said(4).said, HasSubstr("gone.txt"));  // the next error
}

// A job deletes everything in its upload folder that it has not uploaded itself.
TEST_F(JobRecipe, RejectsInputsInsideItsUploadFolder) {
  write("a.txt");
  EXPECT_THAT(
      error_of<UsageError>([&] { staged({"train.init_from=gs://anonymous@b/job/input/bert"}); }),
      HasSubstr("train.init_from: gs://anonymous@b/job/input/bert is in gs://b/job/input, "
                "where the job deletes all files that it has not uploaded\n  hint: use another"));
}

TEST_F(JobRecipe, ReplacesPatternCharactersInUploadedNames) {
  write("wiki [part 1].txt");
  write("deep/wiki [part 1].txt");
  write("index.html?lang=en");
  const StagedRecipe out = staged(
      {"text.input=" + dir_.file("wiki*") + "," + dir_.file("deep/*") + "," + dir_.file("index*")});
  EXPECT_THAT(there(out), testing::ElementsAre("gs://b/job/input/text.input/wiki _part 1_.txt",
                                               "gs://b/job/input/text.input/2-wiki _part 1_.txt",
                                               "gs://b/job/input/text.input/index.html_lang=en"));
}

TEST_F(JobRecipe, RejectsTwoFilesWithTheSameUploadedName) {
  write("a.txt");
  for (const char* name :
       {"m.ckpt.index", "m.ckpt.data-00000-of-00001", "x,config.json", "x_config.json"})
    write(str("tf/", name));
  EXPECT_THAT(
      error_of<UsageError>([&] { staged({"train.init_from=" + dir_.file("tf/m.ckpt")}); }),
      AllOf(HasSubstr("tf/x_config.json would both become gs://b/job/input/train.init_from/"),
            HasSubstr("x_config.json\n  hint: rename one of them")));
}

TEST_F(JobRecipe, RejectsPatternCharactersInTheOutputFolder) {
  write("a.txt");
  EXPECT_THAT(error_of<UsageError>([&] { staged({"out=" + dir_.file("exp[1]")}); }),
              HasSubstr("exp[1]': must not contain a comma, *, ? or [, which form a file pattern"));
}

// Other files in the checkpoint's folder, such as keys, must not be uploaded.
TEST_F(JobRecipe, UploadsOnlyTheFilesOfATensorFlowCheckpoint) {
  write("a.txt");
  for (const char* name : {"w/bert_model.ckpt.index", "w/bert_model.ckpt.data-00000-of-00001",
                           "w/bert_config.json", "w/key.pem", "w/other.ckpt.index"})
    write(name);
  write("w/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  const StagedRecipe out = staged({"train.init_from=" + dir_.file("w/bert_model.ckpt")});
  EXPECT_THAT(there(out),
              testing::UnorderedElementsAre(
                  "gs://b/job/input/text.input/a.txt", "gs://b/job/input/vocab.file/vocab.txt",
                  "gs://b/job/input/train.init_from/bert_model.ckpt.index",
                  "gs://b/job/input/train.init_from/bert_model.ckpt.data-00000-of-00001",
                  "gs://b/job/input/train.init_from/bert_config.json"));
  EXPECT_THAT(out.text,
              HasSubstr("init_from: \"gs://b/job/input/train.init_from/bert_model.ckpt\"\n"));
}

TEST_F(JobRecipe, UploadsOnlyOneWeightFormatOfAHuggingFaceFolder) {
  write("a.txt");
  write("w/config.json", R"({"model_type": "bert"})");
  write("w/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  for (const char* name :
       {"w/model.safetensors", "w/pytorch_model.bin", "w/flax_model.msgpack", "w/key.pem",
        "w/.git/config", "w/.cache/huggingface/x", "w/onnx/model.onnx", "w/tokenizer.json"})
    write(name);
  EXPECT_THAT(there(staged({"train.init_from=" + dir_.file("w")})),
              testing::UnorderedElementsAre("gs://b/job/input/text.input/a.txt",
                                            "gs://b/job/input/vocab.file/vocab.txt",
                                            "gs://b/job/input/train.init_from/config.json",
                                            "gs://b/job/input/train.init_from/model.safetensors",
                                            "gs://b/job/input/train.init_from/tokenizer.json",
                                            "gs://b/job/input/train.init_from/vocab.txt"));
}

TEST_F(JobRecipe, UploadsOnlyTheNewestCheckpointOfAModelFolder) {
  write("a.txt");
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  for (const char* name :
       {"w/checkpoint-5/COMMIT", "w/checkpoint-9/COMMIT", "w/checkpoint-9/manifest.json",
        "w/checkpoint-9/tensors-00000-of-00001.safetensors", "w/checkpoint-9/.aws", "w/key.pem",
        "w/bert_config.json", "w/notes/x"})
    write(name);
  EXPECT_THAT(
      there(staged({"train.init_from=" + dir_.file("w"), "vocab.file=" + dir_.file("vocab.txt")})),
      testing::UnorderedElementsAre(
          "gs://b/job/input/text.input/a.txt", "gs://b/job/input/vocab.file/vocab.txt",
          "gs://b/job/input/train.init_from/bert_config.json",
          "gs://b/job/input/train.init_from/checkpoint-9/COMMIT",
          "gs://b/job/input/train.init_from/checkpoint-9/manifest.json",
          "gs://b/job/input/train.init_from/checkpoint-9/tensors-00000-of-00001.safetensors"));
}

}  // namespace
}  // namespace smelt::cli
