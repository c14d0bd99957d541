#include "console/form_flags.h"

#include "console/number_check.h"

namespace smelt {

void add_form_flags(CLI::App& command, ComputeChoice& compute, MeshChoice& mesh) {
  command.add_option("--precision", compute.precision, "f32, f32_exact or bf16")
      ->capture_default_str();
  command.add_option("--layers", compute.layers, "auto, unrolled or scan")->capture_default_str();
  command
      .add_option(
          "--save", compute.save,
          "what a scanned layer keeps for the backward pass: auto, all (but attention scores "
          "on a TPU), products or layer")
      ->capture_default_str();
  command
      .add_option("--attention-rows", compute.attention_rows,
                  "most queries that attention takes at a time; 0: all")
      ->check(number_from(0, 1e9))
      ->capture_default_str();
  command
      .add_option("--logits-mb", compute.logits_mb,
                  "megabytes of scores of all words that a device makes at a time; 0: all")
      ->check(number_from(0, 1e9))
      ->capture_default_str();
  command.add_option("--mesh", mesh.mesh, "auto, or sizes: data=2,fsdp=2,tensor=2")
      ->capture_default_str();
  command.add_option("--mesh-rules", mesh.rules, "e.g. vocab=none");
  command.add_flag("--split-slots", mesh.split_slots, "the optimizer's slots over data, too");
}

}  // namespace smelt
