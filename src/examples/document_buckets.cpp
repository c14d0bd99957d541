#include "examples/document_buckets.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "base/philox.h"

namespace smelt {
namespace {

constexpr std::size_t kBatchBytes = 1 << 20;

// What one thread tokenizes at a time: documents first, first + 1, …
struct Batch {
  std::uint64_t first = 0;
  std::vector<Document> documents;
  std::size_t bytes = 0;
};

std::size_t bucket_of(std::uint64_t key, std::uint64_t document) {
  return philox(key, document, 0)[0] % kDocumentBuckets;
}

// A document in a spill file: this, then the sentences' lengths as u32, then the ids.
struct DocumentHead {
  std::uint64_t number = 0;
  std::uint32_t sentences = 0, ids = 0;
};

class Scatterer {
 public:
  Scatterer(const BertTokenizer& tokenizer, std::uint64_t key, std::string path, std::size_t memory)
      : tokenizer_(tokenizer),
        unknown_(tokenizer.vocabulary().id("[UNK]")),
        codec_(tokenizer.vocabulary().size()),
        key_(key),
        writer_(std::move(path), kDocumentBuckets, memory) {}

  void add(std::uint64_t number, const Document& document) {
    ids_.clear();
    lengths_.clear();
    for (std::size_t i = 0; i < document.size(); ++i) {
      const std::size_t before = ids_.size();
      tokenizer_.encode(document.sentence(i), ids_);
      if (ids_.size() > before)
        lengths_.push_back(static_cast<std::uint32_t>(ids_.size() - before));
    }
    if (ids_.empty()) return;
    ++counts.documents;
    counts.sentences += lengths_.size();
    counts.tokens += ids_.size();
    counts.unknown_tokens += static_cast<std::uint64_t>(std::ranges::count(ids_, unknown_));
    record_.clear();
    put_value(DocumentHead{.number = number,
                           .sentences = static_cast<std::uint32_t>(lengths_.size()),
                           .ids = static_cast<std::uint32_t>(ids_.size())},
              record_);
    for (const std::uint32_t length : lengths_) put_value(length, record_);
    codec_.put(ids_, record_);
    writer_.append(bucket_of(key_, number), record_);
  }
  std::vector<SpillChunk> finish() { return writer_.finish(); }

  CorpusCounts counts;

 private:
  const BertTokenizer& tokenizer_;
  std::int32_t unknown_;
  IdCodec codec_;
  std::uint64_t key_;
  SpillWriter writer_;
  std::vector<std::int32_t> ids_;
  std::vector<std::uint32_t> lengths_;
  std::string record_;
};

// The reader's documents in batches; stops early once the queue is closed.
void read_batches(DocumentReader& reader, BoundedQueue<Batch>& queue) {
  Batch batch;
  std::uint64_t next = 0;
  for (Document document; reader.next(document); ++next) {
    batch.bytes += document.text.size();
    batch.documents.push_back(std::move(document));
    document.clear();
    if (batch.bytes < kBatchBytes) continue;
    if (!queue.push(std::move(batch))) return;
    batch = Batch{.first = next + 1, .documents = {}, .bytes = 0};
  }
  queue.push(std::move(batch));
}

void add_counts(const CorpusCounts& part, CorpusCounts& whole) {
  whole.documents += part.documents;
  whole.sentences += part.sentences;
  whole.tokens += part.tokens;
  whole.unknown_tokens += part.unknown_tokens;
}

}  // namespace

DocumentBuckets scatter_documents(DocumentReader& reader, const BertTokenizer& tokenizer,
                                  const ScatterOptions& options) {
  const std::uint64_t key = random_key(options.seed, "document buckets");
  const auto threads = static_cast<std::size_t>(options.threads);
  BoundedQueue<Batch> queue(2 * threads);
  std::vector<std::string> files(threads);
  std::vector<std::vector<SpillChunk>> chunks(threads);
  std::vector<CorpusCounts> counts(threads);
  const auto tokenize = [&](std::size_t worker) {
    files[worker] = str(options.folder, "/documents-", worker);
    Scatterer scatterer(tokenizer, key, files[worker], options.memory / threads);
    while (const auto batch = queue.pop())
      for (std::size_t i = 0; i < batch->documents.size(); ++i)
        scatterer.add(batch->first + i, batch->documents[i]);
    chunks[worker] = scatterer.finish();
    counts[worker] = scatterer.counts;
  };
  run_parallel(
      options.threads + 1,
      [&](int worker) {
        if (worker < options.threads) return tokenize(static_cast<std::size_t>(worker));
        read_batches(reader, queue);
        queue.close();
      },
      [&] { queue.close(); });
  DocumentBuckets out{.spill = Spill(files, chunks), .counts = {}};
  for (const CorpusCounts& part : counts) add_counts(part, out.counts);
  out.counts.files = reader.files().size();
  out.counts.dropped_bytes = reader.counts().dropped_bytes;
  out.counts.duplicate_documents = reader.counts().duplicate_documents;
  out.counts.duplicate_lines = reader.counts().duplicate_lines;
  return out;
}

DocumentGroup gather_documents(const Spill& spill, std::size_t first, std::size_t last,
                               const IdCodec& codec) {
  const std::vector<std::string> chunks = spill.read(first, last);
  std::vector<std::pair<DocumentHead, std::string_view>> documents;
  for (std::string_view rest : chunks)
    while (!rest.empty()) {
      const auto head = take_value<DocumentHead>(rest);
      const std::size_t size = head.sentences * sizeof(std::uint32_t) + codec.bytes(head.ids);
      documents.emplace_back(head, rest.substr(0, size));
      rest.remove_prefix(size);
    }
  std::ranges::sort(documents, {}, [](const auto& document) { return document.first.number; });
  DocumentGroup group;
  std::vector<std::int32_t> ids;
  for (auto& [head, bytes] : documents) {
    std::string_view rest = bytes.substr(head.sentences * sizeof(std::uint32_t));
    for (std::uint32_t sentence = 0; sentence < head.sentences; ++sentence) {
      ids.clear();
      codec.take(rest, take_value<std::uint32_t>(bytes), ids);
      group.corpus.add_sentence(ids);
    }
    group.corpus.end_document();
    group.numbers.push_back(head.number);
  }
  return group;
}

}  // namespace smelt
