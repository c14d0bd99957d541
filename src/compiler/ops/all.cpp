#include "compiler/ops/table.h"

namespace smelt::compiler {
namespace {

constexpr const Op* kAllOps[] = {
    &kConstant,
    &kIota,

    &kNeg,
    &kExp,
    &kLog,
    &kLog1p,
    &kExpm1,
    &kTanh,
    &kLogistic,
    &kSqrt,
    &kRsqrt,
    &kErf,
    &kSin,
    &kCos,
    &kAbs,
    &kSign,
    &kFloor,
    &kCeil,
    &kRoundNearestEven,
    &kBitwiseNot,
    &kIsFinite,

    &kConvert,
    &kBitcastConvert,
    &kStopGradient,
    &kStraightThrough,
    &kReducePrecision,
    &kOptimizationBarrier,

    &kAdd,
    &kSubtract,
    &kMultiply,
    &kDivide,
    &kRemainder,
    &kPower,
    &kMaximum,
    &kMinimum,
    &kBitwiseAnd,
    &kBitwiseOr,
    &kBitwiseXor,
    &kShiftLeft,
    &kShiftRightLogical,

    &kCompare,
    &kSelect,
    &kClamp,

    &kReduceSum,
    &kReduceMax,
    &kArgmax,

    &kReshape,
    &kTranspose,
    &kBroadcastInDim,
    &kConcatenate,
    &kReverse,

    &kSlice,
    &kDynamicSlice,
    &kDynamicUpdateSlice,
    &kPad,

    &kDotGeneral,
    &kGatherRows,
    &kGatherItems,
    &kMoveItems,
    &kScatterAddRows,
    &kWhile,
    &kSort,
    &kTopK,

    &kShardingConstraint,
    &kAllReduceSum,
    &kAllGather,
    &kAllToAll,
};

}  // namespace

std::span<const Op* const> all_ops() { return kAllOps; }

}  // namespace smelt::compiler
