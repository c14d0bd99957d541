// The table of all primitives. To add one: its block, its line in ops/table.h, its entry in
// ops/all.cpp.
#pragma once

#include <span>

#include "ir/op.h"

namespace smelt {

std::span<const Op* const> all_ops();

}  // namespace smelt
