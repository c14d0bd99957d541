#include "runs/golden_t5.h"

#include <algorithm>

#include "format/config.h"
#include "store/file.h"
#include "support/paths.h"

namespace smelt {

GoldenT5::GoldenT5(std::string kind)
    : kind_(std::move(kind)),
      file_(read_file(source_path("tests/golden/t5_tiny.safetensors")), "t5_tiny.safetensors"),
      facts_(nlohmann::json::parse(read_file(source_path("tests/golden/t5_tiny.json")))[kind_]) {}

T5Task GoldenT5::settings() const {
  const auto length = [&](const char* name) {
    return file_.at(str(kind_, "/", name)).shape.dims[1];
  };
  return {.model = parse_config<T5Config>(facts_["config"], "t5_tiny.json"),
          .settings = {.z_loss = facts_["z_loss"]},
          .inputs_length = length("inputs"),
          .targets_length = length("targets")};
}

std::vector<float> GoldenT5::values(const std::string& name) const {
  return tensor_values<float>(file_.at(str(kind_, "/", name)));
}

TensorMap GoldenT5::state() const {
  const std::string prefix = kind_ + "/param/";
  TensorMap state;
  for (const auto& [name, view] : file_.tensors())
    if (name.starts_with(prefix)) state[name.substr(prefix.size())] = view;
  return state;
}

Batch GoldenT5::batch() const {
  Batch out;
  for (const char* name : {"inputs", "targets"}) {
    const TensorView& view = file_.at(str(kind_, "/", name));
    out.rows = view.shape.dims[0];
    out.arrays.push_back({view.shape, {view.data.begin(), view.data.end()}});
  }
  return out;
}

}  // namespace smelt
