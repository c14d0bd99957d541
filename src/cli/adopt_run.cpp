#include "cli/adopt_run.h"

#include <spdlog/spdlog.h>

#include "base/str.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/convert.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/tensorflow.h"
#include "store/path.h"

namespace smelt {

void adopt_tensorflow_run(const std::string& model_dir, const std::string& config) {
  const auto prefix = tensorflow_prefix(model_dir);
  if (!prefix) return;
  const TensorflowCheckpoint checkpoint(*prefix);
  const auto step = checkpoint.global_step(), own = latest_checkpoint(model_dir);
  if (!step || count_slots(checkpoint.tensors()) == 0) {
    if (!own)
      spdlog::warn(
          "{} holds weights without step and slots: no run can go on from them; a new run begins "
          "with them if it is told to",
          *prefix);
    return;
  }
  if (own.value_or(-1) >= *step) return;
  spdlog::info("going on from {}, the checkpoint of step {} that TensorFlow wrote", *prefix, *step);
  convert_checkpoint(
      {.from = *prefix, .to = join_path(model_dir, str("checkpoint-", *step)), .config = config});
}

}  // namespace smelt
