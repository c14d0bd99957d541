#include "cli/options/form_flags.h"

#include "base/choice.h"
#include "checkpoint/storage/checkpoint.h"
#include "cli/options/number_check.h"
#include "pjrt/client.h"
#include "pjrt/hardware.h"

namespace smelt::cli {
namespace {

const CLI::IsMember& known_devices() {
  static const CLI::IsMember kDevices({"auto", "cpu", "gpu", "tpu"});
  return kDevices;
}

template <class Value, class Parse>
void add_word(CLI::App& command, const std::string& flag, Value& value, Parse parse,
              const std::string& help, const std::string& usual) {
  command
      .add_option_function<std::string>(
          flag, [&value, flag, parse](const std::string& word) { value = parse(flag, word); }, help)
      ->default_str(usual);
}

}  // namespace

model::DeviceConfig RunFlags::on(std::optional<std::int64_t> tpu_cores) const {
  model::DeviceConfig out{.device = device.value_or(tpu_cores ? "tpu" : "auto"),
                          .devices = devices.value_or(tpu_cores.value_or(1)),
                          .mesh = mesh,
                          .compute = compute};
  if (out.device != "auto") return out;
  out.device = pjrt::chosen_device(out.device);
  if (!devices && out.device != "cpu") out.devices = pjrt::open_device(out.device)->device_count();
  return out;
}

void add_run_flags(CLI::App& command, RunFlags& flags, const std::string& default_device,
                   const std::string& default_devices) {
  command.add_option("--device", flags.device, "auto, cpu, gpu or tpu; default: " + default_device)
      ->check(known_devices());
  command
      .add_option("--devices", flags.devices,
                  "devices that share a batch; default: " + default_devices)
      ->check(number_from(1, 1e6));
  command
      .add_option("--micro-batches", flags.micro_batches,
                  "split each device's share of a batch into this many parts, computed one after "
                  "another: less memory")
      ->check(number_from(1, 1e9))
      ->capture_default_str();
  add_form_flags(command, flags.compute, flags.mesh);
}

void add_reduction_flag(CLI::App& command, RunFlags& flags) {
  command
      .add_option_function<std::string>(
          "--reduction",
          [&flags](const std::string& word) {
            flags.reduction = choose<std::optional<model::Reduction>>(
                "--reduction", word,
                {{"auto", {}},
                 {"global", model::Reduction::global},
                 {"per_replica", model::Reduction::per_replica}});
          },
          "how several devices clip gradients: per_replica (as the original): each device clips "
          "its own gradient, then they are summed; global: the gradient of the whole batch is "
          "clipped; auto: as in the resumed run; for a new run per_replica, or global if a mesh "
          "splits parameters")
      ->default_str("auto");
}

model::Reduction original_reduction(const RunFlags& flags, const model::DeviceConfig& on,
                                    const std::string& model_dir, const Fields& fields) {
  if (flags.reduction) return *flags.reduction;
  const auto newest = model_dir.empty() ? std::nullopt : checkpoint::load_latest_state(model_dir);
  if (newest)
    return model::parse_reduction(newest->path, newest->state.value("reduction", "global"));
  const model::PartitionRules partition = model::partition_for(on.mesh, on.devices, fields);
  const bool split =
      partition.size("fsdp") > 1 || partition.size("tensor") > 1 || partition.split_slots;
  return on.devices > 1 && !split ? model::Reduction::per_replica : model::Reduction::global;
}

CLI::Option* add_device_flag(CLI::App& command, std::string& device, const std::string& help) {
  return command.add_option("--device", device, help)
      ->check(known_devices())
      ->capture_default_str();
}

void add_form_flags(CLI::App& command, model::ComputeOptions& compute, model::MeshChoice& mesh) {
  add_word(command, "--precision", compute.precision, model::parse_precision,
           "f32, f32_exact or bf16", model::name(compute.precision));
  add_word(command, "--layers", compute.layers, model::parse_layers, "auto, unrolled or scan",
           "auto");
  add_word(
      command, "--save", compute.save, model::parse_save,
      "what a layer of --layers scan stores for the backward pass: auto, all (on a TPU without "
      "attention scores), products (matmul outputs) or layer (least memory)",
      "auto");
  command
      .add_option("--attention-rows", compute.attention_rows,
                  "maximum number of queries that attention computes at a time; 0: all")
      ->check(number_from(0, 1e9))
      ->capture_default_str();
  command
      .add_option("--logits-mb", compute.logits_mb,
                  "maximum megabytes of vocabulary logits that a device computes at a time; 0: all")
      ->check(number_from(0, 1e9))
      ->capture_default_str();
  command
      .add_option("--mesh", mesh.mesh,
                  "device mesh: auto, or axis sizes such as data=2,fsdp=2,tensor=2")
      ->capture_default_str();
  command.add_option("--mesh-rules", mesh.rules,
                     "how dimensions are sharded over the mesh, such as vocab=none");
  command.add_flag("--split-slots", mesh.shard_optimizer_state,
                   "shard the optimizer's slots over the mesh axis data");
}

}  // namespace smelt::cli
