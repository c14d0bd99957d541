// Sentences as the CoNLL tasks give them (Tjong Kim Sang and De Meulder 2003): a word a line with
// its labels in columns behind it, an empty line between sentences.
#pragma once

#include "text/readers/rows.h"

namespace smelt {

// A sentence is a row. The first field is the words, with spaces between; the second, if any, their
// labels, the last column. A field whose name is a number is that column, from 1. Columns stand
// between tabs, or else between spaces; "-DOCSTART-" lines are passed over, and so are comments:
// lines before a sentence that begin with "# " and have other columns than its lines, a "=", or a
// label that is none of BIO and that no word so far has. A sentence with a line of fewer columns,
// or of more than 100000 words, is a bad row.
std::unique_ptr<RowReader> open_conll(const std::string& path, const std::vector<Field>& fields,
                                      FaultSink faults);

}  // namespace smelt
