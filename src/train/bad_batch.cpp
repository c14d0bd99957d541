#include "train/bad_batch.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "model/nn/state_names.h"

namespace smelt::train {
namespace {

constexpr std::string_view kFolder = "bad-batch-";
constexpr const char* kBadStep = "bad_step";

std::string batch_name(const io::Feature& feature) {
  return str(model::kRunPrefix, "batch/", feature.name);
}

void save_bad_batch(const std::string& folder, const BadBatch& bad, const io::Features& features,
                    const execution::HostState& before, Json settings) {
  io::TensorMap batch;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const data::HostArray& array = bad.batch.arrays[i];
    batch[batch_name(features[i])] = {array.shape, array.bytes};
  }
  checkpoint::SlicedTensors tensors = before.tensors;
  tensors.merge(checkpoint::slices_of(batch));
  settings[kBadStep] = {{"step", bad.step}, {"argument", bad.argument}};
  checkpoint::save_sliced_checkpoint(folder, bad.step - 1, tensors, settings);
}

bool is_bad(const GradientNorm& gradient) { return !std::isfinite(gradient.norm); }

}  // namespace

std::string bad_batch_folder(const std::string& model_dir, std::int64_t step) {
  return io::join_path(model_dir, str(kFolder, step));
}

std::string newest_bad_batch(const std::string& model_dir) {
  std::int64_t newest = 0;
  if (io::exists(model_dir))
    for (const std::string& name : io::list_folder(model_dir)) {
      if (!name.starts_with(kFolder)) continue;
      std::int64_t step = 0;
      const char* end = name.data() + name.size();
      const auto [read, error] = std::from_chars(name.data() + kFolder.size(), end, step);
      if (error == std::errc() && read == end) newest = std::max(newest, step);
    }
  if (newest == 0)
    throw UsageError(
        str("replay: ", model_dir, " contains no ", kFolder, "<step>"),
        "a run that stops at a non-finite step writes one there; to use another folder, "
        "pass --batch FOLDER");
  return bad_batch_folder(model_dir, newest);
}

BadBatch bad_batch_in(const execution::TrainedModel& model, const io::Features& features) {
  const checkpoint::SlicedCheckpoint& checkpoint = model.checkpoint;
  const auto refuse = [&](const std::string& what) {
    throw UsageError(str("replay: ", model.where, what), "pass the bad-batch folder of this model");
  };
  if (!checkpoint.state.contains(kBadStep)) refuse(" contains no batch");
  const Json& step = checkpoint.state[kBadStep];
  BadBatch out{.step = step.at("step"), .argument = step.at("argument"), .batch = {}};
  for (const io::Feature& feature : features) {
    const auto found = checkpoint.tensors.find(batch_name(feature));
    if (found == checkpoint.tensors.end()) refuse(str(": its batch has no ", feature.name));
    checkpoint::Scratch scratch;
    const auto [shape, data] = checkpoint::whole(found->second, scratch);
    const compiler::Dims row(shape.dims.begin() + 1, shape.dims.end());
    if (shape.dtype != feature.dtype || row != feature.row)
      refuse(str(": ", feature.name, " has shape ", shape, ", this model expects rows of ",
                 compiler::dims_text(feature.row)));
    out.batch.rows = shape.dims.front();
    out.batch.arrays.push_back({shape, {data.begin(), data.end()}});
  }
  return out;
}

std::int64_t GradientReport::not_finite() const { return std::ranges::count_if(of, is_bad); }

std::string GradientReport::first_not_finite() const {
  if (bad_value)
    return str("the first tensor that is not finite is ", *bad_value, ", before the step");
  const auto found = std::find_if(of.rbegin(), of.rend(), is_bad);
  if (found != of.rend())
    return str("the first non-finite tensor of the backward pass is the gradient of ",
               found->parameter, "; ", not_finite(), " of ", of.size(),
               " gradients are not finite");
  return std::isfinite(loss) && std::isfinite(norm) ? "all gradients are finite"
                                                    : "each single gradient is finite";
}

GradientReport gradient_report(const std::shared_ptr<const pjrt::Client>& client,
                               const model::StepProgram& program, const BadBatch& bad,
                               const execution::ModelState& state,
                               std::shared_ptr<const execution::ModelState> held) {
  const execution::CompiledStep step(client, program,
                                     execution::advice_for_training("train: a step", recipe_field),
                                     std::move(held));
  const pjrt::Execution execution = step.run(bad.batch, state, bad.argument);
  const auto figures = execution.results.front().back().to_host<float>();
  const std::vector<std::string>& names = program.report.figures;
  CHECK(figures.size() == names.size(), figures.size(), " figures for ", names.size());
  GradientReport out{.loss = figures[0], .norm = figures[1], .of = {}};
  for (std::size_t i = 2; i < figures.size(); ++i) out.of.push_back({names[i], figures[i]});
  return out;
}

static std::string look_into(const BadBatch& bad, const BadStepContext& place,
                             const model::StepProgram& program,
                             const execution::HostState& before) try {
  GradientReport report = gradient_report(place.client, program, bad, place.state, place.held);
  report.bad_value = smelt::execution::first_not_finite(before);
  return report.first_not_finite();
} catch (const Error& error) {
  return str("the search for the first non-finite tensor failed: ", error.what());
}

std::string diagnose_bad_batch(const std::string& folder, const BadBatch& bad,
                               const BadStepContext& place) try {
  const model::StepProgram program = place.program();
  const execution::HostState before = place.state.download();
  save_bad_batch(folder, bad, program.features, before, place.settings);
  return str(look_into(bad, place, program, before), "; its batch and the state before it are in ",
             folder);
} catch (const Error& error) {
  return str("its batch could not be saved: ", error.what());
}

}  // namespace smelt::train
