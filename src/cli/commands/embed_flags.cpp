#include "cli/commands/embed_flags.h"

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "cli/options/number_check.h"

namespace smelt::cli {

execution::TextEmbedder EmbedFlags::load() const {
  ModelOption option = *model;
  option.stored.max_length = max_length;
  option.stored.command = model->command->get_name();
  pipeline::EmbedChoice how;
  if (!pooling.empty()) how.pooling = choose_of("--pooling", pooling, io::kPoolings);
  if (!normalize.empty()) how.normalize = normalize == "yes";
  return option.load(pipeline::InferenceTask::embed).text_embedder(batch, how);
}

execution::EmbeddingRows truncated_embeddings(execution::EmbeddingRows rows,
                                              std::int64_t dimensions,
                                              const execution::TextEmbedder& embedder,
                                              const std::string& where) {
  if (dimensions == 0 || rows.width == 0) return rows;
  const auto width = static_cast<std::size_t>(dimensions);
  if (width > rows.width)
    throw UsageError(
        str(where, " ", dimensions, ": the model's embeddings have ", rows.width, " dimensions"),
        "use a smaller number");
  execution::EmbeddingRows out{.width = width};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = rows.row(i).first(width);
    out.values.insert(out.values.end(), row.begin(), row.end());
  }
  if (embedder.job().form.normalize) execution::divide_by_norms(out);
  return out;
}

void warn_of_truncated(std::uint64_t count, const execution::TextEmbedder& embedder,
                       const std::string& command) {
  if (count > 0)
    log_warning("{}: {} longer than {} tokens: truncated", command,
                counted(count, "text is", "texts are"), embedder.job().most_tokens);
}

execution::EmbeddingRows EmbedFlags::embed(execution::TextEmbedder& embedder,
                                           std::span<const std::string> texts) const {
  return truncated_embeddings(embedder.embed(texts), dimensions, embedder,
                              str(model->command->get_name(), ": --dimensions"));
}

void EmbedFlags::warn_of_cut(const execution::TextEmbedder& embedder) const {
  warn_of_truncated(embedder.cut(), embedder, model->command->get_name());
}

std::shared_ptr<EmbedFlags> add_embed_flags(CLI::App& command) {
  auto f = std::make_shared<EmbedFlags>();
  f->model = add_model_option(command);
  const auto number = [&](const char* name, std::int64_t& value, double least, const char* help) {
    command.add_option(name, value, help)->check(number_from(least))->capture_default_str();
  };
  number("--batch", f->batch, 1,
         "texts per batch; on a CPU, rows of 64 tokens that short texts share");
  number("--max-length", f->max_length, 0,
         "tokens per text, at most the model's maximum; longer texts are truncated; 0: the model's "
         "maximum");
  number("--dimensions", f->dimensions, 0,
         "truncate embeddings to this number of dimensions, for models trained with "
         "model.matryoshka; 0: all");
  command.add_option("--pooling", f->pooling,
                     "mean or cls; default: the model's; needed for models that are not embedding "
                     "models");
  command
      .add_option("--normalize", f->normalize,
                  "whether to divide embeddings by their norms; default: as the model does")
      ->check(CLI::IsMember({"yes", "no"}));
  return f;
}

}  // namespace smelt::cli
