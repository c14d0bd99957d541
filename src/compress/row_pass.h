// Runs a model over labelled rows to collect statistics for compression.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "checkpoint/storage/lazy_files.h"
#include "data/input_pipeline/example_source.h"
#include "model/tasks/task.h"

namespace smelt::compress {

// The data, the model and the device of a pass.
struct RowPass {
  const data::ExampleSource& examples;
  const io::TensorMap& weights;
  std::int64_t most = 2048;      // maximum number of examples, shuffled by the source's seed
  std::int64_t batch_size = 16;  // examples per batch
  std::string device = "cpu";
  std::string where;  // the model's path, for error messages

  std::int64_t rows() const;     // per batch
  std::int64_t batches() const;  // full batches only, so that no example repeats
};

// Runs the program on each batch. Calls `take` with the index and the values of each output; all
// outputs must be f32.
void run_on_rows(
    const RowPass& pass, const model::Prediction& program,
    const std::function<void(std::size_t output, std::span<const float> values)>& take);

}  // namespace smelt::compress
