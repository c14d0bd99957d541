#include "cli/commands/predict_output.h"

#include <iostream>

#include "base/error.h"
#include "base/json.h"
#include "base/plural.h"
#include "base/stop_signal.h"
#include "io/filesystem/folder.h"

namespace smelt::cli {

PredictionOutput::PredictionOutput(const PredictFlags& flags) : flags_(flags) {
  if (flags.out.empty()) return;
  if (!flags.overwrite && io::exists(flags.out))
    throw UsageError(str("predict: --out ", flags.out, " exists already"),
                     "name another file with --out, or replace it with --overwrite");
  io::remove_abandoned({flags.out});
  file_.emplace(flags.out);
}

void PredictionOutput::line(const std::string& text) {
  if (file_) return file_->write(text + "\n");
  if (!(std::cout << text << "\n")) throw SystemError("standard output: cannot be written to");
}

void PredictionOutput::line(const OrderedJson& object) {
  line(object.dump(-1, ' ', false, JsonInvalidUtf8::replace));
}

void PredictionOutput::flush() {
  if (!file_) std::cout.flush();
}

void PredictionOutput::commit() {
  if (file_) file_->commit();
}

void PredictionOutput::check_signal(std::uint64_t done, const char* what) const {
  if (StopSignal::raised())
    throw Stopped(str("predict: stopped by a signal after ", counted(done, what),
                      file_ ? str("; ", flags_.out, " is not written") : ""),
                  "run it again");
}

}  // namespace smelt::cli
