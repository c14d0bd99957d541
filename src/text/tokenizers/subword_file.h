// Reads and writes Hugging Face's tokenizer.json of Unigram and BPE models, and vocab.json with
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

namespace smelt::text {

// U+2581, represents the space before a word
constexpr std::string_view kWordSign = "\xE2\x96\x81";

// How a normalized text is split into words.
struct PreTokenizer {
  enum class Kind { metaspace, byte_level } kind = Kind::metaspace;
  // metaspace: which texts get a "▁" at the beginning.
  enum class Prepend { never, first, always } prepend = Prepend::first;
  bool splits = true;            // metaspace: split before each "▁"; false: a text is one word
  bool splits_spaces = false;    // metaspace: remove white space first, as T5's tokenizer does
  bool add_prefix_space = true;  // byte_level: add a space at the beginning of a text
  bool use_regex = true;         // byte_level: split by GPT-2's pattern; false: a text is one word

  bool operator==(const PreTokenizer&) const = default;
};

struct SubwordFile {
  enum class Model { unigram, bpe } model = Model::unigram;
  std::vector<std::string> pieces;  // by id, as spelled in the file; an empty one never matches
  std::vector<double> scores;       // unigram: by id
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // bpe: ids of both pieces, best first
  std::int32_t unknown = -1;                                  // id of the unknown piece; -1: none
  bool fuse_unknown = false, ignore_merges = false;           // bpe
  std::vector<NormalizerStep> normalizer;
  PreTokenizer pre_tokenizer;
  Json post_processor, decoder;   // stored unchanged
  std::vector<AddedToken> added;  // by id, special tokens included
};

// Returns whether the text is a tokenizer.json of a BPE model, or of a Unigram model with [MASK],
// which belongs to an encoder. T5's files are read by text/tokenizers/unigram_json.h.
bool is_subword_json(std::string_view text);
// The name of an encoder's SentencePiece model in a Hugging Face folder.
constexpr const char* kEncoderSpmFile = "spm.model";
// The name of the SentencePiece model of XLM-RoBERTa and CamemBERT.
constexpr const char* kFairseqSpmFile = "sentencepiece.bpe.model";
// Returns whether the file is a SentencePiece model (*.model) of an encoder: a Unigram model with
// the pieces [PAD], [CLS] and [SEP], such as DeBERTa's spm.model, or a sentencepiece.bpe.model in
// the folder of an XLM-RoBERTa or a CamemBERT.
bool is_encoder_spm(const std::string& path);
// Returns whether the file is a tokenizer.json for which is_subword_json() is true, a vocab.json
// with a merges.txt in its folder, or a file for which is_encoder_spm() is true.
bool is_subword_file(const std::string& path);
// Returns whether the file is named vocab.json and exists together with its merges.txt.
bool is_pieces_file(const std::string& path);

// Throws UsageError if the text is not JSON, or if smelt does not support the model, normalizer or
// pre-tokenizer.
SubwordFile parse_subword_json(std::string_view text, const std::string& path);
// Returns the content of the tokenizer.json. Equal files give equal bytes.
std::string subword_json(const SubwordFile& file);

// Returns RoBERTa's special tokens if the file puts <s> and </s> around texts, and BERT's
// otherwise.
const SpecialTokenNames& special_tokens_of(const SubwordFile& file);

// Returns the content of the tokenizer_config.json that accompanies a tokenizer.json, without the
// roles of the special tokens. transformers then applies the tokenizer.json unchanged.
Json subword_config_json(const SubwordFile& file);

// Returns whether text is not changed before splitting, as in GPT-2: no normalizer, and no space
// added before a text. A vocab.json with merges.txt can store only such tokenizers.
bool is_plain_byte_level(const SubwordFile& file);
// Removes the normalizer and the space before a text.
void make_plain_byte_level(SubwordFile& file);

// Reads a tokenizer.json, a vocab.json with its merges.txt, or an encoder's SentencePiece model.
// The last two are read as the tokenizer.json that transformers 4 makes of them. A vocab.json is
// RoBERTa's if tokenizer_class_beside() is RobertaTokenizer, otherwise GPT-2's, which has neither
// added tokens nor a space before a text.
SubwordFile load_subword_file(const std::string& path);
// Returns the special tokens of RoBERTa that are among the pieces, with the flags of transformers.
std::vector<AddedToken> roberta_tokens(const std::vector<std::string>& pieces);
// Returns the path of the merges file for a vocab.json: x-merges.txt for x-vocab.json. Empty for
// other names.
std::string merges_path(const std::string& path);
// Return the content of a merges.txt and of a vocab.json.
std::string merges_text(const SubwordFile& file);
std::string pieces_json(const SubwordFile& file);

// Kinds of vocabularies that smelt trains.
enum class SubwordKind { unigram, bpe, byte_bpe };
// Returns the normalizer of a new vocabulary for `options`. For a byte-level BPE that keeps case
// and accents, it only converts text to NFC.
std::vector<NormalizerStep> own_normalizer(SubwordKind kind, TokenizerOptions options);
// Returns the file of a new vocabulary without scores and merges: `pieces`, own_normalizer(), the
// post-processor that puts [CLS] and [SEP] around a text, and the five special tokens.
SubwordFile own_subword_file(SubwordKind kind, std::vector<std::string> pieces,
                             const TokenizerOptions& options);

}  // namespace smelt::text
