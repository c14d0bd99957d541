// Rows by whose score a choice is made while a model becomes smaller.
#pragma once

#include <cstdint>
#include <string>

#include "compress/quantize.h"
#include "pipeline/asked_rows.h"

namespace smelt {

struct ChoiceRows {
  AskedRows rows = {};      // development's, not the test's
  std::string metric = {};  // empty: the problem's
  std::int64_t batch_size = 32;
  std::string device = "cpu";
};

// Of each second row, the first among them, the score is what is chosen by; of the others it is
// what is told. Points are hundredths of a score that is a share, of bleu its own. UsageError for
// fewer than two rows, and as AskedModel has it.
DropLimit drop_limit(const ChoiceRows& rows, double points, bool forced);

}  // namespace smelt
