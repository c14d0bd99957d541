// The parts of a Hugging Face tokenizer.json whose model is Unigram or BPE, and of vocab.json with
// merges.txt: docs/reference/formats/tokenizer.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/tokenizers/text_normalizer.h"
#include "text/tokenizers/tokenizer_options.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

constexpr std::string_view kWordSign = "\xE2\x96\x81";  // U+2581, for the space before a word

// How a normalised text is split into words.
struct PreTokenizer {
  enum class Kind { metaspace, byte_level } kind = Kind::metaspace;
  // metaspace: which texts get a "▁" at their beginning.
  enum class Prepend { never, first, always } prepend = Prepend::first;
  bool splits = true;            // metaspace: "▁" begins a word; else a text is one word
  bool splits_spaces = false;    // metaspace: white space is left out first, as T5's tokenizer does
  bool add_prefix_space = true;  // byte_level: a text begins with a space
  bool use_regex = true;         // byte_level: words by GPT-2's pattern; else a text is one word

  bool operator==(const PreTokenizer&) const = default;
};

struct SubwordFile {
  enum class Model { unigram, bpe } model = Model::unigram;
  std::vector<std::string> pieces;  // by id, as the file spells them; an empty one is no piece
  std::vector<double> scores;       // unigram: by id
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // bpe: ids of both pieces, best first
  std::int32_t unknown = -1;                                  // -1: there is no unknown piece
  bool fuse_unknown = false, ignore_merges = false;           // bpe
  std::vector<NormalizerStep> normalizer;
  PreTokenizer pre_tokenizer;
  Json post_processor, decoder;   // as they are
  std::vector<AddedToken> added;  // by id, the special tokens too
};

// Whether the text is a tokenizer.json of a BPE model, or of a Unigram model with [MASK], which is
// an encoder's. T5's are read by text/tokenizers/unigram_json.h.
bool is_subword_json(std::string_view text);
// Whether the file is one, or a vocab.json with a merges.txt beside it.
bool is_subword_file(const std::string& path);

// Throws UsageError for text that is not JSON, and for a model, normalizer or pre-tokenizer that
// smelt does not have.
SubwordFile parse_subword_json(std::string_view text, const std::string& path);
// The same parts give the same bytes.
std::string subword_json(const SubwordFile& file);

// Returns RoBERTa's special tokens for a file that puts <s> and </s> around texts, else BERT's.
const SpecialTokenNames& special_tokens_of(const SubwordFile& file);

// The content of the tokenizer_config.json beside a tokenizer.json, without the roles of the
// special tokens: transformers applies the tokenizer.json as it is.
Json subword_config_json(const SubwordFile& file);

// Whether text is taken as it is, as GPT-2 does: no normalizer, and no space before a text. A
// vocab.json with its merges.txt can store nothing else.
bool is_plain_byte_level(const SubwordFile& file);
// Drops the normalizer and the space before a text.
void make_plain_byte_level(SubwordFile& file);

// Reads a tokenizer.json, or a vocab.json with its merges.txt.
SubwordFile load_subword_file(const std::string& path);
// Returns the path of the merges beside a vocab.json: x-merges.txt for x-vocab.json. Empty for
// another name.
std::string merges_path(const std::string& path);
// The content of a merges.txt, and of a vocab.json.
std::string merges_text(const SubwordFile& file);
std::string pieces_json(const SubwordFile& file);

// The parts that smelt's own vocabularies have beside pieces and scores or merges: the normalizer
// of `options`, [CLS] and [SEP] around texts, and the five special tokens.
enum class SubwordKind { unigram, bpe, byte_bpe };
// Byte-level BPE that keeps case and accents normalises text to NFC and changes nothing else.
std::vector<NormalizerStep> own_normalizer(SubwordKind kind, TokenizerOptions options);
SubwordFile own_subword_file(SubwordKind kind, std::vector<std::string> pieces,
                             const TokenizerOptions& options);

}  // namespace smelt
