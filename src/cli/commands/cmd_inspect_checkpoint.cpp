#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <set>

#include "base/json.h"
#include "base/plural.h"
#include "checkpoint/interop/stored_model.h"
#include "checkpoint/storage/lazy_files.h"
#include "checkpoint/storage/parameter_names.h"
#include "cli/commands/commands.h"
#include "execution/train_state/parameter_scales.h"
#include "model/nn/state_names.h"

namespace smelt::cli {
namespace {

struct InspectedTensor {
  std::string name;
  compiler::Shape shape;
  double rms = 0;
  std::string fault = {};                // read error; empty: none
  std::vector<std::string> slices = {};  // slices of a partitioned tensor; empty: not partitioned
};

struct InspectedModel {
  checkpoint::StoredModel model;
  std::vector<InspectedTensor> tensors;
  std::int64_t parameters = 0, slot_numbers = 0;  // number of elements
  std::set<std::string> slots;                    // names such as "adam_m"
  std::size_t damaged = 0;
};

double rms_of(const io::LazyTensor& tensor) {
  const std::vector<std::byte> bytes = checkpoint::as_dtype(tensor, compiler::DType::f64).read();
  const std::span values(reinterpret_cast<const double*>(bytes.data()),
                         bytes.size() / sizeof(double));
  return execution::root_mean_square(values);
}

InspectedModel inspect_model(const std::string& path) {
  InspectedModel out;
  out.model = checkpoint::open_stored_model(path, "inspect", true);
  for (const auto& [name, tensor] : out.model.tensors) {
    InspectedTensor found{.name = name, .shape = tensor.shape};
    if (const auto in = out.model.slices.find(name); in != out.model.slices.end())
      found.slices = in->second;
    try {
      found.rms = rms_of(tensor);
    } catch (const UsageError& error) {
      found.fault = error.what();
      ++out.damaged;
    }
    const bool slot = checkpoint::is_slot(name, out.model.tensors);
    if (slot)
      out.slots.insert(name.starts_with(model::kAveragePrefix) ? "averages"
                                                               : name.substr(name.rfind('/') + 1));
    (slot ? out.slot_numbers : out.parameters) += tensor.shape.elements();
    out.tensors.push_back(std::move(found));
  }
  return out;
}

std::string damaged_text(const InspectedModel& m, const std::string& where) {
  return str(counted(m.damaged, "tensor"), where, m.damaged == 1 ? " is" : " are", " damaged");
}

std::string checksums(const InspectedModel& m) {
  if (m.model.form == checkpoint::ModelForm::hugging_face) return "none in this form";
  return m.damaged == 0 ? "hold" : damaged_text(m, "");
}

OrderedJson model_json(const InspectedModel& m) {
  OrderedJson out{
      {"path", m.model.where},          {"form", checkpoint::name(m.model.form)},
      {"step", m.model.step},           {"model", checkpoint::model_type_of(m.model.tensors)},
      {"parameters", m.parameters},     {"slots", m.slots},
      {"slot_numbers", m.slot_numbers}, {"checksums", checksums(m)},
      {"skipped", m.model.skipped},     {"config", m.model.config},
      {"settings", m.model.settings},   {"tensors", OrderedJson::array()}};
  for (const InspectedTensor& t : m.tensors) {
    OrderedJson line{{"name", t.name},
                     {"dtype", compiler::dtype_name(t.shape.dtype)},
                     {"shape", t.shape.dims},
                     {"rms", nullptr}};
    if (t.fault.empty() && std::isfinite(t.rms)) line["rms"] = t.rms;
    if (!t.fault.empty()) line["fault"] = t.fault;
    if (!t.slices.empty()) line["slices"] = t.slices;
    out["tensors"].push_back(std::move(line));
  }
  return out;
}

std::string settings_text(const Json& settings) {
  std::string out;
  for (const auto& [key, value] : settings.items()) out += str("  ", key, ": ", value.dump(), "\n");
  return out;
}

std::string model_text(const InspectedModel& m) {
  const std::string type = checkpoint::model_type_of(m.model.tensors);
  std::string out =
      str("checkpoint:  ", m.model.where, " (", checkpoint::name(m.model.form), "), step ",
          m.model.step, "\n", "model:       ", type.empty() ? "unknown type" : type, ", ",
          m.parameters, " parameters\n", "slots:       ");
  out += m.slots.empty() ? "none\n" : str(join(m.slots, ", "), ", ", m.slot_numbers, " numbers\n");
  out += str("checksums:   ", checksums(m), "\n");
  for (const std::string& what : m.model.skipped) out += str("skipped:     ", what, "\n");
  if (m.model.settings.is_object())
    out += "settings:\n" + settings_text(m.model.settings);
  else if (m.model.config.is_object())
    out += "config:\n" + settings_text(m.model.config);
  out += "tensors, with their root mean square:\n";
  for (const InspectedTensor& t : m.tensors) {
    char rms[32];
    std::snprintf(rms, sizeof rms, "%.6g", t.rms);
    const std::string slices =
        t.slices.empty() ? "" : str(" in ", t.slices.size(), " slices ", t.slices.front(), " …");
    out += str("  ", t.name, " ", t.shape, slices, " ", t.fault.empty() ? rms : t.fault, "\n");
  }
  return out;
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  auto* command = app.add_subcommand(
      "inspect", "show the contents of a checkpoint: step, sizes, tensors, checksums");
  command
      ->add_option("checkpoint", *path,
                   "a model folder, a checkpoint, a TensorFlow prefix, a Hugging Face folder, or "
                   "hf://ORG/NAME on the Hugging Face Hub")
      ->required();
  command->add_flag("--json", *json, "print JSON");
  command->callback([path, json] {
    const InspectedModel found = inspect_model(*path);
    std::cout << (*json ? model_json(found).dump(2, ' ', false, JsonInvalidUtf8::replace) + "\n"
                        : model_text(found));
    if (found.damaged > 0)
      throw UsageError(str("inspect: ", damaged_text(found, " of " + found.model.where)),
                       "copy or download the checkpoint again");
  });
}

}  // namespace smelt::cli
