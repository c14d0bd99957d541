// The flags that say where text is and how a WordPiece tokenizer takes it, the same in every
// command. What they are written to must live until the command line is parsed.
#pragma once

#include <CLI/CLI.hpp>

#include "data/preprocess/token_corpus.h"
#include "text/readers/documents.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt {

// --input, --format, --field, --normalize, --max-bad, --strict. An input of another name need not
// be given.
void add_input_flags(CLI::App& command, std::string& input, TextFormat& format, TextLimits& limits,
                     const std::string& name = "--input");

// Those, and --sentences, --dedup, --max-lines.
void add_document_flags(CLI::App& command, DocumentOptions& options,
                        const std::string& name = "--input");

// What is not given stays unset: as stored beside the vocabulary, else the default.
void add_tokenizer_flags(CLI::App& command, TokenizerFlags& flags);
// --segment-command of commands without the other flags: allows to run the command that is stored
// beside a vocabulary.
void add_segment_command_flag(CLI::App& command);

// What was read of a text, on standard output.
void print_text_counts(const CorpusCounts& text);

}  // namespace smelt
