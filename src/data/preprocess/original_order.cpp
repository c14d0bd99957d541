#include "data/preprocess/original_order.h"

#include "base/error.h"
#include "base/log.h"
#include "data/input_pipeline/record_index_file.h"
#include "io/filesystem/file.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"

namespace smelt::data {
namespace {

constexpr std::size_t kLoggedExamples = 20;

// Logs an example in the format of the original program.
void log_example(std::string_view record, const text::Vocabulary& vocabulary) {
  const auto data = io::RecordReader(record).next();
  const io::Example example(data.value(), "example");
  const auto& ids = example.integers("input_ids");
  const auto& mask = example.integers("input_mask");
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < ids.size() && mask[i] != 0; ++i)
    tokens.push_back(vocabulary.token(static_cast<std::int32_t>(ids[i])));
  log_info("*** Example ***");
  log_info("tokens: {}", join(tokens, " "));
  for (const std::string& name : example.names()) {
    if (name != "masked_lm_weights") {
      log_info("{}: {}", name, join(example.integers(name), " "));
      continue;
    }
    std::vector<std::string> weights;
    for (const float weight : example.reals(name)) weights.push_back(weight == 0 ? "0.0" : "1.0");
    log_info("{}: {}", name, join(weights, " "));
  }
}

}  // namespace

ExampleSummary build_in_original_order(const CheckedJob& checked, const BertExamplesJob& job,
                                       const CorpusReader& reader, const BertBuilder& builder) {
  const ExampleFiles& outputs = checked.files;
  check_free(outputs);
  ExampleSummary summary;
  TokenCorpus corpus = reader.read(checked.inputs, job.text.limits.strict, summary.text);
  PythonRandom random(job.seed);
  const MaskVocabulary& vocabulary = reader.mask_vocabulary();
  const PairList list = draw_original_pairs(corpus, vocabulary, job.pairs, random);
  log_files("Writing to output files", outputs.outputs);
  std::vector<io::OutputFile> files;
  for (const std::string& path : outputs.outputs) files.emplace_back(path);
  std::vector<RecordIndexBuilder> indexes(files.size());
  BertEncoder encoder(vocabulary, job.pairs);
  std::string record;
  for (std::size_t i = 0; i < list.pairs.size(); ++i) {
    record.clear();
    const MaskedPair pair = list.view(corpus, list.pairs[i]);
    builder.count(pair, summary.counts);
    encoder.append(pair, record);
    indexes[i % files.size()].add(record, pair.tokens());
    if (job.log_examples && i < kLoggedExamples)
      log_example(record, reader.tokenizer().vocabulary());
    files[i % files.size()].write(record);
  }
  for (io::OutputFile& file : files) file.flush();
  remove_old_description(outputs);
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].commit();
    if (outputs.indexes) indexes[i].write(outputs.outputs[i]);
  }
  summary.examples = list.pairs.size();
  write_description(checked, builder, name(job.order), summary);
  return summary;
}

}  // namespace smelt::data
