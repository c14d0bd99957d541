#include "cli/compat/tensorflow_copy.h"

#include "base/log.h"
#include "base/str.h"
#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "train/process_group.h"

namespace smelt {
namespace {

void leave_copy(const std::string& model_dir) {
  const auto step = latest_checkpoint(model_dir);
  if (!step) return;
  const std::string prefix = join_path(model_dir, str("model.ckpt-", *step));
  if (exists(append_to_path(prefix, kBundleIndexSuffix))) return;
  convert_checkpoint(
      {.from = committed_path(model_dir, *step), .to = prefix, .form = ModelForm::tensorflow});
  log_info(
      "{} is the same checkpoint for TensorFlow; `smelt convert {} {}` converts an "
      "earlier one",
      prefix, join_path(model_dir, "checkpoint-<step>"), join_path(model_dir, "model.ckpt-<step>"));
}

}  // namespace

void leave_tensorflow_checkpoint(const std::string& model_dir) {
  together_now("tensorflow").run_on_rank_zero("alone", [&] { leave_copy(model_dir); });
}

}  // namespace smelt
