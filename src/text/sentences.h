// Sentences of running prose, by the rules of Unicode Standard Annex 29 (ICU).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// Not safe to use from several threads at once.
class SentenceSplitter {
 public:
  SentenceSplitter();
  ~SentenceSplitter();

  // Appends the sentences of one paragraph of UTF-8, without white space at their ends.
  void split(std::string_view paragraph, std::vector<std::string>& sentences);

 private:
  struct Iterator;
  std::unique_ptr<Iterator> iterator_;
};

}  // namespace smelt
