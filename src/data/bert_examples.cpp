#include "data/bert_examples.h"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "data/example_shards.h"
#include "format/crc32c.h"
#include "store/file.h"

namespace smelt {
namespace {

void require(bool condition, const std::string& what, std::string_view hint) {
  if (!condition) throw UsageError(str("training data: ", what), hint);
}

void check_options(const PairOptions& o) {
  require(o.seq_length >= 5,
          str("seq_length ", o.seq_length, " is less than the 5 of [CLS] a [SEP] b [SEP]"),
          "the usual lengths are 128 and 512");
  require(o.max_predictions >= 1, str("max_predictions ", o.max_predictions, " is less than 1"),
          str("about seq_length x masked_lm_prob: ", o.seq_length, " x ", o.masked_lm_prob));
  require(o.dupe_factor >= 1, str("dupe_factor ", o.dupe_factor, " is less than 1"),
          "5 and 10 are usual");
  require(o.masked_lm_prob > 0 && o.masked_lm_prob < 1,
          str("masked_lm_prob ", o.masked_lm_prob, " is not between 0 and 1"), "0.15 is usual");
  require(o.short_seq_prob >= 0 && o.short_seq_prob <= 1,
          str("short_seq_prob ", o.short_seq_prob, " is not between 0 and 1"), "0.1 is usual");
}

std::vector<std::string> output_paths(const BertExamplesJob& job) {
  std::vector<std::string> paths;
  std::set<std::string> seen;
  for (const std::string_view piece : split(job.output, ',')) {
    const std::string path(trim(piece));
    if (path.empty()) continue;
    require(seen.insert(path).second, str("output ", path, " is given twice"), "name each file once");
    require(path.find_first_of("*?") == std::string::npos, str("output ", path, " is a pattern"),
            "name the output files one by one, separated by commas");
    require(job.overwrite || !std::filesystem::exists(path), str("output ", path, " exists already"),
            "choose another name, remove the file, or say --overwrite");
    paths.push_back(path);
  }
  require(!paths.empty(), "no output file", "name at least one");
  return paths;
}

// What the examples were made with, so that a training can tell whether they fit its model.
std::string description(const BertExamplesJob& job, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const BuildSummary& summary) {
  const PairOptions& o = job.pairs;
  nlohmann::ordered_json out;
  out["kind"] = "bert";
  out["files"] = outputs;
  out["examples"] = summary.examples;
  out["seq_length"] = o.seq_length;
  out["max_predictions"] = o.max_predictions;
  out["vocabulary"] = {{"file", job.vocab}, {"crc32c", crc32c(read_file(job.vocab))}};
  out["lower_case"] = job.lower_case;
  out["whole_word_mask"] = o.whole_word_mask;
  out["masked_lm_prob"] = o.masked_lm_prob;
  out["short_seq_prob"] = o.short_seq_prob;
  out["dupe_factor"] = o.dupe_factor;
  out["seed"] = job.seed;
  out["text"] = {{"files", inputs},
                 {"documents", summary.text.documents},
                 {"sentences", summary.text.sentences},
                 {"tokens", summary.text.tokens},
                 {"unknown_tokens", summary.text.unknown_tokens},
                 {"dropped_bytes", summary.text.dropped_bytes}};
  out["masked_tokens"] = summary.masked_tokens;
  return out.dump(2) + "\n";
}

void log_files(std::string_view title, const std::vector<std::string>& files) {
  spdlog::info("*** {} ***", title);
  for (const std::string& file : files) spdlog::info("  {}", file);
}

}  // namespace

BuildSummary build_bert_examples(const BertExamplesJob& job) {
  check_options(job.pairs);
  const std::vector<std::string> outputs = output_paths(job);
  const std::vector<std::string> inputs = expand_patterns(job.input, "input");
  log_files("Reading from input files", inputs);
  const CorpusReader reader(job.vocab, job.lower_case);
  BuildSummary summary;
  TokenCorpus corpus = reader.read(inputs, job.strict, summary.text);

  PythonRandom rng(job.seed);
  const SentencePairs pairs(corpus, reader.mask_vocabulary(), job.pairs, rng);
  log_files("Writing to output files", outputs);
  ExampleShards shards(outputs, job.pairs);
  for (const SentencePair& pair : pairs.pairs()) {
    shards.write(pairs, pair);
    summary.masked_tokens += pair.mask_count;
  }
  summary.examples = pairs.pairs().size();
  shards.commit();
  if (job.description)
    write_file(outputs.front() + ".json", description(job, inputs, outputs, summary));
  spdlog::info("Wrote {} total instances", summary.examples);
  return summary;
}

}  // namespace smelt
