#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "examples/document_buckets.h"
#include "examples/example_orders.h"
#include "examples/example_shuffle.h"
#include "examples/work_folder.h"
#include "format/crc32c.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

// Of the temporary files; another version of smelt does not go on with them.
constexpr int kWorkVersion = 1;
// Written last before the shards are: drawing is over.
constexpr const char *kState = "examples.json", *kIndex = "examples.index";

std::string default_work_folder(const std::string& output) {
  if (!is_remote(output)) return output + ".work";
  return fs::temp_directory_path() / str("smelt-", random_key(0, output));
}

Json file_state(const std::string& path) {
  const FileStatus status = file_status(path).value_or(FileStatus{});
  return {path, status.size, status.modified};
}

// All that decides the bytes of the result.
Json job_description(const ExampleBuild& build) {
  const BertExamplesJob& job = build.job;
  const PairOptions& p = job.pairs;
  const TokenizerOptions& t = build.reader.tokenizer().options();
  Json inputs = Json::array();
  for (const std::string& path : build.inputs) inputs.push_back(file_state(path));
  return {{"version", kWorkVersion},
          {"inputs", inputs},
          {"format", job.text.format.name},
          {"field", job.text.format.field},
          {"sentences", job.text.sentences},
          {"dedup", job.text.dedup},
          {"max_lines", job.text.max_lines},
          {"strict", job.text.strict},
          {"vocabulary", crc32c(read_file(job.vocab))},
          {"tokenizer", {t.lower_case, t.strips_accents(), name(t.control), t.split_chinese}},
          {"outputs", build.outputs},
          {"seed", job.seed},
          {"pairs",
           {p.seq_length, p.max_predictions, p.dupe_factor, p.masked_lm_prob, p.short_seq_prob,
            p.whole_word_mask, p.next_sentence}}};
}

Json counts_json(const CorpusCounts& c) {
  return {c.files,          c.documents,     c.sentences,           c.tokens,
          c.unknown_tokens, c.dropped_bytes, c.duplicate_documents, c.duplicate_lines};
}

CorpusCounts counts_of(const Json& json) {
  return {.files = json[0],
          .documents = json[1],
          .sentences = json[2],
          .tokens = json[3],
          .unknown_tokens = json[4],
          .dropped_bytes = json[5],
          .duplicate_documents = json[6],
          .duplicate_lines = json[7]};
}

struct Drawn {
  ShuffledExamples examples;
  CorpusCounts text;
};

void save(const WorkFolder& folder, const Drawn& drawn) {
  drawn.examples.spill.save(folder.file(kIndex));
  write_file(folder.file(kState), Json{{"examples", drawn.examples.examples},
                                       {"masked_tokens", drawn.examples.masked_tokens},
                                       {"ranges", drawn.examples.ranges},
                                       {"text", counts_json(drawn.text)}}
                                      .dump());
}

Drawn load(const WorkFolder& folder) {
  const Json state = Json::parse(read_file(folder.file(kState)));
  return {.examples = {.spill = Spill::load(folder.file(kIndex)),
                       .examples = state["examples"],
                       .masked_tokens = state["masked_tokens"],
                       .ranges = state["ranges"]},
          .text = counts_of(state["text"])};
}

void check_sentences(const CorpusCounts& text, const PairOptions& pairs) {
  if (!pairs.next_sentence || text.sentences > text.documents) return;
  throw UsageError(str("training data: none of the ", text.documents,
                       " documents has more than one sentence, so "
                       "every next sentence would be random"),
                   "put a sentence on a line and an empty line only between documents, or say "
                   "--no-next-sentence");
}

Drawn draw(const ExampleBuild& build, const ShuffleOptions& options) {
  const BertExamplesJob& job = build.job;
  DocumentReader reader(job.text);
  const DocumentBuckets documents = scatter_documents(reader, build.reader.tokenizer(),
                                                      {.folder = options.folder,
                                                       .seed = options.seed,
                                                       .threads = options.threads,
                                                       .memory = options.memory / 4});
  if (documents.counts.documents == 0) throw_no_text(build.inputs.size());
  check_sentences(documents.counts, job.pairs);
  Drawn drawn;
  drawn.text = documents.counts;
  drawn.examples = scatter_examples(documents, build.reader.mask_vocabulary(), job.pairs, options);
  for (const auto& entry : fs::directory_iterator(options.folder))
    if (entry.path().filename().string().starts_with("documents-")) fs::remove(entry.path());
  return drawn;
}

}  // namespace

BuildSummary build_in_shuffled_order(const ExampleBuild& build) {
  const BertExamplesJob& job = build.job;
  WorkFolder folder(job.work.empty() ? default_work_folder(build.outputs.front()) : job.work,
                    job_description(build));
  const ShuffleOptions options{
      .folder = folder.path(),
      .seed = static_cast<std::uint64_t>(job.seed),
      .threads = job.threads > 0 ? static_cast<int>(job.threads) : available_threads(),
      .memory = static_cast<std::size_t>(job.memory),
      .shards = build.outputs.size()};
  Drawn drawn;
  if (exists(folder.file(kState))) {
    drawn = load(folder);
    remove_abandoned(with_companions(build.outputs));
    spdlog::info("going on with a run that was stopped: {} of {} files are whole",
                 std::ranges::count_if(build.outputs, exists), build.outputs.size());
  } else {
    check_free(build);
    drawn = draw(build, options);
    for (const std::string& path : with_companions(build.outputs)) remove_file(path);
    save(folder, drawn);
  }
  folder.keep(true);
  log_files("Writing to output files", build.outputs);
  write_shards(drawn.examples, build.reader.mask_vocabulary(), job.pairs, options, build.outputs);
  const BuildSummary summary{.text = drawn.text,
                             .examples = drawn.examples.examples,
                             .masked_tokens = drawn.examples.masked_tokens};
  write_description(build, summary);
  folder.keep(false);
  return summary;
}

}  // namespace smelt
