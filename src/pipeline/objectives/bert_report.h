// Report of `smelt data inspect` on BERT's examples.
#pragma once

#include "pipeline/config/record_report.h"

namespace smelt::pipeline {

RecordReport bert_record_report();

}  // namespace smelt::pipeline
