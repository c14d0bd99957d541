#include "runs/small_run.h"

#include <filesystem>

#include "data/preprocess/bert_examples.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

static std::string small_vocab() {
  return source_path("tests/golden/pretraining/vocab_uncased.txt");
}

std::string SmallRun::vocab() { return small_vocab(); }

void SmallRun::SetUp() {
  REQUIRE_PLUGIN("cpu");
  make_records("tests/golden/pretraining/english.txt", dir_.file("train.tfrecord"));
}

void SmallRun::make_records(const std::string& text, const std::string& records) const {
  data::BertExamplesJob job;
  job.text.input = source_path(text);
  job.vocab = vocab();
  job.output = records;
  job.pairs.seq_length = 32;
  job.pairs.max_predictions = 5;
  data::build_bert_examples(job);
}

std::string SmallRun::other_records() const {
  const std::string path = dir_.file("other.tfrecord");
  make_records("tests/golden/pretraining/languages.txt", path);
  return path;
}

model::BertTask small_bert() {
  model::BertTask bert{.seq_length = 32, .max_predictions = 5};
  bert.model.vocab_size = text::Vocabulary::load(small_vocab()).size();
  bert.model.hidden_size = 16;
  bert.model.num_hidden_layers = 1;
  bert.model.num_attention_heads = 2;
  bert.model.intermediate_size = 32;
  bert.model.max_position_embeddings = 32;
  bert.model.type_vocab_size = 2;
  return bert;
}

train::TrainJob small_job(const std::string& folder, const std::string& model, std::int64_t steps) {
  train::TrainJob job;
  job.task = model::bert_task(small_bert());
  job.config.batch_size = 8;
  job.config.schedule = {
      .learning_rate = 1e-3, .warmup_steps = 2, .total_steps = steps, .power = 1.0};
  job.config.optimizer = model::adamw({});
  job.data = folder + "/train.tfrecord";
  job.model_dir = folder + "/" + model;
  job.checkpoint.save_interval_steps = 5;
  return job;
}

execution::EvaluateJob SmallRun::evaluation(const std::string& model) const {
  return {.task = model::bert_task(bert()),
          .batch_size = 8,
          .data = dir_.file("train.tfrecord"),
          .model_dir = dir_.file(model)};
}

std::map<std::string, std::vector<float>> SmallRun::state(const std::string& model,
                                                          std::int64_t step) const {
  const checkpoint::Checkpoint checkpoint = checkpoint::load_checkpoint(dir_.file(model), step);
  std::map<std::string, std::vector<float>> values;
  for (const auto& [name, view] : checkpoint.tensors) values[name] = io::tensor_values<float>(view);
  return values;
}

void cut_back(const std::string& from, const std::string& to, std::int64_t step) {
  std::filesystem::create_directories(to);
  const std::string name = str("/checkpoint-", step);
  std::filesystem::copy(from + name, to + name, std::filesystem::copy_options::recursive);
}

}  // namespace smelt
