// ELECTRA's task out of settings and the files of a run, for recipes and for the original's
// command.
#pragma once

#include <string>
#include <vector>

#include "tasks/electra_task.h"
#include "tokenize/vocabulary.h"
#include "train/detect.h"
#include "train/fill_mask.h"

namespace smelt {

// UsageError when one of them is missing.
ElectraIds special_ids(const Vocabulary& vocabulary);

// The settings with what the vocabulary and the training data say: vocab_size, ids, majority_token.
// UsageError as cli/vocabulary_facts.h has it.
ElectraTask with_files(ElectraTask settings, const Vocabulary& vocabulary,
                       const std::vector<std::string>& records, const std::string& size_name);

// The generator's guesses and what the discriminator finds, of a task whose vocabulary is known.
FillMaskJob electra_fill_job(const ElectraTask& task);
DetectJob electra_detect_job(const ElectraTask& task);

}  // namespace smelt
