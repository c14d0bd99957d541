#include "cli/compat/tensorflow_copy.h"

#include "base/log.h"
#include "base/str.h"
#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "train/process_group.h"

namespace smelt::cli {
namespace {

void leave_copy(const std::string& model_dir) {
  const auto step = checkpoint::latest_checkpoint(model_dir);
  if (!step) return;
  const std::string prefix = io::join_path(model_dir, str("model.ckpt-", *step));
  if (io::exists(io::append_to_path(prefix, io::kBundleIndexSuffix))) return;
  checkpoint::convert_checkpoint({.from = checkpoint::committed_path(model_dir, *step),
                                  .to = prefix,
                                  .form = checkpoint::ModelForm::tensorflow});
  log_info(
      "{} is the same checkpoint for TensorFlow; `smelt convert {} {}` converts an "
      "earlier one",
      prefix, io::join_path(model_dir, "checkpoint-<step>"),
      io::join_path(model_dir, "model.ckpt-<step>"));
}

}  // namespace

void leave_tensorflow_checkpoint(const std::string& model_dir) {
  train::current_process_group("tensorflow").run_on_rank_zero("alone", [&] {
    leave_copy(model_dir);
  });
}

}  // namespace smelt::cli
