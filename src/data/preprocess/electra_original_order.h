// ELECTRA's examples as google-research/electra's build_pretraining_dataset.py makes them with one
// process and random.seed(seed) at its start, byte for byte: the files by their names, shuffled;
// every draw from one Mersenne Twister; example n in file n modulo their number. Its program for
// OpenWebText also takes the texts of each archive in a shuffle of the file system's order: here it
// is one of the order of their names. One thread draws; memory does not grow with the text.
#pragma once

#include "data/preprocess/electra_builder.h"
#include "data/preprocess/electra_examples.h"

namespace smelt {

// UsageError as of build_electra_examples.
ExampleSummary build_electra_in_original_order(const CheckedJob& checked,
                                               const ElectraExamplesJob& job,
                                               const BertTokenizer& tokenizer,
                                               const ElectraBuilder& builder);

}  // namespace smelt
