// TensorFlow checkpoints: smelt reads those of TensorFlow, and writes the same bytes as TensorFlow.
#include "checkpoint/interop/tensorflow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string golden_bundle(const std::string& name) {
  return source_path("tests/golden/tensor_bundle/" + name);
}

template <class T>
std::vector<T> numbers_of(const io::LazyTensor& tensor) {
  const std::vector<std::byte> bytes = tensor.read();
  return io::tensor_values<T>({tensor.shape, bytes});
}

// A copy of the golden checkpoints that tests may damage.
class TensorflowFiles : public testing::Test {
 protected:
  TensorflowFiles() {
    fs::copy(source_path("tests/golden/tensor_bundle"), dir_.file("tf"));
    fs::permissions(dir_.file("tf"), fs::perms::owner_all);
  }
  std::string at(const std::string& name) const { return dir_.file("tf/" + name); }
  std::string refusal_of(const std::string& prefix) const {
    return error_of<UsageError>([&] {
      for (const auto& [name, tensor] : TensorflowCheckpoint(at(prefix)).tensors()) tensor.read();
    });
  }
  TempDir dir_;
};

TEST(Tensorflow, ReadsACheckpointWithAllTypes) {
  const TensorflowCheckpoint checkpoint(golden_bundle("types.ckpt"));
  const io::LazyTensors tensors = checkpoint.tensors();
  EXPECT_EQ(numbers_of<float>(tensors.at("bert/embeddings/word_embeddings")),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers_of<float>(tensors.at("scalar")), std::vector<float>{0.5F});
  EXPECT_EQ(numbers_of<float>(tensors.at("empty")), std::vector<float>());
  EXPECT_EQ(numbers_of<double>(tensors.at("f64")), (std::vector<double>{1. / 3, 2. / 3}));
  EXPECT_EQ(numbers_of<std::uint8_t>(tensors.at("bool")), (std::vector<std::uint8_t>{1, 0}));
  EXPECT_EQ(numbers_of<float>(as_dtype(tensors.at("bf16"), compiler::DType::f32)),
            (std::vector<float>{0.333984375F, 0.66796875F, 1}));
  EXPECT_EQ(numbers_of<float>(as_dtype(tensors.at("f16"), compiler::DType::f32)),
            (std::vector<float>{0.333251953125F, 0.66650390625F}));
  EXPECT_EQ(checkpoint.global_step(), std::int64_t{1} << 40);
  EXPECT_THAT(checkpoint.skipped(), ElementsAre("int8 (int8)", "words (string)"));
}

TEST(Tensorflow, JoinsPartitionedVariables) {
  const io::LazyTensors tensors = TensorflowCheckpoint(golden_bundle("parts.ckpt")).tensors();
  std::vector<float> whole(1200);
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<float>(i + 1);
  EXPECT_EQ(tensors.at("table").shape, (compiler::Shape{compiler::DType::f32, {4, 300}}));
  EXPECT_EQ(numbers_of<float>(tensors.at("table")), whole);
  EXPECT_EQ(numbers_of<float>(tensors.at("second/bias")), (std::vector<float>{1, 2}));
}

TEST_F(TensorflowFiles, DetectsEveryChangedByteOfTheData) {
  const std::string path = at("types.ckpt.data-00000-of-00001");
  const std::string good = io::read_file(path);
  const io::BundleEntry words = TensorflowCheckpoint(at("types.ckpt")).entries().at("words");
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (i >= words.offset && i < words.offset + words.size) continue;  // not read
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    io::write_file(path, bad);
    if (refusal_of("types.ckpt") != "no error")
      EXPECT_THAT(refusal_of("types.ckpt"), HasSubstr("is damaged: its crc32c is")) << i;
    else
      EXPECT_TRUE(TensorflowCheckpoint(at("types.ckpt")).entries().at("int8").offset <= i) << i;
  }
}

TEST_F(TensorflowFiles, ReportsMissingAndShortFiles) {
  fs::resize_file(at("parts.ckpt.data-00000-of-00002"), 2000);
  EXPECT_THAT(refusal_of("parts.ckpt"),
              AllOf(HasSubstr("parts.ckpt.data-00000-of-00002: ends at byte 2000, but '"),
                    HasSubstr("hint: copy or fetch the checkpoint again")));
  fs::remove(at("parts.ckpt.data-00001-of-00002"));
  EXPECT_THAT(refusal_of("parts.ckpt"),
              HasSubstr("parts.ckpt.data-00001-of-00002: missing file 2 of 2"));
  EXPECT_THAT(refusal_of("none.ckpt"), HasSubstr("none.ckpt.index: No such file"));
}

TEST_F(TensorflowFiles, FindsThePrefixForPathsIndexFilesAndFolders) {
  EXPECT_EQ(tensorflow_prefix(at("types.ckpt")), at("types.ckpt"));
  EXPECT_EQ(tensorflow_prefix(at("parts.ckpt.index")), at("parts.ckpt"));
  EXPECT_EQ(tensorflow_prefix(at("nothing")), std::nullopt);
  EXPECT_EQ(tensorflow_prefix(dir_.file("tf")), at("types.ckpt"));  // as the state file says
  io::write_file(at("checkpoint"), "model_checkpoint_path: \"/elsewhere/parts.ckpt\"\n");
  EXPECT_EQ(tensorflow_prefix(dir_.file("tf")), at("parts.ckpt"));
  // The bucket is not accessed; the file is found next to the state file.
  io::write_file(at("checkpoint"), "model_checkpoint_path: \"gs://someones-bucket/parts.ckpt\"\n");
  EXPECT_EQ(tensorflow_prefix(dir_.file("tf")), at("parts.ckpt"));
  io::write_file(at("checkpoint"), "model_checkpoint_path: \"gone.ckpt\"\n");
  EXPECT_THAT(error_of([&] { tensorflow_prefix(dir_.file("tf")); }),
              HasSubstr("checkpoint: names gone.ckpt, but there is no such .index file"));
  fs::remove(at("checkpoint"));
  EXPECT_THAT(error_of([&] { tensorflow_prefix(dir_.file("tf")); }),
              HasSubstr("holds 2 TensorFlow checkpoints, but no file `checkpoint`"));
  fs::remove(at("types.ckpt.index"));
  EXPECT_EQ(tensorflow_prefix(dir_.file("tf")), at("parts.ckpt"));
}

TEST_F(TensorflowFiles, ReportsAGitLfsPointer) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 9\n";
  io::write_file(at("types.ckpt.data-00000-of-00001"), pointer);
  EXPECT_THAT(
      error_of([&] { TensorflowCheckpoint(at("types.ckpt")); }),
      HasSubstr("types.ckpt.data-00000-of-00001: is a Git LFS pointer, not the file itself\n"
                "  hint: download it: git lfs pull"));
  io::write_file(at("types.ckpt.index"), pointer);
  EXPECT_THAT(error_of([&] { TensorflowCheckpoint(at("types.ckpt")); }),
              HasSubstr("types.ckpt.index: is a Git LFS pointer"));
}

TEST_F(TensorflowFiles, StateFileAppendsNewNames) {
  note_tensorflow_checkpoint(at("model.ckpt-7"));
  note_tensorflow_checkpoint(at("types.ckpt"));
  EXPECT_EQ(io::read_file(at("checkpoint")),
            "model_checkpoint_path: \"types.ckpt\"\n"
            "all_model_checkpoint_paths: \"an \\\"old\\\" one\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-7\"\n"
            "all_model_checkpoint_paths: \"types.ckpt\"\n");
}

TEST_F(TensorflowFiles, LoadsOnlyParametersForARun) {
  io::write_file(at("vocab.txt"), "[PAD]\nthe\n");
  const PretrainedWeights given = load_weights(at("types.ckpt"));
  EXPECT_EQ(given.step, std::int64_t{1} << 40);
  EXPECT_EQ(given.vocab_txt, "[PAD]\nthe\n");
  std::vector<std::string> names;
  for (const auto& [name, tensor] : given.parameters) {
    names.push_back(name);
    EXPECT_EQ(tensor.shape.dtype, compiler::DType::f32) << name;
  }
  EXPECT_THAT(names, ElementsAre("bert/embeddings/word_embeddings", "bf16", "empty", "f16", "f64",
                                 "scalar"));
  check_weights_folder(dir_.file("tf"));
}

// Keras saves object graphs, whose tensors do not have the names of variables.
TEST_F(TensorflowFiles, RejectsObjectGraphs) {
  io::LazyTensors tensors;
  tensors.emplace(
      "layer/kernel/.ATTRIBUTES/VARIABLE_VALUE",
      io::LazyTensor{{compiler::DType::f32, {}}, [] { return std::vector<std::byte>(4); }});
  tensors.emplace("_CHECKPOINTABLE_OBJECT_GRAPH", io::LazyTensor{{compiler::DType::u8, {}}, [] {
                                                                   return std::vector<std::byte>(1);
                                                                 }});
  write_tensorflow_checkpoint(at("keras"), tensors);
  EXPECT_THAT(error_of([&] { load_weights(at("keras")); }),
              HasSubstr("keras was saved by tf.train.Checkpoint or Keras"));
}

// TensorFlow restores a checkpoint of smelt and saves it again with the same index and data bytes.
TEST(Tensorflow, ReadsSmeltsCheckpointsAndWritesTheSameBytes) {
  REQUIRE_ORACLE();
  const TempDir dir;
  io::LazyTensors tensors = TensorflowCheckpoint(golden_bundle("types.ckpt")).tensors();
  tensors.merge(TensorflowCheckpoint(golden_bundle("parts.ckpt")).tensors());
  io::LazyTensors many;  // enough for an index of several blocks
  for (int i = 0; i < 9000; ++i)
    many.emplace(
        str("bert/encoder/layer_", i / 16, "/attention/self/query/kernel_", i),
        io::LazyTensor{{compiler::DType::s32, {1}}, [] { return std::vector<std::byte>(4); }});
  for (const auto& [name, what] :
       {std::pair<const char*, const io::LazyTensors*>{"few", &tensors}, {"many", &many}}) {
    const std::string prefix = dir.file(str(name, "/model.ckpt-5"));
    const std::string again = dir.file(str(name, "/again"));
    write_tensorflow_checkpoint(prefix, *what);
    note_tensorflow_checkpoint(prefix);
    const CommandOutput out =
        run_oracle(str(source_path("tools/check_tf_checkpoint.py"), " ", prefix, " ", again));
    ASSERT_EQ(out.status, 0) << out.text;
    EXPECT_THAT(out.text, HasSubstr("latest model.ckpt-5\n"));
    for (const char* suffix : {".index", ".data-00000-of-00001"})
      EXPECT_TRUE(io::read_file(prefix + suffix) == io::read_file(again + suffix))
          << name << suffix;
    if (what != &tensors) continue;
    EXPECT_THAT(out.text, HasSubstr("table float32 [4, 300] sum 720600\n"));
    EXPECT_THAT(out.text, HasSubstr("global_step int64 [] sum 1.09951163e+12\n"));
  }
}

}  // namespace
}  // namespace smelt::checkpoint
