#include "runs/golden_modernbert.h"

namespace smelt {

std::string GoldenModernbert::tokenizer_text() {
  Json vocab{{"[CLS]", 0}, {"[PAD]", 1}, {"[SEP]", 2}, {"[UNK]", 3}, {"\u0120", 4}, {"ab", 5}};
  for (int i = 0; i < 22; ++i) vocab[std::string(1, static_cast<char>('a' + i))] = 6 + i;
  vocab["[MASK]"] = 28;
  Json added = Json::array();
  for (const auto& [token, id] :
       {std::pair{"[CLS]", 0}, {"[PAD]", 1}, {"[SEP]", 2}, {"[UNK]", 3}, {"[MASK]", 28}})
    added.push_back({{"id", id},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", id == 28},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  const Json bytes{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  const auto token = [](const char* id) {
    return Json{{"SpecialToken", {{"id", id}, {"type_id", 0}}}};
  };
  const Json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const auto special = [](const char* id, int number) {
    return Json{{"id", id}, {"ids", {number}}, {"tokens", {id}}};
  };
  const Json around{
      {"type", "TemplateProcessing"},
      {"single", Json::array({token("[CLS]"), text, token("[SEP]")})},
      {"pair", Json::array({token("[CLS]"), text, token("[SEP]"),
                            Json{{"Sequence", {{"id", "B"}, {"type_id", 0}}}}, token("[SEP]")})},
      {"special_tokens", {{"[CLS]", special("[CLS]", 0)}, {"[SEP]", special("[SEP]", 2)}}}};
  const Json model{{"type", "BPE"},
                   {"vocab", vocab},
                   {"merges", Json::array({"a b"})},
                   {"unk_token", nullptr},
                   {"dropout", nullptr},
                   {"continuing_subword_prefix", ""},
                   {"end_of_word_suffix", ""},
                   {"fuse_unk", false}};
  return Json{
      {"version", "1.0"},       {"added_tokens", added},    {"normalizer", {{"type", "NFC"}}},
      {"pre_tokenizer", bytes}, {"post_processor", around}, {"decoder", bytes},
      {"model", model}}
      .dump();
}

}  // namespace smelt
