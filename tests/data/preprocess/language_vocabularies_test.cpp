// Vocabularies for ten languages in ten scripts, trained with default settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "base/log.h"
#include "data/preprocess/vocabulary_job.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/text_normalizer.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::data {
namespace {

struct Language {
  const char* tag;
  std::string text;
  std::string decomposed;  // one of its words with marks decomposed or in another order
};

const std::vector<Language> kLanguages{
    {"vi", "Bạn đọc bản tin ở bàn này. Mẹ và má mà mả mã mạ! Người Việt nói tiếng Việt.",
     "Ba\u0323n no\u0301i tie\u0302\u0301ng Vie\u0302\u0323t"},
    {"uk", "Йшла їжачиха, а за нею ґава. Її м'який ковзан стоїть у Києві: є що їсти!",
     "И\u0306шла і\u0308жачиха"},
    {"ar", "مُحَمَّدٌ يَقرأ كتابًا. أحمد وإسلام في آخر البيت، هل غيّر رأيه؟", "مُحَم\u064e\u0651دٌ ا\u0653خر"},
    {"hi", "यह क़लम है और वे कलमें हैं। कुत्ता लड़का हिन्दी में पढ़ता है॥", "क\u093cलम है"},
    {"th", "ผู้ใช้กินข้าวในห้องนี้ไม่ได้ น้ำเย็นๆ อยู่ที่โน่น", "ห้องน\u0e35\u0e49"},
    {"km", "ខ្ញុំ\u200bរៀន\u200bភាសា\u200bខ្មែរ។ នៅ\u200bក្រុង\u200bភ្នំពេញ និង\u200bនឹង៕", "ខ្ញុំ\u200bរៀន"},
    {"ko", "글쓰기는 재미있다. 고양이가 마루에 앉았고 개는 밖으로 나갔다.",
     "\u1100\u1173\u11af\u110a\u1173\u1100\u1175\u1102\u1173\u11ab"},
    {"ja", "彼は言った。「プログラムでガギグを学ぶ。」東京タワーはどこですか？",
     "フ\u309aロク\u3099ラムて\u3099"},
    {"zh", "她说：“北京的漢字和汉字，哪个好？”中文没有空格。", "中文没有空格"},
    {"am", "ሰላም፣ እንዴት ነህ? መጽሐፉን አነበብኩት። አዲስ አበባ ትልቅ ናት፡፡", "አዲስ አበባ"}};

// The text in NFC and without spaces.
std::string letters_of(const std::string& text) {
  std::string out = text::nfc(std::string(text));
  for (const std::string_view space : {" ", "\u200b"})
    for (std::size_t at; (at = out.find(space)) != std::string::npos;) out.erase(at, space.size());
  return out;
}

class LanguageVocabularies : public testing::Test {
 protected:
  std::string train(const Language& language, VocabularyType type) const {
    const std::string folder = dir_.file(str(language.tag, "/", static_cast<int>(type)));
    std::string text;
    for (int i = 0; i < 5; ++i) text += language.text + "\n";
    io::write_file(dir_.file("text.txt"), text);
    VocabularyJob job;
    job.text.input = dir_.file("text.txt");
    job.out = folder + "/tokenizer.json";
    job.type = type;
    job.trainer.vocab_size = 200;
    job.tokenizer = text::new_vocabulary_options({}, "", "--language");
    train_vocabulary(job);
    return folder;
  }
  const TempDir dir_;
};

TEST_F(LanguageVocabularies, KeepAllLettersAndMatchTheIdsAndOffsetsOfTransformers) {
  REQUIRE_ORACLE();
  const CapturedLog log;
  std::string cases;
  std::vector<std::pair<std::string, std::string>> texts;  // folder and text
  for (const Language& language : kLanguages)
    for (const VocabularyType type : {VocabularyType::wordpiece, VocabularyType::choose}) {
      const std::string folder = train(language, type);
      const text::BertTokenizer tokenizer =
          text::BertTokenizer::load(folder + "/tokenizer.json", {});
      const std::vector<std::string> here{language.text, language.decomposed, "\u200b a"};
      for (const std::string& text : {language.text, language.decomposed}) {
        const auto ids = tokenizer.encode(text);
        EXPECT_EQ(std::ranges::count(ids, tokenizer.unknown()), 0) << folder << ": " << text;
        EXPECT_EQ(letters_of(tokenizer.decode(ids)), letters_of(text)) << folder;
      }
      cases += Json{{"folder", folder}, {"texts", here}}.dump() + "\n";
      for (const std::string& text : here) texts.emplace_back(folder, text);
    }
  io::write_file(dir_.file("cases.jsonl"), cases);
  const CommandOutput output =
      run_oracle(str(source_path("tests/data/preprocess/language_vocabularies.py"), " ",
                     dir_.file("cases.jsonl"), " ", dir_.file("out.jsonl")));
  ASSERT_EQ(output.status, 0) << output.text;
  std::ifstream in(dir_.file("out.jsonl"));
  for (const auto& [folder, text] : texts) {
    std::string line;
    ASSERT_TRUE(std::getline(in, line));
    const Json expected = Json::parse(line);
    const text::BertTokenizer tokenizer = text::BertTokenizer::load(folder + "/tokenizer.json", {});
    Json offsets = Json::array();
    for (const text::TokenSpan& span :
         text::in_characters(text, tokenizer.encode_with_offsets(text)))
      offsets.push_back({span.begin, span.end});
    EXPECT_EQ(Json(tokenizer.encode(text)), expected["ids"]) << folder << ": " << text;
    EXPECT_EQ(offsets, expected["offsets"]) << folder << ": " << text;
  }
}

}  // namespace
}  // namespace smelt::data
