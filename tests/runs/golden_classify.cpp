#include "runs/golden_classify.h"

#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "support/paths.h"

namespace smelt {
namespace {

constexpr std::int64_t kClasses = 3;

// Returns the part of the first output. The shape is [3, H], [H, 3] or [3].
std::vector<float> first_output(const io::TensorView& view) {
  const auto all = io::tensor_values<float>(view);
  const bool rows = view.shape.dims.front() == kClasses;
  std::vector<float> out;
  for (std::size_t i = 0; i < all.size() / kClasses; ++i)
    out.push_back(all[rows ? i : i * kClasses]);
  return out;
}

}  // namespace

GoldenClassify::GoldenClassify(std::string kind)
    : kind_(std::move(kind)),
      file_(io::read_file(source_path("tests/golden/classify_tiny.safetensors")),
            "classify_tiny.safetensors"),
      facts_(Json::parse(io::read_file(source_path("tests/golden/classify_tiny.json")))[kind_]) {}

model::ClassifyTask GoldenClassify::settings(io::Problem problem) const {
  if (of_tokens()) problem = io::Problem::token_labels;
  if (of_answers()) problem = io::Problem::answer_spans;
  model::ClassifyTask out{.encoder = model::parse_encoder(kind_.substr(0, kind_.find('-')),
                                                          facts_["config"], "classify_tiny.json"),
                          .seq_length = 12,
                          .labels = {.problem = problem, .names = {"a", "b", "c"}},
                          .dropout = 0};
  if (!out.labels.has_classes()) out.labels.names.clear();
  out.labels.no_answer = of_answers();
  return out;
}

std::vector<float> GoldenClassify::values(const std::string& name) const {
  return io::tensor_values<float>(file_.at(str(kind_, "/", name)));
}

io::TensorMap GoldenClassify::state(io::Problem problem) const {
  const std::string prefix = kind_ + "/param/";
  io::TensorMap state;
  for (const auto& [name, view] : file_.tensors())
    if (name.starts_with(prefix)) state[name.substr(prefix.size())] = view;
  if (problem != io::Problem::regression) return state;
  for (auto& [name, view] : state) {
    if (!name.starts_with("output_") && !name.starts_with("classifier/out_proj/")) continue;
    const auto& kept = first_outputs_.emplace_back(first_output(view));
    for (auto& dim : view.shape.dims)
      if (dim == kClasses) dim = 1;
    view.data = {reinterpret_cast<const std::byte*>(kept.data()), 4 * kept.size()};
  }
  return state;
}

data::Batch GoldenClassify::batch(io::Problem problem) const {
  const char* labels = problem == io::Problem::single_label  ? "label_ids"
                       : problem == io::Problem::multi_label ? "several"
                                                             : "numbers";
  std::vector<const char*> names{"input_ids", "input_mask", "segment_ids"};
  if (of_answers())
    names.insert(names.end(), {"start_positions", "end_positions"});
  else
    names.push_back(labels);
  data::Batch out;
  for (const char* name : names) {
    const io::TensorView& view = file_.at(str(kind_, "/", name));
    out.rows = view.shape.dims[0];
    out.arrays.push_back({view.shape, {view.data.begin(), view.data.end()}});
  }
  data::HostArray real{{compiler::DType::s32, {out.rows}}, std::vector<std::byte>(4 * 4)};
  std::ranges::fill(real.values<std::int32_t>(), 1);
  out.arrays.push_back(std::move(real));
  return out;
}

void GoldenClassify::write_folder(const std::string& folder) const {
  const model::ClassifyTask task = settings();
  checkpoint::HuggingFaceClassifier model{
      .encoder = task.encoder, .labels = task.labels, .dropout = 0, .folder = {}};
  model.folder.vocab_txt = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\ndog\nbird\n";
  for (std::int64_t i = 8; i < model::encoder_sizes(task.encoder).vocab_size; ++i)
    model.folder.vocab_txt += str("w", i, "\n");
  checkpoint::export_hugging_face(folder, std::move(model), checkpoint::lazy_tensors(state()), {});
}

}  // namespace smelt
