#include "runs/golden_deberta.h"

#include "text/tokenizers/encoder_spm.h"

namespace smelt {

std::string GoldenDeberta::tokenizer_text() {
  text::SubwordFile file;
  file.pieces = {"[PAD]", "[CLS]", "[SEP]", "[UNK]", "\u2581", "\u2581ab"};
  file.scores = {0, 0, 0, 0, -2, -3};
  file.unknown = 3;
  for (int i = 0; i < 22; ++i) {
    file.pieces.emplace_back(1, static_cast<char>('a' + i));
    file.scores.push_back(-4 - i);
  }
  file.normalizer = {{.kind = text::NormalizerStep::Kind::strip}};
  file.pre_tokenizer.prepend = text::PreTokenizer::Prepend::always;
  file.post_processor = Json(text::template_around(1, 2));
  std::int32_t id = 0;
  for (const char* token : {"[PAD]", "[CLS]", "[SEP]", "[UNK]"})
    file.added.push_back({.id = id++, .content = token, .normalized = false, .special = true});
  file.added.push_back({.id = 28, .content = "[MASK]", .normalized = false, .special = true});
  return text::subword_json(file);
}

}  // namespace smelt
