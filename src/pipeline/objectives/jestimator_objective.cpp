// model.type: jestimator_bert.
#include <iomanip>
#include <sstream>

#include "base/error.h"
#include "data/input_pipeline/example_source.h"
#include "data/preprocess/token_stores.h"
#include "model/tasks/jestimator_bert_task.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/train_job.h"
#include "pipeline/config/vocabulary_facts.h"
#include "pipeline/objectives/objectives.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt::pipeline {
namespace {

model::JestimatorBertTask jestimator_settings(const Recipe& r) {
  return {.model = io::parse_config<model::JestimatorBertConfig>(r.model, "model"),
          .settings = io::parse_config<model::JestimatorSettings>(r.model, "model")};
}

// Returns the id of [MASK]. Throws UsageError if the vocabulary lacks it.
std::int32_t mask_id(const text::Tokenizer& vocabulary, const std::string& origin) {
  for (std::int32_t id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.token(id) == "[MASK]") return id;
  throw UsageError(str(origin, ": no piece '[MASK]'"),
                   "name another of its pieces with --set model.mask_token_id=…");
}

// Returns the task completed by the vocabulary.
model::JestimatorBertTask finished_jestimator(const Recipe& r) {
  model::JestimatorBertTask c = jestimator_settings(r);
  const std::string origin = vocabulary_path(r);
  const auto vocabulary = text::load_tokenizer(origin, tokenizer_flags(r));
  c.model.vocab_size =
      vocabulary_rows(c.model.vocab_size, vocabulary->size(), origin, "model.vocab_size");
  if (c.settings.mask_token_id < 0) c.settings.mask_token_id = mask_id(*vocabulary, origin);
  return c;
}

void check_jestimator(const Recipe& r) {
  const RecipeChecks checks(r);
  model::JestimatorBertTask c = jestimator_settings(r);
  checks.at_least("model.vocab_size", 0);
  checks.at_least("model.mask_token_id", -1);
  if (c.model.vocab_size == 0) c.model.vocab_size = r.vocab.size;
  model::check_jestimator_bert_config(c.model, [&](const std::string& field) {
    const bool heads = field == "hidden_size";
    return str(r.origin({"model." + field, heads ? "model.num_heads" : "model." + field}),
               ": model");
  });
  if (c.settings.mask_token_id < 0) c.settings.mask_token_id = 4;  // placeholder
  model::Task task;
  checks.accepts({"model.mask_token_id", "model.vocab_size", "model.mask_rate"},
                 [&] { task = model::jestimator_bert_task(c); });
  check_program(r, task);
}

// Writes a token store of all documents. Returns the number of windows.
std::uint64_t make_jestimator_examples(const Recipe& r, ExampleSet set) {
  const RecipePaths paths(r);
  const bool train = set == ExampleSet::train;
  data::TextTokensJob job;
  job.text.input = train ? paths.train_text : paths.heldout_text;
  job.vocab = paths.vocab;
  job.tokenizer = tokenizer_flags(r);
  job.output = train ? paths.train_output : paths.heldout_output;
  job.overwrite = true;
  data::write_text_tokens(job);
  const auto source = data::open_examples(
      {.input = job.output,
       .features = model::jestimator_bert_task(finished_jestimator(r)).features});
  return train ? source->epoch_size() : source->size();
}

std::string jestimator_remark(const Recipe&, const execution::Evaluation& e) {
  const model::MeasuredValue& right = e.measure("masked_lm_accuracy");
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << "masked tokens correct: " << 100 * right.value
      << " % of " << std::setprecision(0) << right.weight
      << " held-out tokens, mean reciprocal rank " << std::setprecision(3)
      << e.measure("mrr").value;
  return out.str();
}

execution::FillMaskJob fill_with_jestimator(const checkpoint::StoredModel& m) {
  const auto model = io::parse_config<model::JestimatorBertConfig>(m.config, m.where);
  execution::FillMaskJob job;
  job.guesses = [model](std::int64_t S, std::int64_t P, std::int64_t top) {
    return model::jestimator_mask_guesses(model, S, P, top);
  };
  job.max_tokens = model.max_length;
  job.vocab_size = model.vocab_size;
  job.framed = false;  // the model was trained without [CLS] and [SEP]
  return job;
}

}  // namespace

ObjectiveType jestimator_bert_objective() {
  ObjectiveType type;
  type.name = "jestimator_bert";
  type.help = "masked tokens, as in JEstimator's BERT (Tian & Parikh 2022)";
  type.model = io::config_fields<model::JestimatorBertConfig>();
  const auto objective = io::config_fields<model::JestimatorSettings>();
  type.model.insert(type.model.end(), objective.begin(), objective.end());
  type.check = check_jestimator;
  type.records = "tokens";
  type.sentencepiece = true;
  type.make_examples = make_jestimator_examples;
  type.task = [](const Recipe& r) { return model::jestimator_bert_task(finished_jestimator(r)); };
  type.remark = jestimator_remark;
  type.inference.fill_mask = fill_with_jestimator;
  return type;
}

}  // namespace smelt::pipeline
