// Small models on disk for tests that run inference from outside of the program.
#pragma once

#include <string>

namespace smelt {

// Writes model folders with random weights below `folder`:
//   mask     BERT with a masked-LM head; tokens word5 to word98
//   classes  BERT with the classes a, b and c; tokens cat, dog, bird and w7, w8, ...
//   words    the same with labels of words
//   answers  the same with answer spans; a question may have no answer
//   text     T5
//   replaced ELECTRA; tokens word5 to word98
void write_inference_folders(const std::string& folder);

}  // namespace smelt
