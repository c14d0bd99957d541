// One pass over labelled rows for what is measured of a model while it is cut.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "checkpoint/storage/lazy_files.h"
#include "data/input_pipeline/example_source.h"
#include "model/tasks/task.h"

namespace smelt {

struct RowPass {
  const ExampleSource& examples;
  const TensorMap& weights;
  std::int64_t most = 2048;      // examples, at most; drawn by the source's seed
  std::int64_t batch_size = 16;  // at a time
  std::string device = "cpu";
  std::string where;  // the model, in messages

  std::int64_t rows() const;     // of a batch
  std::int64_t batches() const;  // whole ones: no example is taken twice
};

// Asks the program of each batch; `take` is given the number of an output, all f32, and its values.
void ask_rows(const RowPass& pass, const Prediction& asked,
              const std::function<void(std::size_t output, std::span<const float> values)>& take);

}  // namespace smelt
