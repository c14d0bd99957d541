// How fast a device multiplies matrices, where no maker says it.
#pragma once

#include "pjrt/client.h"

namespace smelt {

// Operations a second (a multiplication and an addition each) of the best of a few products of f32
// matrices of 1024 by 1024 on the client's first device; a tenth of a second or two.
double measured_product_flops(const Client& client);

}  // namespace smelt
