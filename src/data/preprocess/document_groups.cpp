#include "data/preprocess/document_groups.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/progress.h"
#include "data/preprocess/example_files.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::data {
namespace {

// Estimated memory per thread, in units of the batch size: the text and tokens of the current
// batch, and of two batches in the queue.
constexpr std::size_t kBatchesOfThread = 8;

// Documents that one thread tokenizes together; the number of the first is `first`.
struct DocumentBatch {
  std::uint64_t first = 0;
  std::vector<text::Document> documents;
  std::size_t bytes = 0;
};

// The header of a document in a spill file. It is followed by the sentence lengths as u32, and by
// the ids.
struct DocumentHead {
  std::uint64_t number = 0;
  std::uint32_t sentences = 0, ids = 0;
};

class Scatterer {
 public:
  Scatterer(const text::Tokenizer& tokenizer, std::uint64_t longest_sentence, std::uint64_t key,
            SpillWriter& writer)
      : tokenizer_(tokenizer),
        longest_sentence_(longest_sentence),
        codec_(tokenizer.size()),
        key_(key),
        writer_(writer) {}

  void add(std::uint64_t number, const text::Document& document) {
    ids_.clear();
    lengths_.clear();
    for (std::size_t i = 0; i < document.size(); ++i) {
      const std::size_t before = ids_.size();
      tokenizer_.encode(document.sentence(i), ids_);
      if (ids_.size() == before) continue;
      add_lengths(std::span(ids_).subspan(before));
      add_sentence(document.sentence(i), std::span(ids_).subspan(before), tokenizer_, counts);
    }
    if (ids_.empty()) return;
    counts.one_sentence += lengths_.size() == 1 ? 1 : 0;
    ++counts.documents;
    counts.sentences += lengths_.size();
    counts.tokens += ids_.size();
    record_.clear();
    put_value(DocumentHead{.number = number,
                           .sentences = static_cast<std::uint32_t>(lengths_.size()),
                           .ids = static_cast<std::uint32_t>(ids_.size())},
              record_);
    for (const std::uint32_t length : lengths_) put_value(length, record_);
    codec_.put(ids_, record_);
    const auto bits = philox(key_, number, 0);
    writer_.append(std::uint64_t{bits[1]} << 32 | bits[0], record_);
  }

  CorpusCounts counts;

 private:
  // Adds a sentence. If it is more than twice as long as an example, splits it into about equal
  // parts, two of which fill an example. Shorter ones are kept and may be truncated, so that the
  // examples of typical text stay the same as in earlier versions of smelt.
  void add_lengths(std::span<const std::int32_t> sentence) {
    const std::uint64_t tokens = sentence.size();
    const bool is_long = longest_sentence_ > 0 && tokens > 2 * longest_sentence_;
    counts.long_sentences += is_long ? 1 : 0;
    const std::uint64_t most = std::max<std::uint64_t>(1, longest_sentence_ / 2);
    const std::uint64_t parts = is_long ? (tokens + most - 1) / most : 1;
    std::uint64_t begin = 0;
    for (std::uint64_t part = 1; part <= parts; ++part) {
      const std::uint64_t end =
          part == parts ? tokens
                        : word_begin_near(sentence, tokens * part / parts, tokens / parts / 4);
      lengths_.push_back(static_cast<std::uint32_t>(end - begin));
      begin = end;
    }
  }

  // Returns the index of the piece nearest to `at` that begins a word, at most `reach` pieces away,
  // or `at` if there is no such piece.
  std::uint64_t word_begin_near(std::span<const std::int32_t> ids, std::uint64_t at,
                                std::uint64_t reach) const {
    for (std::uint64_t away = 0; away <= reach; ++away)
      for (const std::uint64_t near : {at - away, at + away})
        if (near < ids.size() && !tokenizer_.continues_word(ids[near])) return near;
    return at;
  }

  const text::Tokenizer& tokenizer_;
  std::uint64_t longest_sentence_;
  IdCodec codec_;
  std::uint64_t key_;
  SpillWriter& writer_;
  std::vector<std::int32_t> ids_;
  std::vector<std::uint32_t> lengths_;
  std::string record_;
};

// Progress in MB of the input files. Within a compressed file, or one that is not all text, it is
// an estimate.
class ReadProgress {
 public:
  explicit ReadProgress(const text::DocumentReader& reader)
      : reader_(reader),
        sizes_(sizes_of(reader.files())),
        progress_("reading", mega(std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{0})),
                  "MB") {}

  void update() {
    const text::DocumentCounts& counts = reader_.counts();
    while (file_ + 1 < counts.files) {
      before_ += sizes_[file_++];
      text_before_ = counts.bytes;
    }
    progress_.update(mega(before_ + std::min(sizes_[file_], counts.bytes - text_before_)));
  }

 private:
  static std::int64_t mega(std::uint64_t bytes) { return static_cast<std::int64_t>(bytes >> 20); }
  static std::vector<std::uint64_t> sizes_of(const std::vector<std::string>& files) {
    std::vector<std::uint64_t> sizes(files.size());
    for_each_file(files.size(), files.front(),
                  [&](std::size_t i) { sizes[i] = io::file_size(files[i]); });
    return sizes;
  }

  const text::DocumentReader& reader_;
  std::vector<std::uint64_t> sizes_;
  Progress progress_;
  std::size_t file_ = 0;
  // Total size in bytes of the files before the current one, and of the text read from them.
  std::uint64_t before_ = 0, text_before_ = 0;
};

// Puts the reader's documents into the queue in batches. Stops early if the queue is closed.
void read_batches(text::DocumentReader& reader, std::size_t batch_bytes,
                  BoundedQueue<DocumentBatch>& queue) {
  ReadProgress progress(reader);
  DocumentBatch batch;
  std::uint64_t next = 0;
  for (text::Document document; reader.next(document); ++next) {
    batch.bytes += document.text.size();
    batch.documents.push_back(std::move(document));
    document = {};
    if (batch.bytes < batch_bytes) continue;
    if (!queue.push(std::move(batch))) return;
    batch = DocumentBatch{.first = next + 1, .documents = {}, .bytes = 0};
    progress.update();
  }
  queue.push(std::move(batch));
}

// Reads and tokenizes all documents and writes them to `writer`.
CorpusCounts scatter(text::DocumentReader& reader, const text::Tokenizer& tokenizer,
                     SpillWriter& writer, const ShuffleOptions& options) {
  const std::uint64_t key = random_key(options.seed, "document buckets");
  const int threads = static_cast<int>(
      std::clamp<std::size_t>(options.buffers() / (kBatchesOfThread * options.sizes.batch_bytes), 1,
                              static_cast<std::size_t>(options.threads)));
  BoundedQueue<DocumentBatch> queue(2 * static_cast<std::size_t>(threads));
  std::vector<CorpusCounts> counts(static_cast<std::size_t>(threads));
  const auto tokenize = [&](std::size_t worker) {
    Scatterer scatterer(tokenizer, options.longest_sentence, key, writer);
    while (const auto batch = queue.pop())
      for (std::size_t i = 0; i < batch->documents.size(); ++i)
        scatterer.add(batch->first + i, batch->documents[i]);
    counts[worker] = scatterer.counts;
  };
  run_parallel(
      threads + 1,
      [&](int worker) {
        if (worker < threads) return tokenize(static_cast<std::size_t>(worker));
        read_batches(reader, options.sizes.batch_bytes, queue);
        queue.close();
      },
      [&] { queue.close(); });
  CorpusCounts whole;
  for (const CorpusCounts& part : counts) add_text(part, whole);
  return whole;
}

// Reads all documents and writes them to ranges, which are not split yet.
ScatteredDocuments read_documents(text::DocumentReader& reader, const text::Tokenizer& tokenizer,
                                  const ShuffleOptions& options) {
  const ShuffleSizes& sizes = options.sizes;
  SpillFile file(options.folder + "/documents-1");
  SpillWriter writer(
      file, cut_keys(0, kLastKey, sizes.document_ranges),
      std::clamp(options.buffers() / sizes.document_ranges, sizes.least_chunk, sizes.most_chunk));
  ScatteredDocuments out{.spill = {},
                         .counts = scatter(reader, tokenizer, writer, options),
                         .codec = IdCodec(tokenizer.size())};
  std::vector<SpillRange> ranges = writer.finish();
  file.close();
  out.spill = ExternalShuffle(file.path(), std::move(ranges));
  out.counts.files = reader.files().size();
  out.counts.dropped_bytes = reader.counts().dropped_bytes;
  out.counts.bad_rows = reader.counts().bad_rows;
  out.counts.duplicate_documents = reader.counts().duplicate_documents;
  out.counts.duplicate_lines = reader.counts().duplicate_lines;
  return out;
}

}  // namespace

ScatteredDocuments scatter_documents(text::DocumentReader& reader, const text::Tokenizer& tokenizer,
                                     const ShuffleOptions& options,
                                     const std::function<void(const CorpusCounts&)>& check) {
  const ShuffleSizes& sizes = options.sizes;
  const std::string list = io::join_path(options.folder, kDocumentsList);
  ScatteredDocuments out{.spill = {}, .counts = {}, .codec = IdCodec(tokenizer.size())};
  if (io::exists(list)) {
    out.spill = ExternalShuffle::load(list);
    out.counts = corpus_counts(out.spill.note());
    out.spill.remove_others(options.folder, "documents");
  } else {
    out = read_documents(reader, tokenizer, options);
    check(out.counts);
    out.spill.note() = to_json(out.counts);
    out.spill.save(list);
  }
  out.spill.split({.folder = options.folder,
                   .name = "documents",
                   .limit = sizes.group_bytes / 4,
                   .fan_out = sizes.fan_out,
                   .least_chunk = sizes.least_chunk,
                   .most_chunk = sizes.most_chunk,
                   .memory = options.buffers(),
                   .threads = options.threads,
                   .list = list});
  return out;
}

std::vector<SpillRanges> group_ranges(const std::vector<SpillRange>& ranges,
                                      std::uint64_t group_bytes) {
  std::uint64_t total = 0, before = 0;
  for (const SpillRange& range : ranges) total += range.bytes;
  const std::uint64_t groups = std::max<std::uint64_t>(1, (total + group_bytes - 1) / group_bytes);
  std::vector<SpillRanges> runs;
  std::uint64_t group = 0;
  for (std::size_t i = 0; i < ranges.size() && before < total; ++i) {
    const std::uint64_t next = multiply_divide(before, groups, total);
    if (runs.empty() || next != group) runs.push_back({i, i});
    group = next;
    runs.back().last = i + 1;
    before += ranges[i].bytes;
  }
  return runs;
}

DocumentGroup gather_documents(const ScatteredDocuments& documents, SpillRanges run) {
  std::vector<std::string> chunks;
  const auto& ranges = documents.spill.ranges();
  for (std::size_t i = run.first; i < run.last; ++i)
    documents.spill.read(ranges[i], [&](std::string chunk) { chunks.push_back(std::move(chunk)); });
  std::vector<std::pair<DocumentHead, std::string_view>> found;
  std::size_t sentences = 0, ids_in_all = 0;
  for (const std::string& chunk : chunks)
    for (std::string_view rest = spill_records(chunk); !rest.empty();) {
      std::string_view bytes = take_record(rest).bytes;
      const auto head = take_value<DocumentHead>(bytes);
      found.emplace_back(head, bytes);
      sentences += head.sentences;
      ids_in_all += head.ids;
    }
  std::ranges::sort(found, {}, [](const auto& document) { return document.first.number; });
  DocumentGroup group;
  group.corpus.reserve(found.size(), sentences, ids_in_all);
  group.numbers.reserve(found.size());
  std::vector<std::int32_t> ids;
  for (auto& [head, bytes] : found) {
    std::string_view rest = bytes.substr(head.sentences * sizeof(std::uint32_t));
    for (std::uint32_t sentence = 0; sentence < head.sentences; ++sentence) {
      ids.clear();
      documents.codec.take(rest, take_value<std::uint32_t>(bytes), ids);
      group.corpus.add_sentence(ids);
    }
    group.corpus.end_document();
    group.numbers.push_back(head.number);
  }
  return group;
}

}  // namespace smelt::data
