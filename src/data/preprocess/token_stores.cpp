#include "data/preprocess/token_stores.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "data/input_pipeline/data_paths.h"
#include "data/input_pipeline/record_index.h"
#include "data/input_pipeline/snapshot_folder.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/token_store.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::data {
namespace {

constexpr std::size_t kTextBytes = 1 << 20;  // text that a thread tokenizes at a time
constexpr std::size_t kIdsAtOnce = 1 << 16;
constexpr std::int32_t kMostNarrow = std::numeric_limits<std::uint16_t>::max();

void check_free(const std::string& path, bool overwrite) {
  if (!overwrite && io::exists(path))
    throw UsageError(str("--out: ", path, " exists"), "choose another name or give --overwrite");
}

io::TokenVocabulary vocabulary_of(const std::string& path, const text::Tokenizer& tokenizer) {
  return {.size = static_cast<std::uint64_t>(tokenizer.size()),
          .crc32c = text::vocabulary_crc32c(path)};
}

std::optional<std::int32_t> document_end_of(const TextTokensJob& job,
                                            const text::Tokenizer& tokenizer) {
  if (job.document_end.empty()) return std::nullopt;
  if (const auto id = text::find_piece(tokenizer, job.document_end)) return id;
  throw UsageError(str("--document-end: ", job.vocab, " has no piece '", job.document_end, "'"),
                   str("name one of its pieces, such as ", tokenizer.token(0)));
}

// Documents that are tokenized together, numbered in input order.
struct TextPart {
  std::size_t number = 0;
  std::vector<text::Document> documents;
};
struct TokenPart {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> ends;  // ends of the documents in ids
  CorpusCounts counts;            // of sentences, characters and unknown tokens
};

TokenPart tokenize_part(const TextPart& part, const text::Tokenizer& tokenizer,
                        std::optional<std::int32_t> document_end) {
  TokenPart out;
  for (const text::Document& document : part.documents) {
    const std::size_t before = out.ids.size();
    for (std::size_t i = 0; i < document.size(); ++i) {
      const std::size_t begin = out.ids.size();
      tokenizer.encode(document.sentence(i), out.ids);
      add_sentence(document.sentence(i), std::span(out.ids).subspan(begin), tokenizer, out.counts);
    }
    if (out.ids.size() == before) continue;
    out.counts.sentences += document.size();
    if (document_end) out.ids.push_back(*document_end);
    out.ends.push_back(out.ids.size());
  }
  return out;
}

void write_part(const TokenPart& part, io::TokenStoreWriter& store, CorpusCounts& counts) {
  std::size_t before = 0;
  for (const std::size_t end : part.ends) {
    store.add(std::span(part.ids).subspan(before, end - before));
    store.end_document();
    before = end;
  }
  add_text(part.counts, counts);
}

void read_parts(text::DocumentReader& reader, BoundedQueue<TextPart>& queue) {
  Progress progress("tokenizing", static_cast<std::int64_t>(reader.total_bytes()),
                    Progress::kBytes);
  TextPart part;
  std::size_t bytes = 0;
  for (text::Document document; reader.next(document); document = {}) {
    bytes += document.text.size();
    part.documents.push_back(std::move(document));
    if (bytes < kTextBytes) continue;
    const std::size_t next = part.number + 1;
    if (!queue.push(std::move(part))) return;
    part = {.number = next, .documents = {}};
    bytes = 0;
    progress.update(static_cast<std::int64_t>(reader.bytes_read()));
  }
  queue.push(std::move(part));
}

// Tokenizes on all threads. A thread writes its part when all previous parts are written.
void tokenize_all(text::DocumentReader& reader, const text::Tokenizer& tokenizer,
                  const TextTokensJob& job, io::TokenStoreWriter& store, CorpusCounts& counts) {
  const std::optional<std::int32_t> document_end = document_end_of(job, tokenizer);
  const int threads = job.threads > 0 ? job.threads : available_threads();
  BoundedQueue<TextPart> queue(static_cast<std::size_t>(threads));
  OrderedGate turn;
  const auto stop = [&] {
    queue.close();
    turn.stop();
  };
  const auto body = [&](int worker) {
    if (worker == threads) {
      read_parts(reader, queue);
      queue.close();
      return;
    }
    while (const auto part = queue.pop()) {
      const TokenPart tokens = tokenize_part(*part, tokenizer, document_end);
      if (!turn.wait(part->number)) return;
      write_part(tokens, store, counts);
      turn.leave(part->number);
    }
  };
  run_parallel(threads + 1, body, stop);
}

// Converts the folders in parallel, one per thread.
class Converter {
 public:
  explicit Converter(const SnapshotTokensJob& job) {
    if (job.vocab.empty()) return;
    vocabulary_ = vocabulary_of(job.vocab, *text::load_tokenizer(job.vocab, {}));
    vocab_ = job.vocab;
  }

  ConvertedSnapshot convert(const std::string& input, const std::string& output) const {
    const std::size_t known = vocabulary_.id_bytes();
    if (vocabulary_.size > 0) return *write(input, output, known);
    if (auto narrow = write(input, output, 2)) return *narrow;
    return *write(input, output, 4);  // an id was too large for 2 bytes
  }

 private:
  // Returns nullopt and writes nothing if an id does not fit.
  std::optional<ConvertedSnapshot> write(const std::string& input, const std::string& output,
                                         std::size_t id_bytes) const {
    SnapshotReader reader(open_snapshot(input));
    io::OutputFile file(output);
    ConvertedSnapshot out{.input = input, .output = output};
    io::TokenStoreWriter store(vocabulary_, id_bytes, [&](std::string_view bytes) {
      file.write(bytes);
      out.bytes += bytes.size();
    });
    std::vector<std::int32_t> ids;
    while (reader.next(ids)) {
      if (reader.scalar() && ids.size() < kIdsAtOnce) continue;
      if (!add(ids, store, input)) return std::nullopt;
      if (!reader.scalar()) store.end_document();
    }
    if (!add(ids, store, input)) return std::nullopt;
    if (store.tokens() == 0)
      throw UsageError(str(input, ": holds no tokens"), "leave this folder out of the input");
    store.finish();
    file.commit();
    out.tokens = store.tokens();
    out.documents = store.documents();
    return out;
  }

  bool add(std::vector<std::int32_t>& ids, io::TokenStoreWriter& store,
           const std::string& input) const {
    if (!ids.empty() && vocabulary_.size > 0) {
      const auto bad = std::ranges::find_if(
          ids, [&](std::int32_t id) { return static_cast<std::uint64_t>(id) >= vocabulary_.size; });
      if (bad != ids.end())
        throw UsageError(
            str(input, ": token ", store.tokens() + static_cast<std::uint64_t>(bad - ids.begin()),
                " is ", *bad, ", and ", vocab_, " has ", vocabulary_.size, " pieces"),
            "give the vocabulary that the ids were made with");
    } else if (narrow_too_small(ids, store)) {
      return false;
    }
    store.add(ids);
    ids.clear();
    return true;
  }
  static bool narrow_too_small(const std::vector<std::int32_t>& ids,
                               const io::TokenStoreWriter& store) {
    return store.id_bytes() == 2 &&
           std::ranges::any_of(ids, [](std::int32_t id) { return id > kMostNarrow; });
  }

  io::TokenVocabulary vocabulary_;
  std::string vocab_;
};

std::vector<std::string> output_names(const SnapshotTokensJob& job,
                                      const std::vector<std::string>& inputs) {
  const std::size_t star = job.output.find('*');
  if (star != std::string::npos && job.output.find('*', star + 1) != std::string::npos)
    throw UsageError(str("--out: ", job.output, " has more than one *"), "leave one of them");
  if (star == std::string::npos && inputs.size() > 1)
    throw UsageError(
        str("--out: ", inputs.size(), " folders, but only one output file ", job.output),
        "put a * where each folder's name belongs, as in tokens/*.tokens");
  std::vector<std::string> names;
  for (const std::string& input : inputs) {
    std::string name = job.output;
    if (star != std::string::npos) name.replace(star, 1, io::path_name(input));
    names.push_back(name);
  }
  if (std::set<std::string>(names.begin(), names.end()).size() < names.size())
    throw UsageError("--out: several folders have the same name",
                     "convert them one after another, to different names");
  run_each(names.size(), kSideBySide, [&](std::size_t i) {
    if (io::is_path_inside(names[i], inputs[i]))
      throw UsageError(str("--out: ", names[i], " would be inside the snapshot folder ", inputs[i]),
                       "name a folder outside of it");
    const bool stays = job.skip_existing && io::exists(names[i]) && is_token_store(names[i]);
    if (!stays) check_free(names[i], job.overwrite);
  });
  return names;
}

// Logs the errors and throws UsageError if a folder could not be converted. `faults` has an error
// message for each folder, which is empty if the folder was converted.
void throw_faults(std::vector<std::string> faults, std::size_t converted) {
  const std::size_t folders = faults.size();
  std::erase(faults, "");
  if (faults.empty()) return;
  for (const std::string& fault : faults) log_warning("convert: {}", fault);
  throw UsageError(str("convert: ", faults.size(), " of ", folders, " folders failed, ", converted,
                       " were converted"),
                   "fix them, then run again with --skip-existing to convert only these");
}

}  // namespace

CorpusCounts write_text_tokens(const TextTokensJob& job) {
  text::DocumentReader reader(job.text);
  const auto tokenizer = text::load_tokenizer(job.vocab, job.tokenizer);
  io::check_apart({job.output}, reader.files());
  check_free(job.output, job.overwrite);
  io::remove_abandoned({job.output});
  io::OutputFile file(job.output);
  const io::TokenVocabulary vocabulary = vocabulary_of(job.vocab, *tokenizer);
  io::TokenStoreWriter store(vocabulary, vocabulary.id_bytes(),
                             [&](std::string_view bytes) { file.write(bytes); });
  CorpusCounts counts;
  tokenize_all(reader, *tokenizer, job, store, counts);
  if (store.tokens() == 0) throw_no_text(reader.files().size());
  store.finish();
  file.commit();
  counts.files = reader.files().size();
  counts.documents = store.documents();
  counts.tokens = store.tokens();
  counts.dropped_bytes = reader.counts().dropped_bytes;
  counts.bad_rows = reader.counts().bad_rows;
  counts.duplicate_documents = reader.counts().duplicate_documents;
  counts.duplicate_lines = reader.counts().duplicate_lines;
  unknown_count(counts).warn(job.text.input, job.vocab);
  return counts;
}

void convert_snapshots(const SnapshotTokensJob& job,
                       const std::function<void(const ConvertedSnapshot&)>& done) {
  const std::vector<std::string> inputs = data_paths(job.input, "convert");
  run_each(inputs.size(), kSideBySide, [&](std::size_t i) {
    if (!is_snapshot(inputs[i]))
      throw UsageError(str("convert: ", inputs[i], " is a file, not a snapshot folder"),
                       "give folders that tf.data.Dataset.save wrote");
  });
  const std::vector<std::string> outputs = output_names(job, inputs);
  const Converter converter(job);
  Progress progress("converting", std::ssize(inputs), "folders");
  std::mutex mutex;
  std::int64_t ended = 0;
  std::size_t converted = 0;
  std::vector<std::string> faults(inputs.size());
  run_each(inputs.size(), job.threads > 0 ? job.threads : available_threads(), [&](std::size_t i) {
    std::optional<ConvertedSnapshot> made;
    try {
      if (!job.skip_existing || !io::exists(outputs[i])) {
        io::remove_abandoned({outputs[i]});
        made = converter.convert(inputs[i], outputs[i]);
      }
    } catch (const UsageError& error) {
      if (inputs.size() == 1) throw;
      faults[i] = error.what();
    }
    const std::lock_guard lock(mutex);
    if (made) done(*made);
    converted += made ? 1 : 0;
    progress.update(++ended);
  });
  throw_faults(faults, converted);
  if (converted < inputs.size())
    log_info("convert: {} of {} token stores existed already", inputs.size() - converted,
             inputs.size());
}

}  // namespace smelt::data
