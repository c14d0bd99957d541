#include "execution/inference/mask_sampler.h"

#include "base/number_format.h"
#include "base/str.h"

namespace smelt {
namespace {

TextSample sample_of(const FilledText& text) {
  Record masks = Record::array();
  std::string line = text.text + " :";
  for (const auto& guesses : text.masks) {
    Record& mask = masks.emplace_back(Record::array());
    for (const MaskGuess& guess : guesses) {
      mask.push_back({guess.token, to_f32_digits(guess.probability)});
      line += str(" ", guess.token, " ", percent(guess.probability));
    }
  }
  return {.line = std::move(line), .fields = {{"text", text.text}, {"masks", std::move(masks)}}};
}

}  // namespace

std::vector<TextSample> MaskSampler::sample(const SlicedTensors& tensors,
                                            const std::string& where) const {
  std::vector<TextSample> out;
  for (const FilledText& text : filler_.fill(tensors, where)) out.push_back(sample_of(text));
  return out;
}

}  // namespace smelt
