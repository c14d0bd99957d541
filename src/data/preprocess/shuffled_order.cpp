#include "data/preprocess/shuffled_order.h"

#include <memory>

#include "data/preprocess/document_groups.h"
#include "data/preprocess/example_run.h"
#include "data/preprocess/example_shuffle.h"

namespace smelt::data {

ExampleSummary build_in_shuffled_order(const CheckedJob& checked, const text::Tokenizer& tokenizer,
                                       const ExampleBuilder& builder) {
  // Created first, to report errors in the input before the work folder is used.
  auto reader = std::make_unique<text::DocumentReader>(documents_of(checked));
  return run_examples(checked, builder, "shuffled", [&](ShuffleOptions options) {
    options.longest_sentence = builder.longest_sentence();
    const ScatteredDocuments documents =
        scatter_documents(*reader, tokenizer, options, [&](const CorpusCounts& text) {
          if (text.documents == 0) throw_no_text(checked.inputs.size());
          builder.check(text);
        });
    reader.reset();  // frees the memory for deduplication
    return DrawnExamples{
        .examples = scatter_examples(documents, builder, checked.files.outputs.size(), options),
        .text = documents.counts};
  });
}

}  // namespace smelt::data
