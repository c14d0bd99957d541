// Builds ELECTRA's examples byte for byte as google-research/electra's build_pretraining_dataset.py
// does with one process and random.seed(seed) at its start: files are sorted by name and shuffled,
// all random numbers come from one Mersenne Twister, and example n goes to file n modulo the number
// of files. For OpenWebText the original shuffles the texts of each archive from the file system's
// order; here they are sorted by name first. Uses one thread; memory does not grow with the text.
#pragma once

#include "data/preprocess/electra_builder.h"
#include "data/preprocess/electra_examples.h"

namespace smelt::data {

// Throws UsageError like build_electra_examples().
ExampleSummary build_electra_in_original_order(const CheckedJob& checked,
                                               const ElectraExamplesJob& job,
                                               const text::BertTokenizer& tokenizer,
                                               const ElectraBuilder& builder);

}  // namespace smelt::data
