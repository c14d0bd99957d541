// SmoothQuant (Xiao et al. 2023, arXiv 2211.10438): channels that are far larger than the others of
// what a product is given hand some of their size to the product's matrix, where it costs less.
// Channel j is divided by
//   s_j = max|X_j|^a / max|W_j|^(1-a), at least 1e-5; 1 of a channel that is always 0,
// W_j its column of all matrices that take it, and these are multiplied by s_j. What makes the
// channel is divided, so that the model computes what it did.
#pragma once

#include "compress/input_ranges.h"
#include "compress/source_folder.h"

namespace smelt {

class PruneRows;

// Of a T5: the norms before attention and feed-forward, the encoder's last one, whose reader are
// all attentions of the decoder to it, and what makes a feed-forward's neurons. Changes the
// source's tensors and returns s by the parameters of the products. UsageError for another model.
ChannelNumbers smooth(SourceFolder& source, const PruneRows& rows, double alpha);

}  // namespace smelt
