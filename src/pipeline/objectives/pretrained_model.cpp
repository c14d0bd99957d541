#include "pipeline/objectives/pretrained_model.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/interop/sentence_transformers.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/parameter_names.h"
#include "data/preprocess/electra_examples.h"
#include "data/preprocess/work_folder.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "model/nn/state_names.h"
#include "model/tasks/bert_task.h"
#include "model/train_step/program.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/objectives/classify_model.h"
#include "pipeline/objectives/embedding_predictions.h"
#include "pipeline/objectives/embedding_source.h"
#include "pipeline/objectives/encoder_source.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/objective_registry.h"
#include "pjrt/hardware.h"
#include "text/tokenizers/casing.h"
#include "text/tokenizers/segmenter.h"
#include "text/tokenizers/sentencepiece.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::pipeline {
namespace {

// Returns the weights, or their moving averages, in host memory. int8 weights stay int8 unless
// `as_floats`.
execution::HostWeights host_weights(const checkpoint::StoredModel& model, bool as_floats) {
  io::LazyTensors weights = as_floats ? model.tensors : checkpoint::as_codes(model.tensors);
  std::erase_if(weights, [&](const auto& item) {
    return checkpoint::is_slot(item.first, model.tensors) &&
           !item.first.starts_with(model::kAveragePrefix);
  });
  for (auto& [name, tensor] : weights)
    tensor = checkpoint::as_dtype(std::move(tensor), compiler::DType::f32);
  auto held = std::make_shared<checkpoint::StoredTensors>(checkpoint::load_undecoded(weights));
  if (model::put_averages_in_place(held->tensors))
    log_info("{}: using the moving averages of the weights", model.where);
  return {.tensors = {held, &held->tensors}, .where = model.where};
}

std::string stored_type(const checkpoint::StoredModel& model) {
  const std::string by_tensors = checkpoint::model_type_of(model.tensors);
  return model.settings.is_object() ? model.settings.value("task", by_tensors) : by_tensors;
}

bool is_vocabulary_of(const checkpoint::StoredModel& model, const std::string& path) {
  const std::string bytes = text::vocabulary_bytes(path);
  return text::is_sentencepiece_file(path)
             ? text::first_different_piece(bytes, model.vocab_txt) < 0
             : text::vocabulary_lines(bytes) == text::vocabulary_lines(model.vocab_txt);
}

// A function that returns whether a type of model supports a task. If `model` is not null, it also
// checks that model: it returns false or throws UsageError if the model lacks the required part.
using MakesJob = bool(const InferenceJobs& jobs, const checkpoint::StoredModel* model);

template <auto kJob>
bool makes(const InferenceJobs& jobs, const checkpoint::StoredModel* model) {
  if (jobs.*kJob && model != nullptr) (void)(jobs.*kJob)(*model);
  return static_cast<bool>(jobs.*kJob);
}

// Every T5 can generate. Its job is not created here because that loads the vocabulary.
bool generates(const InferenceJobs& jobs, const checkpoint::StoredModel*) {
  return static_cast<bool>(jobs.generate);
}

bool embeds(const InferenceJobs&, const checkpoint::StoredModel* model) {
  if (model == nullptr) return true;
  const checkpoint::StoredFamily* family = checkpoint::family_of_tensors(model->tensors);
  return family != nullptr && family->has_encoder(model->tensors);
}

bool scores(const InferenceJobs& jobs, const checkpoint::StoredModel* model) {
  return jobs.fill_mask && (model == nullptr || jobs.fill_mask(*model).scores);
}

struct TaskWords {
  InferenceTask task;
  MakesJob* makes;
  // Parts of error messages: the command, the task as a verb, the missing part, and the hint.
  std::string_view command, verb, lacks, hint;
};
constexpr std::array<TaskWords, 7> kTasks{{
    {InferenceTask::fill_mask, makes<&InferenceJobs::fill_mask>, "fill", "fill masks",
     "has no masked-LM head", "use a BERT or an ELECTRA; for a T5 use `smelt generate`"},
    {InferenceTask::detect, makes<&InferenceJobs::detect>, "detect", "detect replaced tokens",
     "has no discriminator", "use an ELECTRA or a DeBERTa-v3"},
    {InferenceTask::classify, makes<&InferenceJobs::classify>, "predict", "classify",
     "has no classification head", "fine-tune it first: `smelt new classify` writes the recipe"},
    {InferenceTask::generate, generates, "generate", "generate text", "has no decoder", "use a T5"},
    {InferenceTask::evaluate_text, makes<&InferenceJobs::evaluate_text>, "eval",
     "be evaluated on text", "has no masked-LM head for --text",
     "use a BERT or an ELECTRA, or evaluate its run"},
    {InferenceTask::embed, embeds, "embed", "embed texts", "has no encoder for texts",
     "use a BERT, an ELECTRA or a RoBERTa"},
    {InferenceTask::score, scores, "score", "score texts", "has no masked-LM head",
     "use a pretrained BERT, RoBERTa or ELECTRA generator"},
}};

const TaskWords& words_of(InferenceTask task) {
  return *std::ranges::find(kTasks, task, &TaskWords::task);
}

// Throws UsageError if the type or the model does not support the task.
void check_task(InferenceTask task, const ObjectiveType& type,
                const checkpoint::StoredModel* model) {
  const TaskWords& words = words_of(task);
  if (words.makes(type.inference, model)) return;
  if (const auto part = type.inference.exported.find(std::string(words.command));
      part != type.inference.exported.end())
    throw UsageError(str(words.command, ": a run of type ", type.name, " trains two models"),
                     str("use the ", part->second, " in its folder huggingface/", part->second));
  throw UsageError(str(words.command, ": a model of type ", type.name,
                       model != nullptr ? in_brackets(model->architecture) : "", " ", words.lacks),
                   std::string(words.hint));
}

std::string command_of(const LoadOptions& o) {
  if (!o.command.empty()) return o.command;
  return o.task ? std::string(words_of(*o.task).command) : "load";
}

// Sets the fields of `m` that a run's settings contain, such as its config and prefix.
void apply_settings(Json settings, checkpoint::StoredModel& m) {
  m.config = settings.value("model", Json());
  m.objective = settings.value("objective", Json());
  if (const Json* sentinels = settings.pointer("/data/window/sentinels"))
    m.t5.extra_ids = *sentinels;
  if (settings.contains("extra_ids")) m.t5.extra_ids = settings["extra_ids"];
  m.t5.prefix = settings.value("prefix", "");
  m.settings = std::move(settings);
}

// Selects the vocabulary of --vocab, or the one in the model's folder.
void choose_vocabulary(const LoadOptions& o, const std::string& command,
                       checkpoint::StoredModel& m) {
  if (!o.vocab.empty()) {
    const bool by_crc = m.settings.is_object();  // check_vocabulary() compares the checksums
    if (!by_crc && !m.vocab_txt.empty() && !is_vocabulary_of(m, o.vocab))
      throw UsageError(
          str("--vocab: ", o.vocab, " is not ", m.vocab, ", the vocabulary of ", m.where),
          "remove --vocab");
    m.vocab = o.vocab;
  }
  if (m.vocab.empty())
    throw UsageError(str(command, ": ", m.where, ": its folder contains no vocabulary"),
                     command == "compress"
                         ? "copy its vocab.txt, spiece.model or tokenizer.json there"
                         : "name it with --vocab");
  const text::TokenizerFlags& words = o.tokenizer;
  if (text::is_sentencepiece_file(m.vocab) &&
      (words.lower_case || words.strip_accents || words.control))
    throw UsageError(str(command, ": ", m.vocab,
                         " is a SentencePiece model, which has its own normalization rules"),
                     "remove --lower-case, --cased, --strip-accents and --control-characters");
  if (m.settings.is_object()) execution::check_vocabulary(m.settings, m.vocab, m.where);
}

// Returns the batch size, at most `most`, that leaves out the fewest examples: incomplete batches
// are not evaluated.
std::int64_t batch_for(std::int64_t count, std::int64_t most) {
  std::int64_t best = std::min(count, most);
  for (std::int64_t size = best; size > best / 2; --size)
    if (count % size < count % best) best = size;
  return best;
}

data::ExampleSummary make_examples(const EvaluateTextJob& job, const data::ExampleJob& common,
                                   const text::TokenizerFlags& tokenizer, std::int64_t S) {
  if (job.make_examples) return job.make_examples(common, tokenizer, S);
  data::ElectraExamplesJob examples;
  static_cast<data::ExampleJob&>(examples) = common;
  examples.tokenizer = tokenizer;
  examples.options.seq_length = S;
  return data::build_electra_examples(examples);
}

// Passes the rows to `take` in pieces of `size`.
void each_piece(const std::vector<execution::TokenRow>& rows, std::int64_t size, auto&& take) {
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(size, 1));
  for (std::size_t at = 0; at < rows.size(); at += most) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(at);
    const auto count = static_cast<std::ptrdiff_t>(std::min(most, rows.size() - at));
    take(std::vector<execution::TokenRow>(begin, begin + count));
  }
}

}  // namespace

bool is_stored_model(const std::string& path) {
  return io::is_folder(path) || checkpoint::is_checkpoint_path(path) ||
         checkpoint::tensorflow_prefix(path).has_value();
}

PretrainedModel PretrainedModel::load(const std::string& path, const LoadOptions& o) {
  const auto run = run_named_by(path);
  if (!run || *run != path || !o.vocab.empty()) return of_folder(path, o);
  return of_recipe(
      load_recipe(path, {"train.device=" + o.device, "train.devices=1",
                         "train.parallelism.mesh=auto", "train.precision.compute=" + o.precision}),
      o);
}

PretrainedModel PretrainedModel::of_folder(const std::string& path, const LoadOptions& options) {
  const std::string command = command_of(options);
  PretrainedModel out;
  out.options_ = options;
  LoadOptions& o = out.options_;
  checkpoint::StoredModel& m = out.model_;
  m = checkpoint::open_stored_model(path, command, false, checkpoint::BertGelu::as_written);
  o.device = pjrt::chosen_device(o.device);
  choose_vocabulary(o, command, m);
  checkpoint::require_sizes(m, command);
  checkpoint::check_vocabulary_rows(m, command);
  out.type_ = &objective_type(stored_type(m), str(command, ": ", m.where));
  o.tokenizer = text::with_vocabulary_options(o.tokenizer, m.vocab, out.type_->control);
  if (const auto splits = text::Segmenter::of(text::segment_command_of(m.vocab, o.tokenizer)))
    splits->check_allowed(m.vocab);
  m.segment_command = o.tokenizer.segment_command;
  if (o.task) out.require(*o.task);
  out.weights_ = host_weights(m, false);
  return out;
}

PretrainedModel PretrainedModel::of_recipe(const Recipe& r, LoadOptions o) {
  if (o.task) check_task(*o.task, *r.type, nullptr);
  o.device = r.train.device;
  o.precision = r.train.compute->precision == model::Precision::f32_exact ? "f32_exact" : "f32";
  const std::string vocab = vocabulary_path(r);
  return of_run({.type = r.type,
                 .settings = r.type->task(r).settings,
                 .model_dir = RecipePaths(r).trained,
                 .vocab = vocab,
                 .tokenizer = tokenizer_flags(r),
                 .averaged = r.eval.averaged},
                o);
}

PretrainedModel PretrainedModel::of_run(const TrainedRun& run, const LoadOptions& options) {
  PretrainedModel out;
  out.options_ = options;
  out.options_.tokenizer = run.tokenizer;
  out.type_ = run.type;
  const auto trained = std::make_shared<const execution::TrainedModel>(
      execution::load_trained_model(command_of(options), run.model_dir,
                                    run.settings.value("model", Json()), run.vocab, run.averaged));
  out.weights_ = {.tensors = {trained, &trained->checkpoint.tensors}, .where = trained->where};
  checkpoint::StoredModel& m = out.model_;
  m.where = trained->where;
  m.step = trained->checkpoint.step;
  m.tensors = checkpoint::lazy_tensors(trained->checkpoint.tensors);
  m.vocab = run.vocab;
  m.segment_command = run.tokenizer.segment_command;
  Json settings = trained->checkpoint.state;
  settings.erase("prefix");
  settings.erase("no_answer");
  settings.update(run.settings);
  settings["task"] = run.type->name;
  apply_settings(std::move(settings), m);
  if (options.task) out.require(*options.task);
  return out;
}

bool PretrainedModel::can(InferenceTask task) const try {
  check_task(task, *type_, &model_);
  return true;
} catch (const UsageError&) {
  return false;
}

void PretrainedModel::require(InferenceTask task) const try {
  check_task(task, *type_, &model_);
} catch (const UsageError& error) {
  const ErrorParts parts = error_parts(error.what());
  std::vector<std::string> verbs;
  for (const TaskWords& words : kTasks)
    if (can(words.task)) verbs.emplace_back(words.verb);
  if (verbs.empty()) throw;
  throw UsageError(parts.what, str(parts.hint, "; this model can ", join(verbs, ", ")));
}

text::BertTokenizer PretrainedModel::tokenizer() const {
  return text::BertTokenizer::load(model_.vocab, options_.tokenizer);
}

execution::HostWeights PretrainedModel::floats() const {
  const bool in_codes = std::ranges::any_of(model_.tensors, [](const auto& item) {
    return item.second.codes && item.second.codes->of_rows;
  });
  return in_codes ? host_weights(model_, true) : weights_;
}

const io::Labels& PretrainedModel::labels() {
  return kept_classifier(classify_options_).job().labels;
}

std::vector<execution::FilledText> PretrainedModel::fill_mask(const std::vector<std::string>& texts,
                                                              std::int64_t top) {
  if (!filler_ || top_ != top) {
    require(InferenceTask::fill_mask);
    if (text::is_sentencepiece_file(model_.vocab))
      throw UsageError(
          str("fill: ", model_.vocab, " is a SentencePiece vocabulary, which has no [MASK] token"),
          "use a WordPiece model (BERT, ELECTRA), or `smelt generate` for a T5");
    execution::FillMaskJob job = type_->inference.fill_mask(model_);
    job.top = top_ = top;
    job.exact_products = exact();
    filler_.emplace(pjrt::open_device(options_.device, 1), std::move(job), tokenizer(), floats());
  }
  return filler_->fill(texts);
}

std::vector<std::vector<execution::JudgedToken>> PretrainedModel::detect(
    const std::vector<std::string>& texts) {
  if (!detector_) {
    require(InferenceTask::detect);
    execution::DetectJob job = type_->inference.detect(model_);
    job.exact_products = exact();
    detector_.emplace(pjrt::open_device(options_.device, 1), job, tokenizer(), floats());
  }
  return detector_->detect(texts);
}

execution::Classifier PretrainedModel::classifier(const execution::ClassifyOptions& with) const {
  require(InferenceTask::classify);
  execution::ClassifyJob job = type_->inference.classify(model_);
  static_cast<execution::ClassifyOptions&>(job) = with;
  job.exact_products = exact();
  return execution::Classifier(pjrt::open_device(options_.device, static_cast<int>(job.devices)),
                               job, tokenizer(), *weights_.tensors, weights_.where,
                               weights_.tensors);
}

execution::Generator PretrainedModel::generator(const execution::GenerateOptions& with) const {
  require(InferenceTask::generate);
  execution::GenerateJob job = type_->inference.generate(model_);
  execution::take_options(job, with);
  job.device = options_.device;
  job.exact_products = exact();
  // int8 weights cannot be sharded over a mesh.
  const execution::HostWeights weights = job.devices == 1 ? weights_ : floats();
  return execution::Generator(pjrt::open_device(job.device, static_cast<int>(job.devices)), job,
                              *weights.tensors, weights.where, weights.tensors);
}

execution::Classifier& PretrainedModel::kept_classifier(const execution::ClassifyOptions& options) {
  if (!classifier_ || classify_options_ != options) {
    classifier_.emplace(classifier(options));
    classify_options_ = options;
  }
  return *classifier_;
}

// Throws UsageError, which names the right method, if the method `call` does not fit model.problem.
static void check_problem(const io::Labels& labels, bool fits, std::string_view call) {
  if (fits) return;
  const char* own = labels.problem == io::Problem::token_labels   ? "token_labels()"
                    : labels.problem == io::Problem::answer_spans ? "answer_question()"
                                                                  : "classify()";
  throw UsageError(
      str("predict: ", call, ": the model's problem is ", io::field_json(labels.problem)),
      str("call ", own));
}

std::vector<TextLabel> PretrainedModel::classify(std::span<const execution::PairOfTexts> texts,
                                                 const execution::ClassifyOptions& options) {
  execution::Classifier& model = kept_classifier(options);
  const io::Labels& labels = model.job().labels;
  check_problem(
      labels,
      labels.problem != io::Problem::token_labels && labels.problem != io::Problem::answer_spans,
      "classify()");
  std::vector<TextLabel> out;
  for (std::vector<float>& numbers : model.classify(texts)) {
    const bool single = labels.problem == io::Problem::single_label;
    out.push_back({.label = execution::said_label(labels, numbers),
                   .probability = single ? std::ranges::max(numbers) : 0,
                   .outputs = std::move(numbers)});
  }
  return out;
}

std::vector<std::vector<TokenLabel>> PretrainedModel::token_labels(
    const std::vector<std::string>& texts, const execution::ClassifyOptions& options) {
  execution::Classifier& model = kept_classifier(options);
  const io::Labels& labels = model.job().labels;
  check_problem(labels, labels.problem == io::Problem::token_labels, "token_labels()");
  std::vector<execution::PairOfTexts> singles;
  for (const std::string& text : texts) singles.push_back({.text = text});
  const auto numbers = model.classify(singles);
  std::vector<std::vector<TokenLabel>> out(texts.size());
  const std::size_t C = labels.names.size();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto words = text::words_in(texts[i]);
    const auto predicted = said_labels(labels, numbers[i]);
    for (std::size_t w = 0; w < predicted.size(); ++w) {
      const auto begin = static_cast<std::size_t>(words[w].data() - texts[i].data());
      out[i].push_back({.word = std::string(words[w]),
                        .label = predicted[w],
                        .begin = begin,
                        .end = begin + words[w].size(),
                        .probability = std::ranges::max(std::span(numbers[i]).subspan(w * C, C))});
    }
  }
  return out;
}

std::vector<execution::FoundAnswer> PretrainedModel::answer_question(
    std::span<const execution::TextQuestion> questions, const execution::ClassifyOptions& options) {
  execution::Classifier& model = kept_classifier(options);
  const io::Labels& labels = model.job().labels;
  check_problem(labels, labels.problem == io::Problem::answer_spans, "answer_question()");
  return execution::find_answers(model, questions);
}

std::vector<std::vector<execution::Answer>> PretrainedModel::generate(
    const std::vector<std::string>& texts, const execution::GenerateOptions& options) {
  if (!generator_ || generate_options_ != options) {
    generator_.emplace(generator(options));
    generate_options_ = options;
  }
  return generator_->answer(std::span<const std::string>(texts));
}

std::vector<Embedding> PretrainedModel::embed(const std::vector<std::string>& texts) {
  require(InferenceTask::embed);
  const model::Encoder encoder = encoder_to_embed(model_);
  const std::int64_t positions = model::encoder_sizes(encoder).max_position_embeddings;
  const std::int64_t most =
      options_.max_length > 0 ? std::min(options_.max_length, positions) : positions;
  if (!encoder_)
    encoder_.emplace(
        pjrt::open_device(options_.device, 1),
        [encoder](std::int64_t S, std::int64_t) { return model::pooled_states(encoder, S); },
        execution::RowModelOptions{
            .command = "embed", .most_tokens = most, .exact_products = exact()},
        floats());
  const text::BertTokenizer words = tokenizer();
  const text::TextPairEncoder pairs(words, most);
  std::vector<execution::TokenRow> rows;
  for (const std::string& text : texts) rows.push_back({.ids = pairs.encode(text, "").ids});
  std::vector<Embedding> out;
  each_piece(rows, options_.batch_size, [&](const std::vector<execution::TokenRow>& piece) {
    const auto found = encoder_->predict(piece);
    const auto means = found.execution.results[0][0].to_host<float>();
    const auto firsts = found.execution.results[0][1].to_host<float>();
    const auto H = static_cast<std::size_t>(model::encoder_sizes(encoder).hidden_size);
    const auto row_of = [&](const std::vector<float>& all, std::size_t i) {
      const auto row = std::span(all).subspan(i * H, H);
      return std::vector<float>(row.begin(), row.end());
    };
    for (std::size_t i = 0; i < piece.size(); ++i)
      out.push_back({.mean = row_of(means, i), .first = row_of(firsts, i)});
  });
  return out;
}

execution::EmbedJob PretrainedModel::embed_job_of(std::int64_t batch_size,
                                                  const EmbedChoice& how) const {
  require(InferenceTask::embed);
  const std::string command = options_.task ? command_of(options_) : "embed";
  std::optional<io::EmbeddingForm> form = checkpoint::stored_embedding_form(model_);
  if (!form && !how.pooling)
    throw UsageError(
        str(command, ": ", model_.named(),
            " is not an embedding model: it has neither modules.json of sentence-transformers nor "
            "the settings of model.type embedding"),
        "fine-tune it with model.type embedding, or choose how to pool its token states: "
        "--pooling mean");
  if (!form) form.emplace();
  form->pooling = how.pooling.value_or(form->pooling);
  form->normalize = how.normalize.value_or(form->normalize);
  const model::Encoder encoder = encoder_to_embed(model_);
  std::int64_t most = model::encoder_sizes(encoder).max_position_embeddings;
  const std::int64_t chosen = how.max_length > 0 ? how.max_length : options_.max_length;
  constexpr std::int64_t kLeastTokens = 5;  // of text::TextPairEncoder
  if (chosen > 0 && chosen < kLeastTokens)
    throw UsageError(str(command, ": --max-length ", chosen, ": must be at least ", kLeastTokens),
                     str("use --max-length ", kLeastTokens, " or more"));
  for (const std::int64_t limit : {form->seq_length, chosen})
    if (limit > 0) most = std::min(most, limit);
  form->seq_length = most;
  execution::EmbedJob job = embed_job(encoder, *form);
  job.batch_size = batch_size;
  job.exact_products = exact();
  return job;
}

execution::Embedder PretrainedModel::embedder(std::int64_t batch_size,
                                              const EmbedChoice& how) const {
  return {pjrt::open_device(options_.device, 1), embed_job_of(batch_size, how), floats()};
}

execution::TextEmbedder PretrainedModel::text_embedder(std::int64_t batch_size,
                                                       const EmbedChoice& how) const {
  return {pjrt::open_device(options_.device, 1), embed_job_of(batch_size, how), tokenizer(),
          floats()};
}

std::vector<TextScore> PretrainedModel::score(const std::vector<std::string>& texts) {
  require(InferenceTask::score);
  const execution::FillMaskJob job = type_->inference.fill_mask(model_);
  if (!scorer_)
    scorer_.emplace(
        pjrt::open_device(options_.device, 1), job.scores,
        execution::RowModelOptions{
            .command = "score", .most_tokens = job.max_tokens, .exact_products = exact()},
        floats());
  const text::BertTokenizer words = tokenizer();
  const std::int32_t mask = words.vocabulary().id("[MASK]");
  const text::TextPairEncoder pairs(words, job.max_tokens);
  std::vector<TextScore> out(texts.size());
  std::vector<execution::TokenRow> rows;
  std::vector<std::size_t> texts_of_rows;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const text::TextPairIds text = pairs.encode(texts[i], "");
    if (text.cut > 0)
      throw UsageError(str("score: text ", i + 1, " has ", text.ids.size() + text.cut,
                           " tokens, but the model accepts at most ", job.max_tokens),
                       "split it and score the parts");
    out[i].tokens = std::ssize(text.ids) - 2;
    for (std::size_t at = 1; at + 1 < text.ids.size(); ++at) {
      execution::TokenRow& row = rows.emplace_back(execution::TokenRow{.ids = text.ids});
      row.positions = {static_cast<std::int32_t>(at)};
      row.labels = {std::exchange(row.ids[at], mask)};
      texts_of_rows.push_back(i);
    }
  }
  std::size_t done = 0;
  each_piece(rows, options_.batch_size, [&](const std::vector<execution::TokenRow>& piece) {
    const auto found = scorer_->predict(piece).execution.results[0][0].to_host<float>();
    for (std::size_t i = 0; i < piece.size(); ++i)
      out[texts_of_rows[done++]].log_likelihood += found[i];
  });
  return out;
}

EvaluatedText PretrainedModel::evaluate_text(const TextToEvaluate& t) const {
  require(InferenceTask::evaluate_text);
  const EvaluateTextJob job = type_->inference.evaluate_text(model_);
  const std::int64_t S = std::min(t.seq_length, job.max_tokens);
  data::WorkFolder work(data::temporary_work_folder("score", model_.where));
  work.remove_at_signal();
  work.begin({{"score", str(model_.where, " ", ::getpid())}});
  data::ExampleJob examples;
  examples.text = t.text;
  examples.vocab = model_.vocab;
  examples.output = work.file("text.tfrecord");
  examples.seed = t.seed;
  const data::ExampleSummary made = make_examples(job, examples, options_.tokenizer, S);
  const auto count = static_cast<std::int64_t>(made.examples);
  if (count == 0) throw UsageError("eval: --text yields no example", "give more text");
  execution::EvaluateJob scored;
  scored.task = job.task(S, examples.output, text::Vocabulary::load(model_.vocab));
  scored.batch_size = batch_for(count, t.batch_size);
  scored.data = examples.output;
  scored.on = {.device = options_.device,
               .compute = model::ComputeOptions{
                   .precision = model::parse_precision("--precision", options_.precision)}};
  scored.fields = flag;
  const execution::HostWeights weights = floats();
  const checkpoint::SlicedCheckpoint checkpoint{.step = model_.step,
                                                .path = model_.where,
                                                .tensors = *weights.tensors,
                                                .state = Json::object(),
                                                .owners = {}};
  const execution::Evaluator evaluator(scored);
  evaluator.scorer().announce();
  EvaluatedText out{.text = made.text,
                    .evaluation = evaluator({checkpoint, model_.where}),
                    .seq_length = S,
                    .baseline = type_->baseline};
  return out;
}

execution::FillMaskJob fill_job_to_train(const ObjectiveType& type, const model::Task& task) {
  checkpoint::StoredModel m;
  m.where = "train";
  for (const model::StateTensor& tensor :
       model::eval_program(task, 1, model::ShardingPlan()).state.tensors)
    m.tensors.emplace(tensor.name, io::LazyTensor{.shape = tensor.shape, .read = {}});
  apply_settings(task.settings, m);
  return type.inference.fill_mask(m);
}

}  // namespace smelt::pipeline
