// Text generation with a trained encoder-decoder model, in batches (model/tasks/generation.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/storage/slices.h"
#include "execution/train_state/compiled_step.h"
#include "execution/train_state/model_state.h"
#include "model/tasks/generation.h"
#include "model/tasks/task.h"
#include "model/train_step/sharding_plan.h"

namespace smelt::execution {

// Settings that a user can choose.
struct GenerateOptions {
  model::Search search = {};
  // Text to prepend to each input, such as "summarize: "; nullopt: the prefix that the model was
  // fine-tuned with.
  std::optional<std::string> prefix = {};
  // Input tokens per text; longer texts are truncated with a warning.
  std::int64_t most_inputs = 512;
  std::int64_t batch_size = 32;  // texts per batch
  std::int64_t seed = 12345;     // seed of sampling
  std::int64_t devices = 1;
  model::MeshChoice mesh = {};  // how the model and the batch are sharded over the devices
  // Hint of an out-of-memory error, in terms of the command's flags.
  std::string hint = "lower --batch, --max-length, --max-inputs or --beams";
  std::string inputs_name = "--max-inputs";  // name of `most_inputs` in messages
  bool operator==(const GenerateOptions&) const = default;
};

struct GenerateJob : GenerateOptions {
  // Returns the prediction for inputs of S tokens. Its features are `inputs` and, if it samples,
  // `row` and `seed` (model/tasks/t5_answers.h).
  std::function<model::Prediction(std::int64_t S, const model::Search& search)> answers;
  // `encode` returns the ids of a text, with the end token; `decode` the text of ids without it.
  std::function<std::vector<std::int32_t>(std::string_view text)> encode;
  std::function<std::string(std::span<const std::int32_t> ids)> decode;
  // Returns the approximate size in bytes of the KV cache for this many rows, S input tokens and T
  // generated tokens.
  std::function<double(std::int64_t rows, std::int64_t S, std::int64_t T)> bytes;
  // Returns the dimension names of a parameter, which determine how it is sharded over a mesh.
  std::function<model::DimNames(std::string_view parameter)> dim_names = {};
  std::int32_t end = 1, unknown = -1;  // ids of the end and unknown tokens; -1: none
  std::string device = "cpu";
  bool exact_products = false;  // HloForm::exact_products
};

// Sets the user's options, but keeps the job's prefix if the user has chosen none.
void take_options(GenerateJob& job, const GenerateOptions& with);

struct Answer {
  std::string text;
  std::vector<std::int32_t> ids;  // includes the end token if it was generated
  float score = 0;                // model/tasks/generation.h
};

// A loaded model for text generation. Compiles one program for each batch shape.
class Generator {
 public:
  // `owner` keeps the memory of `weights` alive. `where` begins the error message if a weight is
  // missing. Throws UsageError for a search that the model does not support.
  Generator(std::shared_ptr<const pjrt::Client> client, GenerateJob job,
            checkpoint::SlicedTensors weights, std::string where,
            std::shared_ptr<const void> owner = {});

  // Returns search.answers texts for each input, the best first. `first` is the index of the first
  // input: samples depend on an input's index, not on its batch. If batch_size inputs do not fit
  // into host memory, uses smaller batches and logs this. Throws UsageError, before anything runs,
  // if a single input does not fit.
  std::vector<std::vector<Answer>> answer(std::span<const std::string> texts,
                                          std::int64_t first = 0);
  // Does the same for tokenized inputs.
  std::vector<std::vector<Answer>> answer(std::span<const std::vector<std::int32_t>> inputs,
                                          std::int64_t first = 0);
  // Compiles the program for the first batch of these inputs in advance, so that answer() does not
  // have to. Returns the number of inputs in that batch.
  std::size_t prepare(std::span<const std::vector<std::int32_t>> inputs);
  // Uses other weights of the same model from now on. The caller keeps them alive.
  void take(checkpoint::SlicedTensors weights, std::string where);
  const GenerateJob& job() const { return job_; }

 private:
  struct CompiledModel {
    model::StepProgram program;
    std::unique_ptr<const CompiledStep> step;
  };
  const CompiledModel& compiled(std::int64_t rows, std::int64_t S);
  std::vector<std::vector<Answer>> generate_batch(std::span<const std::vector<std::int32_t>> inputs,
                                                  std::int64_t first);
  Answer answer_of(std::span<const std::int32_t> generated, float score) const;
  std::vector<std::vector<std::int32_t>> encode(std::span<const std::string> texts) const;
  // Rows of a batch, and the length to which its inputs are padded.
  struct BatchSizes {
    std::int64_t rows, S;
  };
  BatchSizes sizes_of(std::span<const std::vector<std::int32_t>> inputs) const;
  // Returns how many of the remaining inputs form the next batch.
  std::size_t next_batch(std::span<const std::vector<std::int32_t>> left);
  MemoryAdvice advice() const;

  std::shared_ptr<const pjrt::Client> client_;
  GenerateJob job_;
  model::ShardingPlan placement_;
  checkpoint::SlicedTensors weights_;
  std::string where_;
  std::shared_ptr<const void> owner_;
  std::map<std::pair<std::int64_t, std::int64_t>, CompiledModel> compiled_;  // key: rows and S
  std::unique_ptr<const ModelState> state_;                                  // on the devices
  bool has_logged_memory_ = false;
};

}  // namespace smelt::execution
