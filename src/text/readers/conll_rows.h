// Reader of CoNLL files (Tjong Kim Sang and De Meulder 2003): each line has a word and its labels
// in columns, and an empty line separates sentences.
#pragma once

#include "text/readers/rows.h"

namespace smelt::text {

// Returns a reader whose rows are sentences. The first field is the words, joined by spaces; the
// second, if any, is the labels in the last column. A field whose name is a number is that column,
// from 1. Columns are separated by tabs, or by spaces if the line has no tab.
//
// "-DOCSTART-" lines and comments are skipped. A line before a sentence is a comment if it begins
// with "# " and one of these holds: it has another number of columns than the sentence's lines, it
// contains "=", or its label is not BIO and no earlier word has that label. A sentence is a bad row
// if one of its lines has too few columns or it has more than 100000 words.
std::unique_ptr<RowReader> open_conll(const std::string& path, const std::vector<Field>& fields,
                                      FaultSink faults);

}  // namespace smelt::text
