// Flags for text input and WordPiece tokenizers, shared by all commands. The variables that the
// flags are stored in must live until the command line is parsed.
#pragma once

#include <CLI/CLI.hpp>

#include "data/preprocess/token_corpus.h"
#include "text/readers/documents.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::cli {

// Adds --input, --format, --field, --normalize, --max-bad and --strict. The input is a required
// flag only if `name` is "--input".
void add_input_flags(CLI::App& command, std::string& input, text::TextFormat& format,
                     text::TextLimits& limits, const std::string& name = "--input");

// Adds the flags of add_input_flags() and --sentences, --dedup, --max-lines.
void add_document_flags(CLI::App& command, text::DocumentOptions& options,
                        const std::string& name = "--input");

// Adds the tokenizer flags. A flag that is not given stays unset: the value stored with the
// vocabulary applies, else the default.
void add_tokenizer_flags(CLI::App& command, text::TokenizerFlags& flags);
// Adds --segment-command to a command without the other tokenizer flags. It permits running the
// segmentation command that is stored with the vocabulary.
void add_segment_command_flag(CLI::App& command);

// Prints the number of files, documents, sentences, tokens and skipped rows.
void print_text_counts(const data::CorpusCounts& text);

}  // namespace smelt::cli
