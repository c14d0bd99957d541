// model.type: t5.

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/hugging_face_t5.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/lazy_files.h"
#include "data/input_pipeline/example_source.h"
#include "data/input_pipeline/text_to_text.h"
#include "data/preprocess/token_stores.h"
#include "execution/inference/span_sampler.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/config.h"
#include "model/tasks/t5_task.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/train_job.h"
#include "pipeline/objectives/encoder_source.h"
#include "pipeline/objectives/objectives.h"
#include "pipeline/objectives/t5_questions.h"
#include "pipeline/objectives/t5_source.h"
#include "pipeline/objectives/unigram.h"
#include "text/tokenizers/sentinels.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt::pipeline {
namespace {

constexpr const char* kEndPiece = "</s>";
// The original program rounds the rows of its embedding up to a multiple of this.
constexpr std::int64_t kRowsUnit = 128;

// Whether a window may contain tokens of several documents.
enum class Documents { packed, cut };
constexpr NamedValues<Documents, 2> kDocuments{
    {{"packed", Documents::packed}, {"cut", Documents::cut}}};
constexpr const NamedValues<Documents, 2>& words_of(Documents) { return kDocuments; }

// Fields of data: that determine how examples are made from text.
struct T5Data {
  data::TextObjective objective = data::TextObjective::span_corruption;
  std::int64_t inputs_length = 512, targets_length = 0;
  double noise_density = 0.15, mean_noise_span_length = 3.0;
  Documents documents = Documents::packed;
  std::int64_t extra_ids = 100;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, T5Data>
void visit_fields(C& c, Visitor&& visit) {
  visit("objective", c.objective,
        "span_corruption (T5), iid_denoise_text (ttt), prefix_lm, or lm (text alone)");
  visit("inputs_length", c.inputs_length,
        "encoder tokens per example, including sentinels and end of sequence");
  visit("targets_length", c.targets_length,
        "decoder tokens per example; 0: computed from data.inputs_length and the noise (114 for "
        "inputs of 512 tokens, by default); "
        "lm: length of a window");
  visit("noise_density", c.noise_density,
        "share of tokens that are noise; iid_denoise_text: probability that a span begins");
  visit("mean_noise_span_length", c.mean_noise_span_length,
        "average length of a noise span in tokens; iid_denoise_text: length of every span");
  visit("documents", c.documents,
        "packed: a window may continue into the next document; cut: no window crosses the end of a "
        "document, so a document's last window may be shorter");
  visit("extra_ids", c.extra_ids,
        "number of sentinels to add to the vocabulary's pieces; <extra_id_0>, … that it already "
        "has are counted");
}

// The settings of a T5 recipe. with_vocabulary() sets those that depend on the vocabulary.
struct T5Recipe {
  model::T5Task task;
  data::TextToText text;
  std::int64_t on_top = 0;  // number of sentinels that are not pieces of the vocabulary
};

T5Recipe t5_settings(const Recipe& r) {
  const auto data = io::parse_config<T5Data>(r.data, "data");
  T5Recipe out;
  out.task.model = io::parse_config<model::T5Config>(r.model, "model");
  out.task.settings = io::parse_config<model::T5Settings>(r.model, "model");
  out.text = {.objective = data.objective,
              .inputs_length = data.inputs_length,
              .targets_length = data.targets_length,
              .noise_density = data.noise_density,
              .mean_noise_span_length = data.mean_noise_span_length,
              .across_documents = data.documents == Documents::packed};
  return out;
}

std::int64_t extra_ids_of(const Recipe& r) {
  return io::parse_config<T5Data>(r.data, "data").extra_ids;
}

// Returns the ids of all pieces except padding, end of sequence and sentinels.
std::vector<model::IdRange> words_among(std::int64_t pieces, const text::Sentinels& sentinels,
                                        std::int32_t end) {
  std::vector<std::pair<std::int64_t, std::int64_t>> others{
      {0, 1}, {end, end + 1}, {sentinels.first - sentinels.count + 1, sentinels.first + 1}};
  std::ranges::sort(others);
  std::vector<model::IdRange> out;
  std::int64_t begin = 0;
  for (const auto& [low, high] : others) {
    if (std::min(low, pieces) > begin) out.push_back({begin, std::min(low, pieces)});
    begin = std::max(begin, high);
  }
  if (pieces > begin) out.push_back({begin, pieces});
  return out;
}

// Returns `c` with the settings that depend on the vocabulary: its size, sentinels and end token.
// Throws UsageError, which begins with `where`, if the settings do not fit the vocabulary.
T5Recipe with_vocabulary(T5Recipe c, const text::Sentinels& sentinels, std::int32_t end,
                         std::int64_t pieces, const std::string& where) {
  model::T5Config& model = c.task.model;
  if (model.vocab_size == 0)
    model.vocab_size = (sentinels.ids + kRowsUnit - 1) / kRowsUnit * kRowsUnit;
  if (model.vocab_size < sentinels.ids)
    throw UsageError(str(where, "model.vocab_size ", model.vocab_size, " is too small for ", pieces,
                         " pieces and ", sentinels.ids - pieces, " additional sentinels"),
                     str("set it to 0, or to ", sentinels.ids, " or more"));
  c.on_top = sentinels.ids - pieces;
  c.text.end = end;
  c.text.sentinel = sentinels.first;
  c.text.sentinels = sentinels.count;
  const data::TextLengths lengths = data::text_lengths(c.text, where);
  c.task.inputs_length = lengths.inputs;
  c.task.targets_length = lengths.targets;
  c.task.words = words_among(pieces, sentinels, end);
  if (c.task.words.empty())
    throw UsageError(str(where, "the vocabulary has no pieces but <pad>, </s> and sentinels"),
                     "use a vocabulary such as T5's spiece.model");
  return c;
}

// Returns the settings of the recipe, completed with the vocabulary file `origin`. Messages about
// settings that do not fit the vocabulary begin with `where`.
T5Recipe of_vocabulary(const Recipe& r, const std::string& origin, const std::string& where) {
  const auto vocabulary = text::load_tokenizer(origin, tokenizer_flags(r));
  if (vocabulary->token(0) != "<pad>")
    throw UsageError(str(origin, ": piece 0 is '", vocabulary->token(0), "', not <pad>"),
                     "T5 pads sequences with id 0; use a vocabulary such as T5's spiece.model");
  return with_vocabulary(t5_settings(r), text::sentinels_of(*vocabulary, origin, extra_ids_of(r)),
                         text::id_of_piece(*vocabulary, origin, kEndPiece), vocabulary->size(),
                         where);
}

T5Recipe finished(const Recipe& r) { return of_vocabulary(r, vocabulary_path(r), ""); }

// Returns given_vocabulary(). If that file is missing, returns the run's own copy, or an empty
// string if the run has not begun.
std::string readable_vocabulary(const Recipe& r) {
  const std::string own = RecipePaths(r).vocab;
  try {
    const std::string given = given_vocabulary(r);
    if (given.empty() || io::exists(given)) return given;
  } catch (const UsageError&) {  // the stage that needs it reports the error
  }
  return has_begun(r) ? own : "";
}

T5Recipe expected(const Recipe& r, const std::string& where) {
  if (const std::string given = readable_vocabulary(r); !given.empty())
    return of_vocabulary(r, given, where);
  const std::int64_t pieces = r.vocab.size, extra = extra_ids_of(r);
  const text::Sentinels on_top{static_cast<std::int32_t>(pieces + extra - 1), extra,
                               pieces + extra};
  return with_vocabulary(t5_settings(r), on_top, 1, pieces, where);
}

// Checks that sentinels use the same embedding rows as in the weights of train.init_from.
void check_sentinels(const Recipe& r, const T5Recipe& c) {
  if (r.train.init_from.empty() || state_to_resume(r)) return;
  const auto weights = t5_in(r.train.init_from, "train.init_from").extra_ids;
  // Whether all sentinels are pieces of the vocabulary.
  const bool own = c.on_top == 0 && c.text.sentinels > 0;
  if (weights && !own && *weights != c.text.sentinels)
    throw UsageError(str("data.extra_ids: ", c.text.sentinels, " sentinels, but the weights of ",
                         r.train.init_from, " have ", *weights),
                     str("set data.extra_ids to ", *weights));
}

model::Task task_of(const T5Recipe& c) {
  model::Task task = model::t5_task(c.task);
  task.windows = data::text_to_text(c.text);
  return task;
}

void check_t5(const Recipe& r) {
  const RecipeChecks checks(r);
  checks.require(is_sentencepiece(r), {"vocab.type", "vocab.file"},
                 str("a T5 needs a SentencePiece vocabulary, but ",
                     r.vocab.file.empty() ? std::string("vocab.type is wordpiece")
                                          : str("vocab.file ", r.vocab.file,
                                                " is neither a *.model nor a tokenizer.json")),
                 "set vocab.type to unigram, or vocab.file to a SentencePiece model such as T5's "
                 "spiece.model");
  checks.at_least("model.vocab_size", 0);
  checks.at_least("data.extra_ids", 0);
  model::T5Config sized = t5_settings(r).task.model;
  if (sized.vocab_size == 0) sized.vocab_size = 1;  // set from the vocabulary below
  model::check_t5_config(sized, [&](const std::string& field) {
    return str(r.origin({"model." + field}), ": model");
  });
  const std::string where = str(
      r.origin({"data.objective", "data.inputs_length", "data.targets_length", "data.noise_density",
                "data.mean_noise_span_length", "data.extra_ids", "model.vocab_size"}),
      ": ");
  const T5Recipe sizes = expected(r, where);
  checks.accepts({"train.init_from", "data.extra_ids"}, [&] { check_sentinels(r, sizes); });
  model::Task task;
  checks.accepts({"model.z_loss"}, [&] { task = task_of(sizes); });
  check_program(r, task);
}

// Writes a token store of all documents. Returns the number of windows.
std::uint64_t make_t5_examples(const Recipe& r, ExampleSet set) {
  const RecipePaths paths(r);
  const T5Recipe c = finished(r);
  const bool train = set == ExampleSet::train;
  data::TextTokensJob job;
  job.text.input = train ? paths.train_text : paths.heldout_text;
  job.vocab = paths.vocab;
  job.tokenizer = tokenizer_flags(r);
  if (c.text.objective == data::TextObjective::lm) job.document_end = kEndPiece;
  job.output = train ? paths.train_output : paths.heldout_output;
  job.overwrite = true;
  const data::CorpusCounts made = data::write_text_tokens(job);
  const model::Task task = task_of(c);
  if (c.text.across_documents && made.tokens < static_cast<std::uint64_t>(task.windows->tokens))
    throw UsageError(
        str("data: the ", train ? "text to train on" : "held-out text", " is ", made.tokens,
            " tokens long, which is shorter than a window of ", task.windows->tokens),
        train ? "give more text.input, or lower data.inputs_length"
              : "raise text.heldout, give more text.input, or lower "
                "data.inputs_length");
  const auto source = data::open_examples(
      {.input = job.output, .features = task.features, .windows = task.windows});
  return train ? source->epoch_size() : source->size();
}

// Returns the loss of the unigram baseline, and the evaluated model's loss per character.
std::vector<model::MeasuredValue> of_unigram(const Recipe& r, const execution::Evaluation& e) {
  const T5Recipe c = finished(r);
  const RecipePaths paths(r);
  const UnigramJob job{.name = "unigram_loss",
                       .train = paths.train_records,
                       .heldout = paths.heldout_records,
                       .task = task_of(c),
                       .feature = "targets",
                       .words = c.task.words,
                       .examples = static_cast<std::uint64_t>(e.examples)};
  std::vector<model::MeasuredValue> out{unigram_measure(job)};
  const auto vocabulary = text::load_tokenizer(vocabulary_path(r), tokenizer_flags(r));
  if (const double of_word = characters_of_words(job, *vocabulary); of_word > 0)
    out.push_back(execution::bits_per_character(e.measure("word_loss"), of_word));
  return out;
}

std::string t5_remark(const Recipe&, const execution::Evaluation& e) {
  const model::MeasuredValue& loss = e.measure("word_loss");
  std::ostringstream out;
  out << std::fixed << std::setprecision(3) << "target tokens without sentinels: loss "
      << loss.value << ", " << e.measure("unigram_loss").value
      << " for a model that only knows token frequencies; " << std::setprecision(1)
      << 100 * e.measure("word_accuracy").value << " % of " << std::setprecision(0) << loss.weight
      << " predicted correctly";
  return out.str();
}

void export_t5(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r);
  const model::T5Config config = finished(r).task.model;
  const checkpoint::Checkpoint checkpoint = checkpoint::parameters_of(
      execution::load_trained_model("export", paths.trained, io::config_json(config), paths.vocab,
                                    r.eval.averaged)
          .checkpoint);
  checkpoint::export_hugging_face_t5(
      folder, config, paths.vocab, extra_ids_of(r), checkpoint::lazy_tensors(checkpoint.tensors),
      {.earlier = folder == paths.hugging_face ? io::OutputDirectory::Earlier::replaced
                                               : io::OutputDirectory::Earlier::refused});
  log_info("export: {} contains step {} for transformers' T5ForConditionalGeneration", folder,
           checkpoint.step);
}

// Returns the job that fills spans. Its ids include the sentinels, whose ids may be greater than
// those of all pieces.
execution::SpanJob span_job(const Recipe& r) {
  const T5Recipe c = finished(r);
  const std::shared_ptr<const text::Tokenizer> tokenizer =
      text::load_tokenizer(vocabulary_path(r), tokenizer_flags(r));
  execution::SpanJob job{
      .model = c.task.model,
      .encode = {},
      .decode = {},
      .end = c.text.end,
      .sentinel = c.text.sentinel,
      .sentinels = c.text.sentinels,
      .words = std::max<std::int64_t>(tokenizer->size(), c.text.sentinel + 1),
      .exact_products = r.train.compute->precision == model::Precision::f32_exact};
  job.encode = [tokenizer](std::string_view text) {
    std::vector<std::int32_t> ids;
    tokenizer->encode(text, ids);
    return ids;
  };
  job.decode = [tokenizer](std::span<const std::int32_t> ids) { return tokenizer->decode(ids); };
  return job;
}

FieldValues sizes_of_given_t5(const FieldValues& set) {
  return sizes_of_pretrained(set, [](const std::string& init) {
    return io::config_json(t5_in(init, "train.init_from").model);
  });
}

Json sizes_of_weights(const std::string& weights, const std::string& where) {
  return io::config_json(t5_in(weights, where).model);
}

}  // namespace

ObjectiveType t5_objective() {
  ObjectiveType type;
  type.name = "t5";
  type.help = "text to text, pre-trained on plain text with corrupted spans (Raffel et al. 2020)";
  type.model = io::config_fields<model::T5Config>();
  const auto objective = io::config_fields<model::T5Settings>();
  type.model.insert(type.model.end(), objective.begin(), objective.end());
  type.data = io::config_fields<T5Data>();
  type.check = check_t5;
  type.preset = sizes_of_given_t5;
  type.records = "tokens";
  type.sentencepiece = true;
  type.special_pieces = {};
  type.make_examples = make_t5_examples;
  type.task = [](const Recipe& r) { return task_of(finished(r)); };
  type.sizes_of_weights = sizes_of_weights;
  type.teacher = t5_teacher_of;
  type.model_files = [](const Recipe& r) {
    Json config = io::config_json(finished(r).task.model);
    checkpoint::add_t5_fields({.extra_ids = extra_ids_of(r)}, config);
    return std::map<std::string, std::string>{{"t5_config.json", config.dump(2) + "\n"}};
  };
  type.export_folder = export_t5;
  type.inference.generate = stored_t5_job;
  type.sampler = [](const Recipe& r, std::vector<std::string> texts,
                    std::shared_ptr<const pjrt::Client> client,
                    const model::ShardingPlan& placement) {
    return std::make_unique<const execution::SpanSampler>(std::move(client), span_job(r),
                                                          std::move(texts), placement);
  };
  type.more_measures = of_unigram;
  type.remark = t5_remark;
  type.baseline = {.measure = "word_loss",
                   .of = "unigram_loss",
                   .meaning = "each piece by its frequency alone",
                   .is_loss = true};
  return type;
}

}  // namespace smelt::pipeline
