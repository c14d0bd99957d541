// StableAdamW (Wortsman et al. 2023): AdamW that lowers the learning rate of a parameter while its
// gradients are larger than their moving average predicts. It needs no clipping of gradients.
#pragma once

#include "model/optim/adamw.h"

namespace smelt::model {

// Returns the optimizer. Its slots are adam_m and adam_v, as in AdamW, but the stored averages are
// already bias-corrected; config.bias_correction is ignored. A parameter's rate is divided by
// max(1, r), where r is the root mean square of g / sqrt(v). Each layer of a stacked parameter is
// treated separately.
Optimizer stable_adamw(const AdamW& config);

}  // namespace smelt::model
