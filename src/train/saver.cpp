#include "train/saver.h"

#include "base/str.h"
#include "checkpoint/checkpoint.h"
#include "store/path.h"

namespace smelt {

void Saver::save(std::int64_t step, const HostState& host) {
  save_checkpoint(job_.model_dir, step, host.tensors, settings_,
                  {.max_to_keep = static_cast<int>(job_.keep), .names = job_.names});
  saved_step_ = step;
  if (job_.keep_every > 0 && step > 0 && step % job_.keep_every == 0)
    save_checkpoint(join_path(job_.model_dir, "save"), step, host.tensors, settings_,
                    {.max_to_keep = 0, .names = job_.names});
}

std::string Saver::where_to_go_on() const {
  return saved_step_ < 0 ? std::string("nothing was saved yet")
                         : str("the checkpoint of step ", saved_step_, " is good");
}

}  // namespace smelt
