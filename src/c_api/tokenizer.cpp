#include "text/tokenizers/tokenizer.h"

#include <smelt.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "c_api/arrays.h"
#include "c_api/guard.h"
#include "c_api/options.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "text/tokenizers/sentencepiece.h"
#include "text/tokenizers/subword_tokenizer.h"
#include "text/tokenizers/wordpiece.h"

using smelt::c_api::check_pointer;
using smelt::c_api::check_stop;
using smelt::c_api::guarded;
using smelt::c_api::Options;

struct smelt_tokenizer {
  std::string path;
  std::unique_ptr<const smelt::text::Tokenizer> tokenizer;
  const char* kind = "";
  // Ids of special tokens, if the vocabulary has them.
  std::optional<std::int32_t> pad, cls, sep, mask, end;
  std::size_t separators = 1;  // [SEP] tokens between the texts of a pair

  // Returns whether a row gets tokens around its texts with "special_tokens".
  bool has_frame() const { return (cls && sep) || end; }
};

namespace smelt::c_api {
namespace {

// Texts of fewer bytes are encoded on the caller's thread: starting one costs about 0.1 ms.
constexpr std::int64_t kBytesOfOneThread = 1 << 16;

std::string vocabulary_of(const std::string& path) {
  if (!io::is_folder(path)) return path;
  if (std::string found = text::wordpiece_file_in(path); !found.empty()) return found;
  for (const char* name : {"tokenizer.json", "spiece.model", "sentencepiece.bpe.model",
                           "tokenizer.model", "vocab.json"})
    if (std::string file = io::join_path(path, name); io::exists(file)) return file;
  throw UsageError(
      str("tokenizer: ", path, " has no vocab.txt, tokenizer.json, spiece.model or vocab.json"),
      "name the vocabulary's file, or a folder that contains one of these");
}

void set_special_ids(smelt_tokenizer& out) {
  if (const auto* bert = dynamic_cast<const text::BertTokenizer*>(out.tokenizer.get())) {
    const text::Vocabulary& vocabulary = bert->vocabulary();
    out.kind = bert->subword() == nullptr ? "wordpiece" : "subword";
    out.pad = vocabulary.find("[PAD]");
    out.cls = vocabulary.find("[CLS]");
    out.sep = vocabulary.find("[SEP]");
    out.mask = vocabulary.find("[MASK]");
    out.separators = vocabulary.separators();
    return;
  }
  const bool pieces = dynamic_cast<const text::SentencePieceTokenizer*>(out.tokenizer.get());
  out.kind = pieces ? "sentencepiece" : "subword";
  out.pad = text::find_piece(*out.tokenizer, "<pad>");
  out.end = text::find_piece(*out.tokenizer, "</s>");
}

struct EncodeOptions {
  bool special = false, pairs = false, offsets = false;
  std::int64_t max_length = 0, threads = 0;
};

EncodeOptions encode_options(const char* json) {
  const Options options(json, "encode",
                        {"special_tokens", "pairs", "max_length", "offsets", "threads"});
  return {.special = options.flag("special_tokens"),
          .pairs = options.flag("pairs"),
          .offsets = options.flag("offsets"),
          .max_length = options.number("max_length", 0, 0),
          .threads = options.number("threads", 0, 0)};
}

struct Texts {
  const char* bytes;
  std::span<const std::int64_t> starts;  // one more than texts

  std::string_view operator[](std::size_t i) const {
    return {bytes + starts[i], static_cast<std::size_t>(starts[i + 1] - starts[i])};
  }
  std::size_t size() const { return starts.size() - 1; }
};

// Throws UsageError unless the positions ascend from 0.
std::span<const std::int64_t> checked_starts(const std::int64_t* starts, std::int64_t count,
                                             std::string_view what) {
  check_pointer(starts, "starts");
  if (count < 0)
    throw UsageError(str(what, ": the number of rows is ", count), "pass a number of at least 0");
  const std::span all(starts, static_cast<std::size_t>(count) + 1);
  if (all.front() != 0 || !std::ranges::is_sorted(all))
    throw UsageError(str(what, ": starts must begin with 0 and not descend"),
                     "pass the cumulative sums of the lengths, beginning with 0");
  return all;
}

// The rows of a range of texts.
struct EncodedRows {
  std::vector<std::int32_t> ids, segments, offsets;
  std::vector<std::int64_t> lengths;
};

class RowEncoder {
 public:
  RowEncoder(const smelt_tokenizer& tokenizer, const EncodeOptions& options)
      : tokenizer_(tokenizer), options_(options) {
    if (options.special && !tokenizer.has_frame())
      throw UsageError(str("encode: ", tokenizer.path, " has no [CLS] and [SEP], and no </s>"),
                       "set special_tokens to false");
    if (options.max_length > 0 && options.max_length <= frame())
      throw UsageError(str("encode: max_length is ", options.max_length, ", but a row has ",
                           frame(), " special tokens"),
                       "raise max_length, or set it to 0 for no limit");
  }

  // Appends row `row` to `out`.
  void add(const Texts& texts, std::size_t row, EncodedRows& out) {
    const std::size_t before = out.ids.size();
    if (options_.pairs || options_.offsets)
      add_spans(texts, row, out);
    else
      add_ids(texts[row], out);
    out.lengths.push_back(static_cast<std::int64_t>(out.ids.size() - before));
  }

 private:
  // Returns the number of special tokens of a row.
  std::int64_t frame() const {
    if (!options_.special) return 0;
    if (!tokenizer_.cls) return options_.pairs ? 2 : 1;
    return options_.pairs ? 2 + static_cast<std::int64_t>(tokenizer_.separators) : 2;
  }
  std::size_t room() const {
    return options_.max_length == 0 ? std::size_t{0} - 1
                                    : static_cast<std::size_t>(options_.max_length - frame());
  }

  // The fast path: one text and no offsets. Appends directly to the ids.
  void add_ids(std::string_view text, EncodedRows& out) const {
    if (options_.special && tokenizer_.cls) out.ids.push_back(*tokenizer_.cls);
    const std::size_t first = out.ids.size();
    tokenizer_.tokenizer->encode(text, out.ids);
    if (out.ids.size() - first > room()) out.ids.resize(first + room());
    if (options_.special) out.ids.push_back(tokenizer_.cls ? *tokenizer_.sep : *tokenizer_.end);
  }

  void add_spans(const Texts& texts, std::size_t row, EncodedRows& out) {
    std::vector<text::TokenSpan> first, second;
    if (options_.pairs) {
      first = spans_of(texts[2 * row]);
      second = spans_of(texts[2 * row + 1]);
    } else {
      first = spans_of(texts[row]);
    }
    while (first.size() + second.size() > room())
      (first.size() > second.size() ? first : second).pop_back();
    const bool framed = options_.special && tokenizer_.cls;
    const auto mark = [&](std::optional<std::int32_t> id, int segment) {
      if (options_.special && id) put({*id, 0, 0}, segment, out);
    };
    const auto end = framed ? tokenizer_.sep : tokenizer_.end;
    mark(framed ? tokenizer_.cls : std::nullopt, 0);
    for (const text::TokenSpan& span : first) put(span, 0, out);
    mark(end, 0);
    if (!options_.pairs) return;
    for (std::size_t i = 1; framed && i < tokenizer_.separators; ++i) mark(end, 0);
    for (const text::TokenSpan& span : second) put(span, 1, out);
    mark(end, 1);
  }

  std::vector<text::TokenSpan> spans_of(std::string_view text) {
    if (options_.offsets)
      return text::in_characters(text, tokenizer_.tokenizer->encode_with_offsets(text));
    scratch_.clear();
    tokenizer_.tokenizer->encode(text, scratch_);
    std::vector<text::TokenSpan> out;
    for (const std::int32_t id : scratch_) out.push_back({id, 0, 0});
    return out;
  }

  void put(const text::TokenSpan& span, int segment, EncodedRows& out) const {
    out.ids.push_back(span.id);
    // RoBERTa, which has two separators, has only one kind of segment.
    if (options_.pairs) out.segments.push_back(tokenizer_.separators == 1 ? segment : 0);
    if (!options_.offsets) return;
    out.offsets.push_back(static_cast<std::int32_t>(span.begin));
    out.offsets.push_back(static_cast<std::int32_t>(span.end));
  }

  const smelt_tokenizer& tokenizer_;
  const EncodeOptions& options_;
  std::vector<std::int32_t> scratch_;
};

// Returns the first row of each part, and the number of rows, so that parts have similar bytes.
std::vector<std::size_t> parts_of(const Texts& texts, std::size_t rows, std::size_t per_row,
                                  std::size_t parts) {
  std::vector<std::size_t> out{0};
  const std::int64_t bytes = texts.starts.back();
  for (std::size_t part = 1; part < parts; ++part) {
    const auto wanted = bytes / static_cast<std::int64_t>(parts) * static_cast<std::int64_t>(part);
    const auto found = std::ranges::lower_bound(texts.starts, wanted) - texts.starts.begin();
    out.push_back(std::clamp(static_cast<std::size_t>(found) / per_row, out.back(), rows));
  }
  out.push_back(rows);
  return out;
}

// Appends the values of all parts to those of the first and returns it.
template <class T>
std::vector<T> joined(std::vector<EncodedRows>& parts, std::vector<T> EncodedRows::* values) {
  std::vector<T> out = std::move(parts.front().*values);
  std::size_t total = 0;
  for (const EncodedRows& part : parts) total += (part.*values).size();
  out.reserve(total + out.size());
  for (std::size_t i = 1; i < parts.size(); ++i)
    out.insert(out.end(), (parts[i].*values).begin(), (parts[i].*values).end());
  return out;
}

std::unique_ptr<smelt_arrays> row_arrays(std::vector<EncodedRows> parts,
                                         const EncodeOptions& options) {
  std::vector<std::int64_t> starts{0};
  for (const EncodedRows& part : parts)
    for (const std::int64_t length : part.lengths) starts.push_back(starts.back() + length);
  auto out = std::make_unique<smelt_arrays>();
  out->add("ids", joined(parts, &EncodedRows::ids));
  out->add("starts", std::move(starts));
  if (options.pairs) out->add("segments", joined(parts, &EncodedRows::segments));
  if (options.offsets) {
    auto offsets = joined(parts, &EncodedRows::offsets);
    const std::int64_t tokens = std::ssize(offsets) / 2;
    out->add("offsets", std::move(offsets), {tokens, 2});
  }
  return out;
}

std::unique_ptr<smelt_arrays> encode_texts(const smelt_tokenizer& tokenizer, const Texts& texts,
                                           const EncodeOptions& options, const smelt_stop* stop) {
  const std::size_t per_row = options.pairs ? 2 : 1;
  if (texts.size() % per_row != 0)
    throw UsageError(str("encode: ", texts.size(), " texts with the option pairs"),
                     "pass two texts for each row");
  const std::size_t rows = texts.size() / per_row;
  const auto threads = static_cast<std::size_t>(
      options.threads > 0 ? options.threads : std::int64_t{available_threads()});
  const bool is_small = texts.starts.back() < kBytesOfOneThread;
  // More parts than threads, because texts differ in the time that a byte takes.
  const auto bounds = parts_of(texts, rows, per_row, is_small || threads == 1 ? 1 : 4 * threads);
  std::vector<EncodedRows> parts(bounds.size() - 1);
  const auto encode_part = [&](std::size_t part) {
    RowEncoder encoder(tokenizer, options);
    const std::size_t first = bounds[part], last = bounds[part + 1];
    parts[part].lengths.reserve(last - first);
    if (last > first)  // about four bytes are one token
      parts[part].ids.reserve(static_cast<std::size_t>(
          (texts.starts[last * per_row] - texts.starts[first * per_row]) / 4 + 16));
    for (std::size_t row = first; row < last; ++row) {
      check_stop(stop);
      encoder.add(texts, row, parts[part]);
    }
  };
  if (parts.size() == 1)
    encode_part(0);
  else
    run_each(parts.size(), static_cast<int>(threads), encode_part);
  return row_arrays(std::move(parts), options);
}

OrderedJson tokenizer_json(const smelt_tokenizer& t) {
  const auto id = [](std::optional<std::int32_t> value) {
    return value ? OrderedJson(*value) : OrderedJson();
  };
  return {{"kind", t.kind},   {"size", t.tokenizer->size()},
          {"path", t.path},   {"unknown", t.tokenizer->unknown()},
          {"pad", id(t.pad)}, {"cls", id(t.cls)},
          {"sep", id(t.sep)}, {"mask", id(t.mask)},
          {"end", id(t.end)}};
}

std::unique_ptr<smelt_arrays> decode_rows(const smelt_tokenizer& tokenizer, const std::int32_t* ids,
                                          std::span<const std::int64_t> starts, bool skip_special) {
  const std::array special{tokenizer.pad, tokenizer.cls, tokenizer.sep, tokenizer.mask,
                           tokenizer.end};
  std::vector<std::string> texts;
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    std::vector<std::int32_t> kept(ids + starts[row], ids + starts[row + 1]);
    if (skip_special)
      std::erase_if(kept, [&](std::int32_t id) {
        return std::ranges::find(special, std::optional(id)) != special.end();
      });
    texts.push_back(tokenizer.tokenizer->decode(kept));
  }
  return text_arrays(texts);
}

}  // namespace
}  // namespace smelt::c_api

int smelt_tokenizer_open(const char* path, const char* options, smelt_tokenizer** out) {
  return guarded([&] {
    check_pointer(path, "path");
    check_pointer(out, "out");
    const Options given(options, "tokenizer", {"lower_case", "strip_accents"});
    auto made = std::make_unique<smelt_tokenizer>();
    made->path = smelt::c_api::vocabulary_of(path);
    const smelt::text::TokenizerFlags flags{.lower_case = given.flag_if_set("lower_case"),
                                            .strip_accents = given.flag_if_set("strip_accents")};
    made->tokenizer = smelt::text::load_tokenizer(made->path, flags);
    smelt::c_api::set_special_ids(*made);
    *out = made.release();
  });
}

void smelt_tokenizer_free(smelt_tokenizer* tokenizer) { delete tokenizer; }

int smelt_tokenizer_describe(const smelt_tokenizer* tokenizer, smelt_arrays** out) {
  return guarded([&] {
    check_pointer(tokenizer, "tokenizer");
    check_pointer(out, "out");
    *out = smelt::c_api::json_arrays(smelt::c_api::tokenizer_json(*tokenizer)).release();
  });
}

int smelt_tokenizer_tokens(const smelt_tokenizer* tokenizer, smelt_arrays** out) {
  return guarded([&] {
    check_pointer(tokenizer, "tokenizer");
    check_pointer(out, "out");
    std::vector<std::string> tokens;
    for (std::int32_t id = 0; id < tokenizer->tokenizer->size(); ++id)
      tokens.push_back(tokenizer->tokenizer->token(id));
    *out = smelt::c_api::text_arrays(tokens).release();
  });
}

int smelt_encode(const smelt_tokenizer* tokenizer, const char* utf8, const int64_t* starts,
                 int64_t texts, const char* options, const smelt_stop* stop, smelt_arrays** out) {
  return guarded([&] {
    check_pointer(tokenizer, "tokenizer");
    check_pointer(utf8, "utf8");
    check_pointer(out, "out");
    const smelt::c_api::Texts all{utf8, smelt::c_api::checked_starts(starts, texts, "encode")};
    *out = smelt::c_api::encode_texts(*tokenizer, all, smelt::c_api::encode_options(options), stop)
               .release();
  });
}

int smelt_decode(const smelt_tokenizer* tokenizer, const int32_t* ids, const int64_t* starts,
                 int64_t rows, const char* options, smelt_arrays** out) {
  return guarded([&] {
    check_pointer(tokenizer, "tokenizer");
    check_pointer(ids, "ids");
    check_pointer(out, "out");
    const Options given(options, "decode", {"skip_special_tokens"});
    *out = smelt::c_api::decode_rows(*tokenizer, ids,
                                     smelt::c_api::checked_starts(starts, rows, "decode"),
                                     given.flag("skip_special_tokens"))
               .release();
  });
}
