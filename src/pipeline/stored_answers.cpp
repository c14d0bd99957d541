#include "pipeline/stored_answers.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/parameter_names.h"
#include "data/preprocess/work_folder.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "model/nn/state_names.h"
#include "pipeline/evaluation.h"
#include "pjrt/hardware.h"
#include "text/tokenizers/casing.h"
#include "text/tokenizers/segmenter.h"
#include "text/tokenizers/sentencepiece.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt {
namespace {

// The weights, or their averages, in memory, where they stay codes until a device gets them, or on
// it, too, if they are multiplied as such.
std::shared_ptr<const StoredTensors> hold_weights(const StoredModel& model, bool as_floats) {
  LazyTensors weights = as_floats ? model.tensors : as_codes(model.tensors);
  std::erase_if(weights, [&](const auto& item) {
    return is_slot(item.first, model.tensors) && !item.first.starts_with(kAveragePrefix);
  });
  for (auto& [name, tensor] : weights) tensor = as_dtype(std::move(tensor), DType::f32);
  auto held = std::make_shared<StoredTensors>(hold_as_stored(weights));
  if (put_averages_in_place(held->tensors))
    log_info("{}: using the moving averages of the weights", model.where);
  return held;
}

std::string stored_type(const StoredModel& model) {
  const std::string by_tensors = model_type_of(model.tensors);
  return model.settings.is_object() ? model.settings.value("task", by_tensors) : by_tensors;
}

bool is_vocabulary_of(const StoredModel& model, const std::string& path) {
  const std::string bytes = vocabulary_bytes(path);
  return is_sentencepiece_file(path) ? first_other_piece(bytes, model.vocab_txt) < 0
                                     : vocabulary_lines(bytes) == vocabulary_lines(model.vocab_txt);
}

}  // namespace

bool is_stored_model(const std::string& path) {
  return is_folder(path) || is_checkpoint_path(path) || tensorflow_prefix(path).has_value();
}

StoredAnswers::StoredAnswers(std::string command, const std::string& path,
                             const StoredModelFlags& flags)
    : command_(std::move(command)), flags_(flags), model_(open_stored_model(path, command_)) {
  flags_.device = chosen_device(flags_.device);
  if (!flags_.vocab.empty()) {
    const bool by_crc = model_.settings.is_object();  // held to below
    if (!by_crc && !model_.vocab_txt.empty() && !is_vocabulary_of(model_, flags_.vocab))
      throw UsageError(str("--vocab: ", flags_.vocab, " is not ", model_.vocab,
                           ", the vocabulary of ", model_.where),
                       "leave --vocab out");
    model_.vocab = flags_.vocab;
  }
  if (model_.vocab.empty())
    throw UsageError(str(command_, ": ", model_.where, ": its vocabulary is not beside it"),
                     command_ == "compress"
                         ? "put its vocab.txt, spiece.model or tokenizer.json there"
                         : "name it with --vocab");
  const TokenizerFlags& words = flags_.tokenizer;
  if (is_sentencepiece_file(model_.vocab) &&
      (words.lower_case || words.strip_accents || words.control))
    throw UsageError(
        str(command_, ": ", model_.vocab, " is a SentencePiece model, which has rules of its own"),
        "leave out --lower-case, --cased, --strip-accents and --control-characters");
  if (model_.settings.is_object()) check_vocabulary(model_.settings, model_.vocab, model_.where);
  require_sizes(model_, command_);
  check_vocabulary_rows(model_, command_);
  type_ = &objective_type(stored_type(model_), str(command_, ": ", model_.where));
  flags_.tokenizer = as_vocabulary_is(flags_.tokenizer, model_.vocab, type_->control);
  if (const auto splits = Segmenter::of(segment_command_of(model_.vocab, flags_.tokenizer)))
    splits->check_allowed(model_.vocab);
  model_.segment_command = flags_.tokenizer.segment_command;
  weights_ = hold_weights(model_, false);
}

std::shared_ptr<const StoredTensors> StoredAnswers::floats() const {
  const bool in_codes = std::ranges::any_of(model_.tensors, [](const auto& item) {
    return item.second.codes && item.second.codes->of_rows;
  });
  return in_codes ? hold_weights(model_, true) : weights_;
}

std::shared_ptr<const SlicedTensors> StoredAnswers::float_tensors() const {
  auto held = floats();
  const SlicedTensors* tensors = &held->tensors;
  return {std::move(held), tensors};
}

template <class Job>
Job StoredAnswers::asked() const {
  Job job = job_of<Job>(type_->questions, type_->name + in_brackets(model_.architecture), &model_);
  job.device = flags_.device;
  job.exact_products = flags_.precision == "f32_exact";
  return job;
}

Filler StoredAnswers::filler(std::int64_t top) const {
  FillMaskJob job = asked<FillMaskJob>();
  job.top = top;
  return open_filler(job, BertTokenizer::load(model_.vocab, flags_.tokenizer), float_tensors(),
                     model_.where);
}

Generator StoredAnswers::generator(const GenerateOptions& with) const {
  auto job = asked<GenerateJob>();
  take_options(job, with);
  const auto weights = job.devices == 1 ? weights_ : floats();  // codes are not split over a mesh
  return Generator(open_device(job.device, job.devices), job, weights->tensors, model_.where,
                   weights);
}

Classifier StoredAnswers::classifier(const ClassifyOptions& with) const {
  auto job = asked<ClassifyJob>();
  static_cast<ClassifyOptions&>(job) = with;
  return Classifier(open_device(job.device, static_cast<int>(job.devices)), job,
                    BertTokenizer::load(model_.vocab, flags_.tokenizer), weights_->tensors,
                    model_.where, weights_);
}

// As many examples at a time as leave the fewest out: a batch is whole or not scored.
static std::int64_t batch_for(std::int64_t count, std::int64_t most) {
  std::int64_t best = std::min(count, most);
  for (std::int64_t size = best; size > best / 2; --size)
    if (count % size < count % best) best = size;
  return best;
}

ScoredText StoredAnswers::score(const TextToScore& t) const {
  const auto job = job_of<ScoreTextJob>(type_->questions,
                                        type_->name + in_brackets(model_.architecture), &model_);
  const std::int64_t S = std::min(t.seq_length, job.max_tokens);
  WorkFolder work(temporary_work_folder("score", model_.where));
  work.remove_at_signal();
  work.begin({{"score", str(model_.where, " ", ::getpid())}});
  ExampleJob examples;
  examples.text = t.text;
  examples.vocab = model_.vocab;
  examples.output = work.file("text.tfrecord");
  examples.seed = t.seed;
  const ExampleSummary made = job.make_examples(examples, flags_.tokenizer, S);
  const auto count = static_cast<std::int64_t>(made.examples);
  if (count == 0) throw UsageError("eval: --text makes no example", "give more text");
  EvaluateJob scored;
  scored.task = job.task(S, examples.output, Vocabulary::load(model_.vocab));
  scored.batch_size = batch_for(count, t.batch_size);
  scored.data = examples.output;
  scored.on = {
      .device = flags_.device,
      .compute = ComputeOptions{.precision = parse_precision("--precision", flags_.precision)}};
  scored.fields = flag;
  const auto weights = floats();
  const SlicedCheckpoint checkpoint{.step = model_.step,
                                    .path = model_.where,
                                    .tensors = weights->tensors,
                                    .state = Json::object(),
                                    .owners = {}};
  const Evaluator evaluator(scored);
  evaluator.scorer().announce();
  ScoredText out{.text = made.text,
                 .evaluation = evaluator({checkpoint, model_.where}),
                 .seq_length = S,
                 .verdict = {}};
  out.verdict = verdict(type_->baseline, out.evaluation);
  return out;
}

Detector StoredAnswers::detector() const {
  return open_detector(asked<DetectJob>(), BertTokenizer::load(model_.vocab, flags_.tokenizer),
                       float_tensors(), model_.where);
}

}  // namespace smelt
