// Answers of a trained model to texts, in batches (model/tasks/generation.h).
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

namespace smelt {

// What a user says of it.
struct GenerateOptions {
  Search search = {};
  // Before each text: "summarize: "; nullopt: what the model was fine-tuned with.
  std::optional<std::string> prefix = {};
  std::int64_t most_inputs = 512;  // tokens of a text; what is longer is cut, with a warning
  std::int64_t batch_size = 32;    // texts at a time
  std::int64_t seed = 12345;       // of samples
  std::int64_t devices = 1;
  MeshChoice mesh = {};  // how the model and its rows lie on them
  // What helps where memory is short, in the command's own words.
  std::string hint = "lower --batch, --max-length, --max-inputs or --beams";
  std::string inputs_name = "--max-inputs";  // what `most_inputs` is to the user
  bool operator==(const GenerateOptions&) const = default;
};

struct GenerateJob : GenerateOptions {
  // The model's answers to inputs of S tokens: features inputs and, of samples, row and seed
  // (model/tasks/t5_answers.h).
  std::function<Prediction(std::int64_t S, const Search& search)> answers;
  // Ids of a text as the model takes it, end and all; the text of ids without their end.
  std::function<std::vector<std::int32_t>(std::string_view text)> encode;
  std::function<std::string(std::span<const std::int32_t> ids)> decode;
  // Bytes of what is kept of so many rows of S input tokens and T of answers, about.
  std::function<double(std::int64_t rows, std::int64_t S, std::int64_t T)> bytes;
  std::function<DimNames(std::string_view parameter)> dim_names = {};  // of the model's, for a mesh
  std::int32_t end = 1, unknown = -1;                                  // -1: none
  std::string device = "cpu";
  bool exact_products = false;
};

// The user's options, but for a prefix that they leave to the model.
void take_options(GenerateJob& job, const GenerateOptions& with);

struct Answer {
  std::string text;
  std::vector<std::int32_t> ids;  // with the end, if it came
  float score = 0;                // model/tasks/generation.h
};

// A model that is ready to answer: its programs are compiled once for each size of batch.
class Generator {
 public:
  // Of the weights by name, which `owner` keeps alive; `where` begins the message where one is
  // missing. UsageError for a search that does not fit the model.
  Generator(std::shared_ptr<const Client> client, GenerateJob job, SlicedTensors weights,
            std::string where, std::shared_ptr<const void> owner = {});

  // search.answers to each text, the best first. `first` is the number of the first text: samples
  // depend on a text's number, not on its batch. Batches are smaller where batch_size texts are
  // beyond the machine's memory, which is told; UsageError where one is, before anything runs.
  std::vector<std::vector<Answer>> answer(std::span<const std::string> texts,
                                          std::int64_t first = 0);
  // The same of texts that are ids already.
  std::vector<std::vector<Answer>> answer(std::span<const std::vector<std::int32_t>> inputs,
                                          std::int64_t first = 0);
  // What answers to the first of these need: their program compiled, which answer() does otherwise.
  // How many of them it answers at a time.
  std::size_t prepare(std::span<const std::vector<std::int32_t>> inputs);
  // Answers from here on by other weights of the same model, which outlive the answers.
  void take(SlicedTensors weights, std::string where);
  const GenerateJob& job() const { return job_; }

 private:
  struct Asking {
    StepProgram program;
    std::unique_ptr<const CompiledStep> step;
  };
  const Asking& asking(std::int64_t rows, std::int64_t S);
  std::vector<std::vector<Answer>> of_batch(std::span<const std::vector<std::int32_t>> inputs,
                                            std::int64_t first);
  Answer answer_of(std::span<const std::int32_t> said, float score) const;
  std::vector<std::vector<std::int32_t>> encode(std::span<const std::string> texts) const;
  // So many texts' rows, and the length that they are filled up to.
  struct BatchSizes {
    std::int64_t rows, S;
  };
  BatchSizes sizes_of(std::span<const std::vector<std::int32_t>> inputs) const;
  // Of the texts that are left those that are answered at a time.
  std::size_t next_batch(std::span<const std::vector<std::int32_t>> left);
  MemoryAdvice advice() const;

  std::shared_ptr<const Client> client_;
  GenerateJob job_;
  ShardingPlan placement_;
  SlicedTensors weights_;
  std::string where_;
  std::shared_ptr<const void> owner_;
  std::map<std::pair<std::int64_t, std::int64_t>, Asking> askings_;  // by rows and S
  std::unique_ptr<const ModelState> state_;                          // on the devices
  bool told_of_memory_ = false;
};

}  // namespace smelt
