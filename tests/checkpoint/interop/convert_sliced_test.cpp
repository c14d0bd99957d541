// The conversion of a sliced checkpoint gives the same files as that of an unsliced one.
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/stored_model.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/formats/crc32c.h"
#include "support/captured_log.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

namespace fs = std::filesystem;

// Returns the tensors; each one with an even first dimension is split into two slices.
SlicedTensors halves_of(const io::TensorMap& tensors) {
  SlicedTensors out = slices_of(tensors);
  for (auto& [name, tensor] : out) {
    if (tensor.shape.dims[0] % 2 != 0) continue;
    const std::span<const std::byte> all = tensor.slices.front().part.data;
    compiler::Shape half = tensor.shape;
    half.dims[0] /= 2;
    compiler::Dims second(half.dims.size());
    second[0] = half.dims[0];
    tensor.slices = {{compiler::Dims(half.dims.size()), {half, all.first(half.size_bytes())}},
                     {second, {half, all.last(half.size_bytes())}}};
  }
  return out;
}

class ConvertSliced : public testing::Test {
 protected:
  // Saves the golden tiny BERT without slices in "run" and with halved tensors in "cut".
  void SetUp() override {
    const io::SafetensorsFile golden(
        io::read_file(source_path("tests/golden/bert_tiny.safetensors")), "bert_tiny");
    const auto facts = Json::parse(io::read_file(source_path("tests/golden/bert_tiny.json")));
    io::TensorMap tensors;
    for (const auto& [name, tensor] : golden.tensors())
      if (name.starts_with("param/"))
        for (const char* slot : {"", "/adam_m", "/adam_v"})
          tensors.emplace(name.substr(6) + slot, tensor);
    std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (int i = 5; i < 99; ++i) words += str("word", i, "\n");
    const Json state{
        {"task", "bert"}, {"model", facts["config"]}, {"vocabulary_crc32c", io::crc32c(words)}};
    save_checkpoint(dir_.file("run/model"), 10, tensors, state);
    save_sliced_checkpoint(dir_.file("cut/model"), 10, halves_of(tensors), state);
    for (const char* folder : {"run", "cut"})
      io::write_file(dir_.file(str(folder, "/vocab.txt")), words);
  }

  const CapturedLog log_;
  const TempDir dir_;
};

TEST_F(ConvertSliced, GivesTheSameBytesAsAWholeCheckpoint) {
  const auto convert = [&](const std::string& from, const std::string& to, ModelForm form) {
    convert_checkpoint(
        {.from = dir_.file(from + "/model"), .to = dir_.file(from + to), .form = form});
  };
  for (const char* from : {"run", "cut"}) {
    convert(from, "-tf/model.ckpt-10", ModelForm::tensorflow);
    convert(from, "-hf", ModelForm::hugging_face);
    convert(from, "-smelt", ModelForm::smelt);
  }
  std::size_t files = 0;
  for (const char* form : {"-tf", "-hf", "-smelt"})
    for (const auto& entry : fs::recursive_directory_iterator(dir_.file(str("run", form)))) {
      if (!entry.is_regular_file()) continue;
      const std::string name = fs::relative(entry.path(), dir_.path()).string().substr(3);
      EXPECT_EQ(io::read_file(dir_.file("cut" + name)), io::read_file(dir_.file("run" + name)))
          << name;
      ++files;
    }
  EXPECT_GT(files, 10u);
}

TEST_F(ConvertSliced, OpenedModelListsItsSlices) {
  const StoredModel whole = open_stored_model(dir_.file("run/model"), "open"),
                    cut = open_stored_model(dir_.file("cut/model"), "open");
  EXPECT_TRUE(whole.slices.empty());
  const std::string name = "bert/encoder/layer_0/output/dense/bias";
  const std::int64_t size = cut.tensors.at(name).shape.dims[0];
  EXPECT_EQ(cut.slices.at(name), (std::vector<std::string>{str("[0:", size / 2, "]"),
                                                           str("[", size / 2, ":", size, "]")}));
  ASSERT_EQ(cut.tensors.size(), whole.tensors.size());
  for (const auto& [tensor, lazy] : whole.tensors) {
    EXPECT_EQ(cut.tensors.at(tensor).shape, lazy.shape) << tensor;
    EXPECT_EQ(cut.tensors.at(tensor).read(), lazy.read()) << tensor;
  }
}

}  // namespace
}  // namespace smelt::checkpoint
