// Declarations of all primitive ops. To add one, define it in the file of its subject, declare it
// here and list it in compiler/ops/all.cpp.
#pragma once

#include <span>

#include "compiler/ir/op.h"

namespace smelt::compiler {

// Returns all primitive ops.
std::span<const Op* const> all_ops();

// leaves.cpp
extern const Op kConstant, kIota;
// unary.cpp
extern const Op kNeg, kExp, kLog, kLog1p, kExpm1, kTanh, kLogistic, kSqrt, kRsqrt, kErf, kSin, kCos,
    kAbs, kSign, kFloor, kCeil, kRoundNearestEven, kBitwiseNot, kIsFinite;
// convert.cpp
extern const Op kConvert, kBitcastConvert, kStopGradient, kStraightThrough, kReducePrecision,
    kOptimizationBarrier;
// binary.cpp
extern const Op kAdd, kSubtract, kMultiply, kDivide, kRemainder, kPower, kMaximum, kMinimum,
    kBitwiseAnd, kBitwiseOr, kBitwiseXor, kShiftLeft, kShiftRightLogical;
// compare.cpp
extern const Op kCompare, kSelect, kClamp;
// reduce.cpp
extern const Op kReduceSum, kReduceMax, kArgmax;
// layout.cpp
extern const Op kReshape, kTranspose, kBroadcastInDim, kConcatenate, kReverse;
// slice.cpp
extern const Op kSlice, kDynamicSlice, kDynamicUpdateSlice, kPad;
// dot.cpp
extern const Op kDotGeneral;
// gather.cpp
extern const Op kGatherRows, kGatherItems, kMoveItems, kScatterAddRows;
// control.cpp
extern const Op kWhile, kSort, kTopK;
// devices.cpp
extern const Op kShardingConstraint, kAllReduceSum, kAllGather, kAllToAll;

}  // namespace smelt::compiler
