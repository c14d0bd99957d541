#include "train/evaluate.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/progress.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/layout.h"
#include "train/compiled_step.h"

namespace smelt {
namespace {

BertRecordSource open_source(const EvaluateJob& job, const std::string& data) {
  return BertRecordSource({.input = data,
                           .seq_length = job.config.batch.seq_length,
                           .max_predictions = job.config.batch.max_predictions,
                           .vocab_size = job.config.model.vocab_size,
                           .type_vocab_size = job.config.model.type_vocab_size,
                           .seed = 0});
}

// How often each token is the answer at a masked position.
std::vector<double> count_answers(const EvaluateJob& job, const std::string& data,
                                  std::int64_t batches) {
  const BertRecordSource source = open_source(job, data);
  const std::int64_t size = job.config.batch.batch_size;
  std::vector<double> counts(job.config.model.vocab_size);
  const auto all = std::max<std::int64_t>(source.whole_batches(size), 1);
  for (std::int64_t i = 0; i < (batches > 0 ? batches : all); ++i) {
    const BertBatch batch = source.batch_in_order(i, size);
    for (std::size_t j = 0; j < batch.masked_lm_ids.size(); ++j)
      counts[batch.masked_lm_ids[j]] += batch.masked_lm_weights[j];
  }
  return counts;
}

using Sums = std::array<double, kEvalMetrics.size()>;

Sums add_up(const EvaluateJob& job, const BertRecordSource& source, const CompiledStep& step,
            const ModelState& state, std::int64_t batches) {
  Sums sums{};
  Progress progress("eval", batches, "batches");
  for (std::int64_t i = 0; i < batches; ++i) {
    const BertBatch batch = source.batch_in_order(i, job.config.batch.batch_size);
    Execution execution = step.run(batch, {}, state);
    const auto metrics = execution.results.front().front().to_host<float>();
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += metrics[k];
    progress.update(i + 1);
  }
  return sums;
}

std::int64_t whole_batches(const EvaluateJob& job, const BertRecordSource& source) {
  const auto all = static_cast<std::int64_t>(source.whole_batches(job.config.batch.batch_size));
  if (all == 0)
    throw UsageError(str("eval: ", job.data, " holds ", source.size(),
                         " examples, fewer than one batch of ", job.config.batch.batch_size),
                     "lower eval.batch_size, or keep more held-out documents");
  return job.steps > 0 ? std::min(job.steps, all) : all;
}

}  // namespace

Evaluation evaluate(const EvaluateJob& job) {
  const auto checkpoint = load_latest_checkpoint(job.model_dir);
  if (!checkpoint) throw UsageError(str("eval: no checkpoint in ", job.model_dir), "train first");
  const BertRecordSource source = open_source(job, job.data);
  const std::int64_t batches = whole_batches(job, source);
  const auto client = open_device(job.device, static_cast<int>(job.config.devices));
  PretrainingProgram program;
  build_eval_step(job.config, program);
  const CompiledStep step(client, job.config, program);
  const ModelState state = ModelState::restore(
      *client, static_cast<int>(job.config.devices), program.parameters, StateParts::values,
      checkpoint->tensors, checkpoint_path(job.model_dir, checkpoint->step));

  const auto [loss, lm_sum, lm_weight, lm_correct, next_sum, next_correct, examples] =
      add_up(job, source, step, state, batches);
  const auto known = count_answers(job, job.train_data.empty() ? job.data : job.train_data, 0);
  const auto majority = std::ranges::max_element(known) - known.begin();
  const auto answers = count_answers(job, job.data, batches);
  Evaluation e;
  e.global_step = checkpoint->step;
  e.loss = loss / static_cast<double>(batches);
  e.masked_lm_accuracy = lm_correct / lm_weight;
  e.masked_lm_loss = lm_sum / lm_weight;
  if (job.config.next_sentence)
    e.next_sentence = {.accuracy = next_correct / examples, .loss = next_sum / examples};
  e.majority_token_accuracy = answers[majority] / lm_weight;
  e.majority_token = static_cast<std::int32_t>(majority);
  e.examples = static_cast<std::int64_t>(examples);
  e.masked_tokens = static_cast<std::int64_t>(lm_weight);
  return e;
}

}  // namespace smelt
