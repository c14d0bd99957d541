#include "compress/row_pass.h"

#include <algorithm>

#include "base/error.h"
#include "base/progress.h"
#include "execution/train_state/compiled_step.h"
#include "execution/train_state/model_state.h"
#include "pjrt/client.h"

namespace smelt::compress {
namespace {

std::int64_t there(const RowPass& pass) {
  return std::min(pass.most, static_cast<std::int64_t>(pass.examples.epoch_size()));
}

execution::MemoryAdvice advice_to_prune() { return {"compress: a batch of rows", "lower --batch"}; }

}  // namespace

std::int64_t RowPass::rows() const { return std::min(batch_size, there(*this)); }

std::int64_t RowPass::batches() const { return there(*this) / rows(); }

void run_on_rows(
    const RowPass& pass, const model::Prediction& program,
    const std::function<void(std::size_t output, std::span<const float> values)>& take) {
  const std::int64_t rows = pass.rows();
  CHECK(rows > 0, rows);
  const auto client = pjrt::open_device(pass.device, 1);
  const model::StepProgram step_program = model::predict_program(program, rows);
  const execution::CompiledStep step(client, step_program, advice_to_prune());
  const execution::ModelState state = execution::ModelState::restore(
      *client, step_program.placement, step_program.state, pass.weights, pass.where);
  Progress progress("compress", pass.batches(), "batches");
  for (std::int64_t b = 0; b < pass.batches(); ++b) {
    execution::fitting(advice_to_prune(), [&] {
      pjrt::Execution run =
          step.run(pass.examples.batch(static_cast<std::uint64_t>(b), rows), state);
      run.await();
      for (std::size_t i = 0; i < run.results[0].size(); ++i)
        take(i, run.results[0][i].to_host<float>());
    });
    progress.update(b + 1);
  }
}

}  // namespace smelt::compress
