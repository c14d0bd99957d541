#include "examples/shuffled_order.h"

#include <memory>

#include "examples/document_groups.h"
#include "examples/example_run.h"
#include "examples/example_shuffle.h"

namespace smelt {

ExampleSummary build_in_shuffled_order(const CheckedJob& checked, const Tokenizer& tokenizer,
                                       const ExampleBuilder& builder) {
  // Refuses before any work is looked at.
  auto reader = std::make_unique<DocumentReader>(documents_of(checked));
  return run_examples(checked, builder, "shuffled", [&](const ShuffleOptions& options) {
    ScatteredDocuments documents = scatter_documents(*reader, tokenizer, options);
    reader.reset();  // and with it the memory of what stood before
    if (documents.counts.documents == 0) throw_no_text(checked.inputs.size());
    builder.check(documents.counts);
    DrawnExamples drawn{
        .examples = scatter_examples(documents, builder, checked.files.outputs.size(), options),
        .text = documents.counts};
    documents.spill.remove();
    return drawn;
  });
}

}  // namespace smelt
