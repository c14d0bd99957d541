#include "compress/prune_data.h"

#include <unistd.h>

#include "base/error.h"
#include "checkpoint/stored_classifier.h"
#include "compress/mask_fisher.h"
#include "examples/labelled_examples.h"
#include "examples/text_to_text_examples.h"
#include "format/config.h"
#include "models/t5_config.h"
#include "runtime/hardware.h"
#include "tasks/classify_task.h"
#include "tasks/t5_task.h"
#include "tokenize/sentinels.h"
#include "tokenize/tokenizer.h"

namespace smelt {
namespace {

constexpr const char* kInput = "--input";

// The task, whose examples are in `records` then.
Task classifier_data(const StoredModel& model, const PruneData& data, const std::string& records) {
  ClassifyTask task{.encoder = parse_encoder(stored_encoder_name(model), model.config, model.where),
                    .seq_length = data.seq_length,
                    .lengths = {},
                    .labels = stored_head(model).labels,
                    .dropout = 0};
  if (task.labels.problem == Problem::answer_spans)
    throw UsageError(str("compress: ", data.rows.input, ": neurons of a model that answers ",
                         "questions are not chosen by rows yet"),
                     "cut layers (--layers)");
  const Task out = classify_task(task);  // which refuses a length before rows are read
  LabelledExamplesJob job;
  job.rows = data.rows;
  job.rows.words = task.labels.problem == Problem::token_labels;
  job.what = kInput;
  job.labels = task.labels;
  job.vocab = model.vocab;
  job.seq_length = data.seq_length;
  job.output = records;
  write_labelled_examples(job);
  return out;
}

Task t5_data(const StoredModel& model, const PruneData& data, const std::string& records) {
  const auto tokenizer = load_tokenizer(model.vocab, {});
  const std::int32_t end = id_of_piece(*tokenizer, model.vocab, "</s>");
  TextToTextExamplesJob job;
  job.rows = data.rows;
  job.what = kInput;
  job.prefix = data.prefix;
  job.encode = [&](std::string_view text) {
    std::vector<std::int32_t> ids;
    tokenizer->encode(text, ids);
    ids.push_back(end);
    return ids;
  };
  job.inputs_length = data.seq_length;
  job.targets_length = data.target_length;
  job.vocab = model.vocab;
  job.output = records;
  write_text_to_text(job);
  return t5_task({.model = parse_config<T5Config>(model.config, model.where),
                  .settings = {.z_loss = 0},
                  .inputs_length = data.seq_length,
                  .targets_length = data.target_length});
}

std::vector<MaskedProduct> products_of(const std::vector<CutGroup>& groups) {
  std::vector<MaskedProduct> out;
  for (const CutGroup& group : groups)
    for (const CutProduct& product : group.products)
      out.push_back({product.parameter, group.units});
  return out;
}

}  // namespace

std::vector<std::vector<double>> importances(const SourceFolder& source, const PruneData& data,
                                             const std::vector<CutGroup>& groups) {
  const StoredModel model = open_stored_model(source.folder, "compress");
  const std::string job_name = str(source.where, " ", ::getpid(), " rows");
  WorkFolder work(temporary_work_folder("compress", job_name));
  work.begin({{"compress", job_name}});
  const std::string records = work.file("rows.tfrecord");
  const Task task = source.kind == CompressKind::t5 ? t5_data(model, data, records)
                                                    : classifier_data(model, data, records);
  const auto examples = open_examples({.input = records,
                                       .features = task.features,
                                       .seed = data.seed,
                                       .kind = task.record_kind,
                                       .foreign = task.foreign});
  const HeldTensors weights = hold_tensors(model.tensors);
  const auto found = mask_fisher({.task = task,
                                  .products = products_of(groups),
                                  .examples = data.examples,
                                  .batch_size = data.batch_size,
                                  .device = chosen_device(data.device),
                                  .where = source.where},
                                 *examples, weights.tensors);
  std::vector<std::vector<double>> out;
  auto next = found.begin();
  for (const CutGroup& group : groups) {
    std::vector<double> sum(static_cast<std::size_t>(group.units));
    for (std::size_t i = 0; i < group.products.size(); ++i, ++next)
      for (std::size_t unit = 0; unit < sum.size(); ++unit) sum[unit] += (*next)[unit];
    out.push_back(std::move(sum));
  }
  return out;
}

}  // namespace smelt
