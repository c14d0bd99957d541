// The table of all primitives. To add one: its block, its line in compiler/ops/table.h, its entry
// in compiler/ops/all.cpp.
#pragma once

#include <span>

#include "compiler/ir/op.h"

namespace smelt {

std::span<const Op* const> all_ops();

}  // namespace smelt
