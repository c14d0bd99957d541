// A retrieval dataset in the layout of BEIR (Thakur et al. 2021): corpus.jsonl with _id, title and
// text; queries.jsonl with _id and text; qrels/<split>.tsv with a header line and the columns
// query-id, corpus-id and score.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace smelt::evaluation {

struct BeirText {
  std::string id, text;
};

struct BeirGrade {
  std::size_t document = 0;  // index into documents
  double grade = 0;
};

struct BeirData {
  std::vector<BeirText> documents;             // the title and the text, separated by a space
  std::vector<BeirText> queries;               // those with a relevant document in the split
  std::vector<std::vector<BeirGrade>> grades;  // of each query
};

// Reads a dataset. Throws UsageError, beginning with `where`, if a file is missing, a line is not
// as above, an id occurs twice, a qrels line names an unknown id, or no query has a relevant
// document.
BeirData read_beir(const std::string& folder, const std::string& split, const std::string& where);

}  // namespace smelt::evaluation
