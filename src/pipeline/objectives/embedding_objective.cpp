// model.type: embedding.

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/sentence_transformers.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/lazy_files.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/row_commands.h"
#include "pipeline/config/train_job.h"
#include "pipeline/objectives/embedding_data.h"
#include "pipeline/objectives/embedding_fields.h"
#include "pipeline/objectives/embedding_predictions.h"
#include "pipeline/objectives/embedding_source.h"
#include "pipeline/objectives/objectives.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::pipeline {
namespace {

// Returns the folder whose layer sizes and pooling the model uses; empty if none is given.
std::string source_of(const Recipe& r) {
  const std::string like = embedding_model(r).like;
  return like.empty() ? r.train.init_from : like;
}

// Returns the encoder of the recipe. A run that has begun reads it from its state.
model::Encoder embedding_encoder(const Recipe& r,
                                 const std::optional<checkpoint::SavedState>& begun) {
  if (begun && begun->state.contains("encoder"))
    return model::parse_encoder(begun->state["encoder"].get<std::string>(), begun->state["model"],
                                begun->path);
  if (const std::string source = source_of(r); !source.empty())
    return encoder_to_embed_in(source,
                               embedding_model(r).like.empty() ? "train.init_from" : "model.like");
  throw UsageError("train.init_from: no pre-trained model to fine-tune",
                   "name the folder of a BERT, RoBERTa, ModernBERT or ELECTRA with --set "
                   "train.init_from=…; to train from random weights, set model.like and "
                   "vocab.file");
}

model::EmbeddingTask embedding_settings(const Recipe& r) {
  const EmbeddingModel model = embedding_model(r);
  io::EmbeddingForm form{.normalize = model.normalize,
                         .similarity = model.similarity,
                         .seq_length = embedding_data(r).seq_length};
  form.pooling =
      model.pooling ? *model.pooling
                    : pooling_in_source(r.train.init_from.empty() ? model.like : r.train.init_from);
  const auto begun = state_to_resume(r);
  if (begun && !model.pooling)
    if (const Json* pooling = begun->state.pointer("/embedding/pooling"))
      form.pooling = io::field_choice<io::Pooling>(begun->path, pooling->get<std::string>());
  return {.encoder = embedding_encoder(r, begun),
          .form = form,
          .loss = model.loss,
          .scale = model.scale,
          .texts = texts_per_example(r),
          .mask_duplicates = model.mask_duplicates,
          .matryoshka = positive_numbers_in("model.matryoshka", model.matryoshka,
                                            "dimensions such as 128,64"),
          .lengths = embedding_lengths(r)};
}

// Returns defaults of fine-tuning for unset fields, those of sentence-transformers.
FieldValues embedding_preset(const FieldValues& set) {
  FieldValues out;
  const auto add = [&](const char* field, const char* value,
                       std::initializer_list<const char*> or_) {
    for (const char* other : or_)
      if (set.contains(other)) return;
    out.emplace(field, value);
  };
  add("train.epochs", "1", {"train.epochs", "train.steps", "train.length", "train.budget.usd"});
  add("train.schedule.warmup_ratio", "0.1",
      {"train.schedule.warmup_ratio", "train.schedule.warmup_steps", "train.schedule.warmup"});
  add("train.optimizer.learning_rate", "2e-5", {"train.optimizer.learning_rate"});
  return out;
}

void check_loss(const RecipeChecks& checks, const Recipe& r) {
  const EmbeddingModel model = embedding_model(r);
  const EmbeddingData data = embedding_data(r);
  const bool scored = model::reads_scores(model.loss);
  checks.require(!scored || (data.negative.empty() && data.negatives == 0),
                 {"data.negative", "data.negatives", "model.loss"},
                 "data.negative and data.negatives are only for model.loss ranking", "remove them");
  checks.require(data.negatives == 0 || !data.negative.empty(), {"data.negatives", "data.negative"},
                 "data.negatives needs data.negative",
                 "name the column of the negatives with data.negative");
  checks.require(scored || data.score.empty(), {"data.score", "model.loss"},
                 "data.score is set, but model.loss ranking reads no scores",
                 "set model.loss to cosent, or remove data.score");
  checks.require(
      model.loss == model::EmbeddingLoss::ranking || model.similarity == io::Similarity::cosine,
      {"model.similarity", "model.loss"}, "model.similarity dot is only for model.loss ranking",
      "use cosine");
  checks.require(r.train.batch_size >= 2 || model.loss == model::EmbeddingLoss::cosine,
                 {"train.batch_size"},
                 str("train.batch_size is ", r.train.batch_size,
                     ", must be at least 2: the loss compares the rows of a batch"),
                 "use 32 or more");
  checks.require(
      r.train.reduction == model::Reduction::global, {"train.parallelism.reduction"},
      "train.parallelism.reduction per_replica cannot be combined with model.type embedding: the "
      "loss compares the rows of all devices",
      "use global");
  checks.within("model.scale", 0, std::numeric_limits<double>::infinity(),
                RecipeChecks::Ends::without);
  checks.within("data.max_score", 0, std::numeric_limits<double>::infinity(),
                RecipeChecks::Ends::without);
  checks.at_least("data.negatives", 0);
}

void check_embedding(const Recipe& r) {
  const RecipeChecks checks(r);
  check_loss(checks, r);
  checks.at_least("data.seq_length", 5);
  check_validation_share(r);
  checks.within("data.max_bad", 0, 1);
  checks.one_of("data.format", {"auto", "jsonl", "tsv", "tsv-quoted", "csv", "parquet"});
  checks.accepts({"data.lengths"}, [&] { (void)embedding_lengths(r); });
  check_row_commands(r);
  checks.require(r.ready.records.empty() || embedding_data(r).train.empty(),
                 {"data.records", "data.train"}, "data.records and data.train are both set",
                 "set only one of them");
  model::EmbeddingTask settings;
  checks.accepts({"model.like", "train.init_from", "model.matryoshka"},
                 [&] { settings = embedding_settings(r); });
  checks.fits_positions(embedding_data(r).seq_length,
                        model::encoder_sizes(settings.encoder).max_position_embeddings);
  model::Task task;
  checks.accepts({"model.matryoshka"}, [&] { task = model::embedding_task(settings); });
  check_program(r, task);
}

void export_embedding(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r);
  const model::EmbeddingTask task = embedding_settings(r);
  const checkpoint::Checkpoint checkpoint = checkpoint::parameters_of(
      execution::load_trained_model("export", paths.trained,
                                    model::encoder_config_json(task.encoder), paths.vocab,
                                    r.eval.averaged)
          .checkpoint);
  checkpoint::SentenceTransformersModel model{
      .encoder = task.encoder, .form = task.form, .folder = {}};
  model.folder.vocab_txt = text::vocabulary_bytes(paths.vocab);
  model.folder.tokenizer = text::tokenizer_options(paths.vocab, tokenizer_flags(r));
  checkpoint::export_sentence_transformers(
      folder, std::move(model), checkpoint::lazy_tensors(checkpoint.tensors),
      {.earlier = folder == paths.hugging_face ? io::OutputDirectory::Earlier::replaced
                                               : io::OutputDirectory::Earlier::refused});
  log_info("export: {} contains step {} for sentence-transformers' SentenceTransformer", folder,
           checkpoint.step);
}

}  // namespace

ObjectiveType embedding_objective() {
  ObjectiveType type;
  type.name = "embedding";
  type.help =
      "fine-tunes a BERT, RoBERTa, ModernBERT or ELECTRA for embeddings of texts: semantic search "
      "and similarity";
  type.model = io::config_fields<EmbeddingModel>();
  type.data = io::config_fields<EmbeddingData>();
  type.preset = embedding_preset;
  type.reads = Reads::rows;
  type.rows = embedding_row_files;
  type.check_rows = check_embedding_rows;
  type.inference.embeds = true;
  type.example_fields = {"loss"};
  type.beside_examples = {"lengths"};
  type.check = check_embedding;
  type.make_examples = make_embedding_examples;
  type.task = [](const Recipe& r) { return model::embedding_task(embedding_settings(r)); };
  type.write_predictions = [](const Recipe& r) {
    return write_embedding_predictions(r, embedding_settings(r));
  };
  type.generated_measures = {"spearman"};
  for (const std::string& name : retrieval_measures()) type.generated_measures.push_back(name);
  type.state_measures = [](const Recipe& r, std::shared_ptr<const pjrt::Client> client) {
    return embedding_measures(r, embedding_settings(r), std::move(client));
  };
  type.metric = [](const Recipe& r) {
    return model::reads_scores(embedding_model(r).loss) ? "spearman" : "mrr";
  };
  type.sample_prediction = [](const Recipe&) {
    return SamplePrediction{.prediction = 0.5, .label = 1};
  };
  type.export_folder = export_embedding;
  return type;
}

}  // namespace smelt::pipeline
