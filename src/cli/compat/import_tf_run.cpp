#include "cli/compat/import_tf_run.h"

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/stored_model.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"
#include "train/process_group.h"

namespace smelt::cli {
namespace {

bool has_run(const checkpoint::TensorflowCheckpoint& checkpoint) {
  return checkpoint.global_step() && checkpoint::count_slots(checkpoint.tensors()) > 0;
}

}  // namespace

AdoptedRun::AdoptedRun(const std::string& model_dir, const Json& model) {
  train::current_process_group("adopt").run_on_rank_zero("alone", [&] { adopt(model_dir, model); });
}

void AdoptedRun::adopt(const std::string& model_dir, const Json& model) {
  const auto prefix = checkpoint::tensorflow_prefix(model_dir);
  if (!prefix) return;
  const checkpoint::TensorflowCheckpoint checkpoint(*prefix);
  const auto step = checkpoint.global_step();
  if (!has_run(checkpoint) || checkpoint::latest_checkpoint(model_dir).value_or(-1) >= *step)
    return;
  log_info("resuming from {}, a TensorFlow checkpoint of step {}", *prefix, *step);
  path_ = io::join_path(model_dir, str("checkpoint-", *step));
  // Writes no config file or vocabulary next to the checkpoint: the run may still be refused.
  checkpoint::convert_checkpoint({.from = *prefix, .to = *path_, .model = model, .beside = false});
}

AdoptedRun::~AdoptedRun() {
  if (!path_) return;
  try {
    // Throws if another run uses the folder.
    const io::FolderLock lock(io::parent_path(*path_), "adopted");
    checkpoint::remove_checkpoint(*path_);
  } catch (const std::exception& error) {
    log_warning("{}, which no run has used, could not be removed: {}", *path_, error.what());
  }
}

void require_full_checkpoint(const std::string& model_dir, const std::string& init_flag) {
  const auto prefix = checkpoint::tensorflow_prefix(model_dir);
  if (!prefix || checkpoint::latest_checkpoint(model_dir) ||
      has_run(checkpoint::TensorflowCheckpoint(*prefix)))
    return;
  throw UsageError(
      str(*prefix, " has weights without step and optimizer slots: a run cannot resume from it"),
      str("use ", init_flag, " ", *prefix,
          " to start a new run from these weights, or choose another folder"));
}

}  // namespace smelt::cli
