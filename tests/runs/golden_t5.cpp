#include "runs/golden_t5.h"

#include <algorithm>

#include "checkpoint/interop/hugging_face_t5.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "io/formats/config.h"
#include "support/paths.h"
#include "text/tokenizers/sentencepiece_trainer.h"

namespace smelt {

// kGoldenT5Pieces is the number of all pieces that these few words give.
std::string golden_t5_vocabulary() {
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i)
    texts.push_back(str("a bad bed, a dab ", i % 7 < 3 ? "cab" : "ebb"));
  std::size_t next = 0;
  return text::train_sentencepiece(
      [&](std::string& text) {
        if (next == texts.size()) return false;
        text = texts[next++];
        return true;
      },
      {.size = kGoldenT5Pieces});
}

GoldenT5::GoldenT5(std::string kind)
    : kind_(std::move(kind)),
      file_(io::read_file(source_path("tests/golden/t5_tiny.safetensors")), "t5_tiny.safetensors"),
      facts_(Json::parse(io::read_file(source_path("tests/golden/t5_tiny.json")))[kind_]) {}

model::T5Task GoldenT5::settings() const {
  const auto length = [&](const char* name) {
    return file_.at(str(kind_, "/", name)).shape.dims[1];
  };
  return {.model = io::parse_config<model::T5Config>(facts_["config"], "t5_tiny.json"),
          .settings = {.z_loss = facts_["z_loss"]},
          .inputs_length = length("inputs"),
          .targets_length = length("targets")};
}

std::vector<float> GoldenT5::values(const std::string& name) const {
  return io::tensor_values<float>(file_.at(str(kind_, "/", name)));
}

io::TensorMap GoldenT5::state() const {
  const std::string prefix = kind_ + "/param/";
  io::TensorMap state;
  for (const auto& [name, view] : file_.tensors())
    if (name.starts_with(prefix)) state[name.substr(prefix.size())] = view;
  return state;
}

void GoldenT5::write_folder(const std::string& folder) const {
  const TempDir dir;
  io::write_file(dir.file("vocab.model"), golden_t5_vocabulary());
  checkpoint::export_hugging_face_t5(folder, settings().model, dir.file("vocab.model"),
                                     kGoldenT5Sentinels, checkpoint::lazy_tensors(state()), {});
}

data::Batch GoldenT5::batch() const {
  data::Batch out;
  for (const char* name : {"inputs", "targets"}) {
    const io::TensorView& view = file_.at(str(kind_, "/", name));
    out.rows = view.shape.dims[0];
    out.arrays.push_back({view.shape, {view.data.begin(), view.data.end()}});
  }
  return out;
}

}  // namespace smelt
