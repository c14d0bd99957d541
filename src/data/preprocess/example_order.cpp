#include "data/preprocess/example_order.h"

#include "base/choice.h"
#include "data/preprocess/require.h"

namespace smelt::data {
namespace {

constexpr NamedValues<ExampleOrder, 2> kOrders{
    {{"shuffled", ExampleOrder::shuffled}, {"original", ExampleOrder::original}}};

}  // namespace

ExampleOrder parse_example_order(std::string_view name) {
  return choose_of("training data: order", name, kOrders);
}

std::string_view name(ExampleOrder order) { return word_of(order, kOrders); }

void check_plain_text(const text::DocumentOptions& text) {
  require(text.format.file == text::FileFormat::by_name && text.sentences == text::Cut::lines &&
              text.dedup == text::Dedup::none && text.max_lines == 0,
          "order original reads only text files with one sentence per line",
          "use the shuffled order");
}

}  // namespace smelt::data
