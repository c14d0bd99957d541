// SmoothQuant (Xiao et al. 2023, arXiv 2211.10438): moves outliers of the input channels of a
// matmul into its matrix, where they cost less accuracy. Channel j is divided by
//   s_j = max|X_j|^a / max|W_j|^(1-a), at least 1e-5; 1 for a channel that is always 0,
// where W_j is column j of all matrices that consume the channel. W_j is multiplied by s_j. The
// channel is divided by scaling the weights that produce it (a norm or a matrix), so that the model
// computes the same function.
#pragma once

#include "compress/input_ranges.h"
#include "compress/source_folder.h"

namespace smelt::compress {

class PruneRows;

// Applies SmoothQuant to a T5: to the norms before attention and feed-forward, to the encoder's
// last norm (the input of the decoder's cross-attention), and to the neurons of each feed-forward.
// Changes the source's tensors and returns s for each matmul, by parameter. Throws UsageError for
// other models.
ChannelNumbers smooth(SourceFolder& source, const PruneRows& rows, double alpha);

}  // namespace smelt::compress
