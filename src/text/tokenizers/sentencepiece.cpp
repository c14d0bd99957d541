#include "text/tokenizers/sentencepiece.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "io/formats/wire.h"
#include "text/tokenizers/mapped_text.h"
#include "text/tokenizers/segmenter.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::text {
namespace {

// U+2581, represents the space before a word
constexpr std::string_view kWordBegin = "\xE2\x96\x81";

void check(const sentencepiece::util::Status& status, std::string_view path) {
  CHECK(status.ok(), path, ": ", status.message());
}

}  // namespace

std::int64_t first_different_piece(std::string_view model, std::string_view other) {
  if (model == other) return -1;
  sentencepiece::SentencePieceProcessor here, there;
  if (!here.LoadFromSerializedProto(model).ok() || !there.LoadFromSerializedProto(other).ok())
    return 0;
  const int size = here.GetPieceSize(), others = there.GetPieceSize();
  for (int id = 0; id < std::min(size, others); ++id)
    if (here.IdToPiece(id) != there.IdToPiece(id)) return id;
  return size == others ? -1 : std::min(size, others);
}

SentencePieceTokenizer::SentencePieceTokenizer(const std::string& path,
                                               std::optional<bool> begins_with_space,
                                               const TokenizerFlags& flags, bool keeps_spaces)
    : path_(path),
      segmenter_(Segmenter::of(segment_command_of(path, flags))),
      processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  std::string model = sentencepiece_model(path);
  if (begins_with_space || keeps_spaces) {
    // Protobuf merges an appended message: ModelProto.normalizer_spec is field 3; its
    // add_dummy_prefix is 3 and remove_extra_whitespaces is 4.
    io::WireWriter normalizer, more;
    if (begins_with_space) normalizer.varint(3, *begins_with_space);
    if (keeps_spaces) normalizer.varint(4, false);
    more.message(3, normalizer);
    model += more.take();
  }
  const auto status = processor_->LoadFromSerializedProto(model);
  if (!status.ok())
    throw UsageError(
        str(path, ": not a SentencePiece model (", model.size(), " bytes): ", status.message()),
        "give a file like T5's spiece.model");
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

std::int32_t SentencePieceTokenizer::size() const { return processor_->GetPieceSize(); }
const std::string& SentencePieceTokenizer::token(std::int32_t id) const {
  return processor_->IdToPiece(id);
}
std::int32_t SentencePieceTokenizer::unknown() const { return processor_->unk_id(); }

bool SentencePieceTokenizer::continues_word(std::int32_t id) const {
  return !processor_->IsControl(id) && !processor_->IsUnknown(id) &&
         !token(id).starts_with(kWordBegin);
}

void SentencePieceTokenizer::encode(std::string_view utf8, std::vector<std::int32_t>& ids) const {
  if (segmenter_) return encode_words(segmenter_->split(utf8), ids);
  encode_words(utf8, ids);
}

bool SentencePieceTokenizer::has_character(std::string_view character) const {
  std::vector<std::int32_t> ids;
  encode_words(character, ids);
  return std::ranges::find(ids, unknown()) == ids.end();
}

void SentencePieceTokenizer::encode_words(std::string_view utf8,
                                          std::vector<std::int32_t>& ids) const {
  std::vector<int> found;
  check(processor_->Encode(utf8, &found), path_);
  ids.insert(ids.end(), found.begin(), found.end());
}

std::vector<TokenSpan> SentencePieceTokenizer::encode_with_offsets(std::string_view utf8) const {
  MappedText words;
  if (segmenter_) words = segmenter_->split(MappedText::of(utf8, 0, true));
  sentencepiece::ImmutableSentencePieceText text;
  check(processor_->Encode(segmenter_ ? words.text : utf8, text.mutable_proto()), path_);
  std::vector<TokenSpan> spans;
  for (const auto& piece : text.pieces()) {
    MappedText::Source from{piece.begin(), piece.end()};
    if (segmenter_)
      from = from.first < from.second ? words.source(from.first, from.second)
                                      : words.place_before(from.first);
    spans.push_back({static_cast<std::int32_t>(piece.id()), from.first, from.second});
  }
  return spans;
}

bool SentencePieceTokenizer::composes() const {
  return normalized("e\u0301") == normalized("\u00e9");
}

std::string SentencePieceTokenizer::normalized(std::string_view utf8) const {
  sentencepiece::ImmutableSentencePieceText found;
  check(processor_->Encode(utf8, found.mutable_proto()), path_);
  std::string out;
  for (const auto& piece : found.pieces()) {
    if (!processor_->IsByte(static_cast<int>(piece.id()))) {
      out += piece.piece();
      continue;
    }
    int byte = 0;  // "<0xE4>"
    const std::string& name = piece.piece();
    std::from_chars(name.data() + 3, name.data() + name.size() - 1, byte, 16);
    out += static_cast<char>(byte);
  }
  return out;
}

std::string SentencePieceTokenizer::decode(std::span<const std::int32_t> ids) const {
  check_ids(ids, path_);
  std::string text;
  check(processor_->Decode(std::vector<int>(ids.begin(), ids.end()), &text), path_);
  return text;
}

}  // namespace smelt::text
