#include "data/preprocess/example_order.h"

#include "base/choice.h"
#include "data/preprocess/require.h"

namespace smelt {
namespace {

constexpr NamedValues<ExampleOrder, 2> kOrders{
    {{"shuffled", ExampleOrder::shuffled}, {"original", ExampleOrder::original}}};

}  // namespace

ExampleOrder parse_example_order(std::string_view name) {
  return choose_of("training data: order", name, kOrders);
}

std::string_view name(ExampleOrder order) { return word_of(order, kOrders); }

void check_plain_text(const DocumentOptions& text) {
  require(text.format.file == FileFormat::by_name && text.sentences == Cut::lines &&
              text.dedup == Dedup::none && text.max_lines == 0,
          "order original reads only text files with one sentence per line",
          "take the shuffled order");
}

}  // namespace smelt
