#include "compress/prune_data.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "checkpoint/interop/stored_classifier.h"
#include "compress/mask_fisher.h"
#include "data/preprocess/labelled_examples.h"
#include "data/preprocess/text_to_text_examples.h"
#include "io/filesystem/file.h"
#include "io/formats/config.h"
#include "model/models/t5_config.h"
#include "model/tasks/classify_task.h"
#include "model/tasks/t5_task.h"
#include "pjrt/hardware.h"
#include "text/tokenizers/casing.h"
#include "text/tokenizers/sentinels.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt::compress {
namespace {

// Encodes the rows to `records` and returns the task.
model::Task classifier_data(const checkpoint::StoredModel& model, const PruneData& data,
                            const std::string& records) {
  model::ClassifyTask task{.encoder = model::parse_encoder(checkpoint::stored_encoder_name(model),
                                                           model.config, model.where),
                           .seq_length = data.seq_length,
                           .lengths = {},
                           .labels = checkpoint::stored_head(model).labels,
                           .dropout = 0};
  if (task.labels.problem == io::Problem::answer_spans)
    throw UsageError(str("compress: ", data.rows.input, ": calibration data is not supported for ",
                         "question-answering models"),
                     str("remove ", data.what, ": prune layers, round to nearest, or use ",
                         "--activations dynamic"));
  const model::Task out =
      model::classify_task(task);  // rejects an unsupported length before rows are read
  data::LabelledExamplesJob job;
  job.rows = data.rows;
  job.rows.words = task.labels.problem == io::Problem::token_labels;
  job.what = data.what;
  job.labels = task.labels;
  job.vocab = model.vocab;
  job.tokenizer = text::with_vocabulary_options({}, model.vocab, {});
  job.seq_length = data.seq_length;
  job.output = records;
  data::write_labelled_examples(job);
  return out;
}

model::Task t5_data(const checkpoint::StoredModel& model, const PruneData& data,
                    const std::string& records) {
  const auto tokenizer = text::load_tokenizer(model.vocab, {});
  const std::int32_t end = text::id_of_piece(*tokenizer, model.vocab, "</s>");
  data::TextToTextExamplesJob job;
  job.rows = data.rows;
  job.what = data.what;
  job.prefix = data.prefix.value_or(model.t5.prefix);
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
  data::write_text_to_text(job);
  return model::t5_task({.model = io::parse_config<model::T5Config>(model.config, model.where),
                         .settings = {.z_loss = 0},
                         .inputs_length = data.seq_length,
                         .targets_length = data.target_length});
}

std::vector<MaskedProduct> products_of(const std::vector<PruneGroup>& groups) {
  std::vector<MaskedProduct> out;
  for (const PruneGroup& group : groups)
    for (const PruneTarget& product : group.products)
      out.push_back({product.parameter, group.units});
  return out;
}

PruneData with_length(PruneData data, const SourceFolder& source) {
  constexpr std::int64_t kMost = 128;
  if (data.seq_length == 0)
    data.seq_length = std::min(kMost, source.config.value("max_position_embeddings", kMost));
  return data;
}

}  // namespace

Json rows_json(const PruneData& data) {
  return {{"input", data.rows.input},
          {"input_crc32c", crc32c_of_files(io::expand_files(data.rows.input, data.what))},
          {"examples", data.examples},
          {"batch", data.batch_size},
          {"seed", data.seed}};
}

struct PruneRows::Opened {
  Opened(const SourceFolder& source, const PruneData& d, const std::string& job)
      : model(checkpoint::open_stored_model(source.folder, "compress", false,
                                            checkpoint::BertGelu::as_written)),
        work(data::temporary_work_folder("compress", job)),
        data(with_length(d, source)),
        where(source.where) {
    if (model.vocab.empty())
      throw UsageError(str("compress: ", where, ": no vocabulary found in the model's folder"),
                       "copy its vocab.txt, spiece.model or tokenizer.json there");
    checkpoint::check_vocabulary_rows(model, "compress");
    work.begin({{"compress", job}});
    const std::string records = work.file("rows.tfrecord");
    task = source.kind == CompressKind::t5 ? t5_data(model, data, records)
                                           : classifier_data(model, data, records);
    examples = data::open_examples({.input = records,
                                    .features = task.features,
                                    .seed = data.seed,
                                    .kind = task.record_kind,
                                    .foreign = task.foreign});
    weights = checkpoint::load_into_memory(model.tensors);
  }

  checkpoint::StoredModel model;
  data::WorkFolder work;
  PruneData data;
  std::string where;
  model::Task task;
  std::shared_ptr<const data::ExampleSource> examples;
  checkpoint::TensorsInMemory weights;
};

PruneRows::PruneRows(const SourceFolder& source, const PruneData& data)
    : opened_(std::make_unique<const Opened>(source, data,
                                             str(source.where, " ", ::getpid(), " rows"))) {}

PruneRows::~PruneRows() = default;

RowPass PruneRows::pass() const {
  return {.examples = *opened_->examples,
          .weights = opened_->weights.tensors,
          .most = opened_->data.examples,
          .batch_size = opened_->data.batch_size,
          .device = pjrt::chosen_device(opened_->data.device),
          .where = opened_->where};
}

std::vector<std::vector<double>> PruneRows::importances(
    const std::vector<PruneGroup>& groups) const {
  const auto found = mask_fisher(opened_->task, products_of(groups), pass());
  std::vector<std::vector<double>> out;
  auto next = found.begin();
  for (const PruneGroup& group : groups) {
    std::vector<double> sum(static_cast<std::size_t>(group.units));
    for (std::size_t i = 0; i < group.products.size(); ++i, ++next)
      for (std::size_t unit = 0; unit < sum.size(); ++unit) sum[unit] += (*next)[unit];
    out.push_back(std::move(sum));
  }
  return out;
}

void PruneRows::each_input(const std::vector<std::string>& parameters,
                           const std::function<void(InputSums sums)>& take) const {
  each_input_sums(opened_->task, parameters, pass(), take);
}

ChannelNumbers PruneRows::channel_maxima(const std::vector<std::string>& parameters) const {
  return smelt::compress::channel_maxima(opened_->task, parameters, pass());
}

std::map<std::string, AbsHistogram> PruneRows::histograms(
    const std::vector<std::string>& parameters, const ChannelNumbers& factors) const {
  return input_histograms(opened_->task, parameters, factors, pass());
}

std::vector<MaskScales> PruneRows::scales(
    const std::vector<PruneGroup>& groups,
    const std::vector<std::vector<std::int64_t>>& kept) const {
  CHECK(groups.size() == kept.size(), groups.size(), " ", kept.size());
  std::vector<ScaledProduct> products;
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (const PruneTarget& product : groups[i].products)
      products.push_back({product.parameter, groups[i].units, kept[i]});
  return mask_scales(opened_->task, products, pass());
}

}  // namespace smelt::compress
