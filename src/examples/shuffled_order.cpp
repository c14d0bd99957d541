#include "examples/shuffled_order.h"

#include "examples/document_groups.h"
#include "examples/example_run.h"
#include "examples/example_shuffle.h"

namespace smelt {

ExampleSummary build_in_shuffled_order(const CheckedJob& checked, const Tokenizer& tokenizer,
                                       const ExampleBuilder& builder) {
  DocumentReader reader(checked.job.text);  // which refuses before any work is looked at
  return run_examples(checked, builder, "shuffled", [&](const ShuffleOptions& options) {
    const ScatteredDocuments documents =
        scatter_documents(reader, tokenizer, options, [&](const CorpusCounts& text) {
          if (text.documents == 0) throw_no_text(checked.inputs.size());
          builder.check(text);
        });
    return DrawnExamples{
        .examples = scatter_examples(documents, builder, checked.files.outputs.size(), options),
        .text = documents.counts};
  });
}

}  // namespace smelt
