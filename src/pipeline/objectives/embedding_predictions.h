// Evaluation of an embedding model on held-out examples: correlations with scores, or retrieval of
// each anchor's positive among all held-out texts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "execution/inference/embedder.h"
#include "execution/inference/state_measures.h"
#include "model/tasks/embedding_task.h"
#include "model/train_step/report.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns the names of the metrics for rows without similarity scores: ndcg_at_10, mrr_at_10,
// recall_at_10, map_at_100.
std::vector<std::string> retrieval_measures();

execution::EmbedJob embed_job(const model::Encoder& encoder, const io::EmbeddingForm& form);

// Writes a JSON object for each example of eval.split to RecipePaths::predictions: text and pair,
// label and prediction. With scores these are the score and the similarity of the two texts.
// Without, the label is 1, the prediction is the reciprocal rank of the positive among all held-out
// positives and negatives (0 beyond rank 100), and the similarity is added. Returns the metrics.
std::vector<model::MeasuredValue> write_embedding_predictions(const Recipe& recipe,
                                                              const model::EmbeddingTask& task);

// Returns the object that computes these metrics on held-out examples during training.
std::unique_ptr<execution::StateMeasures> embedding_measures(
    const Recipe& recipe, const model::EmbeddingTask& task,
    std::shared_ptr<const pjrt::Client> client);

}  // namespace smelt::pipeline
