// StableAdamW (Wortsman et al. 2023): AdamW that lowers the rate of a parameter whose gradients are
// larger than its second moment says. It needs no clipping of gradients.
#pragma once

#include "model/optim/adamw.h"

namespace smelt::model {

// Slots: adam_m and adam_v, as in AdamW, but with the bias correction in the moving averages. A
// parameter's rate is divided by max(1, r), where r is the root mean square of g / sqrt(v). Each
// layer of a stacked parameter is treated separately. `bias_correction` is always on.
Optimizer stable_adamw(const AdamW& config);

}  // namespace smelt::model
