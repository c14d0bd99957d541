#include "examples/bert_examples.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "data/record_index_file.h"
#include "examples/example_orders.h"
#include "format/crc32c.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace {

constexpr std::int64_t kLeastMemory = std::int64_t{256} << 20;

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

std::string key_of(const std::string& path) {
  return is_remote(path) ? parse_remote(path).key : path;
}

void check_job(const BertExamplesJob& job) {
  check_options(job.pairs);
  const bool original = job.order == "original";
  require(original || job.order == "shuffled", str("order '", job.order, "' is unknown"),
          "shuffled and original are known");
  require(!original || job.pairs.next_sentence, "order original always draws next sentences",
          "take the shuffled order");
  require(!original || (job.text.format.name == "auto" && job.text.sentences == "lines" &&
                        job.text.dedup == "none" && job.text.max_lines == 0),
          "order original reads text files as they are, one sentence a line",
          "take the shuffled order");
  require(job.shards >= 1, str("shards ", job.shards, " is less than 1"), "1 is one file");
  require(job.threads >= 0, str("threads ", job.threads, " is less than 0"), "0 takes all cores");
  require(job.memory >= kLeastMemory,
          str("memory of ", job.memory, " bytes is less than ", kLeastMemory),
          "the default is 1 GB");
}

// "dir/train.tfrecord" of 16 -> "dir/train-00000-of-00016.tfrecord", …
std::vector<std::string> shard_names(const std::string& path, std::int64_t shards) {
  const std::string key = key_of(path);
  const std::size_t name = key.rfind('/') + 1;
  const std::size_t dot = name + std::min(key.size() - name, key.substr(name).rfind('.'));
  std::vector<std::string> names;
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    char number[64];
    std::snprintf(number, sizeof number, "-%05lld-of-%05lld", static_cast<long long>(shard),
                  static_cast<long long>(shards));
    const std::string shard_key = key.substr(0, dot) + number + key.substr(dot);
    names.push_back(is_remote(path) ? parse_remote(path).with_key(shard_key) : shard_key);
  }
  return names;
}

std::vector<std::string> output_paths(const BertExamplesJob& job) {
  std::vector<std::string> paths;
  std::set<std::string> seen;
  for (const std::string_view piece : split(job.output, ',')) {
    const std::string path(trim(piece));
    if (path.empty()) continue;
    require(seen.insert(path).second, str("output ", path, " is given twice"),
            "name each file once");
    require(key_of(path).find_first_of("*?") == std::string::npos,
            str("output ", path, " is a pattern"),
            "name the output files one by one, separated by commas, or one file and --shards");
    paths.push_back(path);
  }
  require(!paths.empty(), "no output file", "name at least one");
  require(job.shards == 1 || paths.size() == 1,
          str(job.shards, " shards of ", paths.size(), " output files"),
          "name one file, or say no shards");
  return job.shards == 1 ? paths : shard_names(paths.front(), job.shards);
}

}  // namespace

void log_files(std::string_view title, const std::vector<std::string>& files) {
  spdlog::info("*** {} ***", title);
  for (const std::string& file : files) spdlog::info("  {}", file);
}

std::vector<std::string> with_companions(std::vector<std::string> outputs) {
  outputs.push_back(append_to_path(outputs.front(), ".json"));
  for (std::size_t i = outputs.size() - 1; i-- > 0;)
    outputs.push_back(record_index_path(outputs[i]));
  return outputs;
}

void check_free(const ExampleBuild& build) {
  check_bucket(build.outputs.front());
  for (const std::string& path : build.outputs)
    require(build.job.overwrite || !exists(path), str("output ", path, " exists already"),
            "choose another name, remove the file, or say --overwrite");
}

void write_description(const ExampleBuild& build, const BuildSummary& summary) {
  const BertExamplesJob& job = build.job;
  if (!job.description) return;
  const PairOptions& o = job.pairs;
  nlohmann::ordered_json out;
  out["kind"] = "bert";
  for (const std::string& path : build.outputs) out["files"].push_back(path_name(path));
  out["examples"] = summary.examples;
  out["seq_length"] = o.seq_length;
  out["max_predictions"] = o.max_predictions;
  out["vocabulary"] = {{"file", job.vocab}, {"crc32c", crc32c(read_file(job.vocab))}};
  const TokenizerOptions& tokenizer = build.reader.tokenizer().options();
  out["lower_case"] = tokenizer.lower_case;
  out["strip_accents"] = tokenizer.strips_accents();
  out["control_characters"] = name(tokenizer.control);
  out["order"] = job.order;
  out["next_sentence"] = o.next_sentence;
  out["whole_word_mask"] = o.whole_word_mask;
  out["masked_lm_prob"] = o.masked_lm_prob;
  out["short_seq_prob"] = o.short_seq_prob;
  out["dupe_factor"] = o.dupe_factor;
  out["seed"] = job.seed;
  out["text"] = {{"files", build.inputs},
                 {"documents", summary.text.documents},
                 {"sentences", summary.text.sentences},
                 {"tokens", summary.text.tokens},
                 {"unknown_tokens", summary.text.unknown_tokens},
                 {"dropped_bytes", summary.text.dropped_bytes},
                 {"duplicate_documents", summary.text.duplicate_documents},
                 {"duplicate_lines", summary.text.duplicate_lines}};
  out["masked_tokens"] = summary.masked_tokens;
  write_file(append_to_path(build.outputs.front(), ".json"), out.dump(2) + "\n");
}

BuildSummary build_bert_examples(const BertExamplesJob& job) {
  check_job(job);
  const std::vector<std::string> outputs = output_paths(job);
  const std::vector<std::string> inputs = expand_patterns(job.text.input, "input");
  require(file_size(job.vocab) > 0, str("vocabulary ", job.vocab, " is empty, or a pipe"),
          "name a file");
  std::vector<std::string> all_inputs = inputs;
  all_inputs.push_back(job.vocab);
  check_apart(with_companions(outputs), all_inputs);
  const CorpusReader reader(job.vocab, job.tokenizer);
  const ExampleBuild build{.job = job, .reader = reader, .inputs = inputs, .outputs = outputs};
  log_files("Reading from input files", inputs);
  const BuildSummary summary =
      job.order == "original" ? build_in_original_order(build) : build_in_shuffled_order(build);
  spdlog::info("Wrote {} total instances", summary.examples);
  return summary;
}

}  // namespace smelt
