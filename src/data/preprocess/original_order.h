// Builds BERT's examples byte for byte as google-research/bert's create_pretraining_data.py does.
#pragma once

#include "data/preprocess/bert_builder.h"
#include "data/preprocess/bert_examples.h"

namespace smelt::data {

ExampleSummary build_in_original_order(const CheckedJob& checked, const BertExamplesJob& job,
                                       const CorpusReader& reader, const BertBuilder& builder);

}  // namespace smelt::data
