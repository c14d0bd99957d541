// Recognizes text files whose lines hold more than text.
#pragma once

#include <string>
#include <string_view>

namespace smelt::text {

// The first lines of a text file.
class LineSample {
 public:
  bool is_full() const { return lines_ == kLines; }
  // Adds a line without white space around it. Ignores an empty line.
  void add(std::string_view line);
  // Returns the text of a warning without the file's name, such as "looks like CoNLL-U, …", or ""
  // if the lines are plain text.
  std::string finding() const;

 private:
  static constexpr int kLines = 200;
  int lines_ = 0, numbered_ = 0, columns_ = 0, markup_ = 0;
  bool has_text_comment_ = false;  // "# text = …", CoNLL-U's comment with the sentence
  bool has_article_tag_ = false;   // "<doc id=…", which WikiExtractor writes
};

}  // namespace smelt::text
