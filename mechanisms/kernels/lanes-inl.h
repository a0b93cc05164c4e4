// What the kernels share: loads and stores of the last few elements, and of
// either precision as f64.
// clang-format off
#if defined(ATTNBENCH_MECHANISMS_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNBENCH_MECHANISMS_KERNELS_LANES_INL_H_
#undef ATTNBENCH_MECHANISMS_KERNELS_LANES_INL_H_
#else
#define ATTNBENCH_MECHANISMS_KERNELS_LANES_INL_H_
#endif
// clang-format on

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Index = std::int64_t;

// Lanes of the tag D as a signed number.
template <class D>
Index LanesOf(D d) {
  return static_cast<Index>(hn::Lanes(d));
}

// Loads the first `count` < N numbers at `from`, with zeros after them. It
// reads no others: by a masked load where the level's cannot fault, else by way
// of the stack.
template <class D, class Real = hn::TFromD<D>>
hn::Vec<D> LoadTail(D d, const Real* from, Index count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN Real lanes[hn::MaxLanes(D())] = {};
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(Real));
  return hn::Load(d, lanes);
#else
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d,
                        from);
#endif
}

// Does the same with `fill` after them.
template <class D, class Real = hn::TFromD<D>>
hn::Vec<D> LoadTailOr(D d, const Real* from, Index count, Real fill) {
  return hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(count)),
                        LoadTail(d, from, count), hn::Set(d, fill));
}

template <class D, class Real = hn::TFromD<D>>
void StoreTail(D d, hn::Vec<D> value, Real* to, Index count) {
  HWY_ALIGN Real lanes[hn::MaxLanes(D())];
  hn::Store(value, d, lanes);
  std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(Real));
}

// Loads or stores up to all lanes of the tag of doubles D, from or to an array
// of either precision. Lanes from `count` on are 0, or stay unwritten.
template <class D>
hn::Vec<D> LoadDoubles(D d, const double* from, Index count) {
  return count >= LanesOf(d) ? hn::LoadU(d, from) : LoadTail(d, from, count);
}
template <class D>
hn::Vec<D> LoadDoubles(D d, const float* from, Index count) {
  const hn::Rebind<float, D> narrow;
  return hn::PromoteTo(d, count >= LanesOf(d) ? hn::LoadU(narrow, from)
                                              : LoadTail(narrow, from, count));
}
template <class D>
void StoreDoubles(D d, hn::Vec<D> value, Index count, double* to) {
  if (count >= LanesOf(d)) {
    hn::StoreU(value, d, to);
  } else {
    StoreTail(d, value, to, count);
  }
}
template <class D>
void StoreDoubles(D d, hn::Vec<D> value, Index count, float* to) {
  const hn::Rebind<float, D> narrow;
  const auto rounded = hn::DemoteTo(narrow, value);
  if (count >= LanesOf(d)) {
    hn::StoreU(rounded, narrow, to);
  } else {
    StoreTail(narrow, rounded, to, count);
  }
}

// Does the same for any tag, whose lanes are no narrower than the array.
template <class D, class Real>
HWY_INLINE hn::Vec<D> LoadLanes(D d, const Real* from, Index count) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(double)) {
    return LoadDoubles(d, from, count);
  } else {
    return count >= LanesOf(d) ? hn::LoadU(d, from) : LoadTail(d, from, count);
  }
}
template <class D, class Real>
HWY_INLINE void StoreLanes(D d, hn::Vec<D> value, Index count, Real* to) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(double)) {
    StoreDoubles(d, value, count, to);
  } else if (count >= LanesOf(d)) {
    hn::StoreU(value, d, to);
  } else {
    StoreTail(d, value, to, count);
  }
}

// The lesser of both, the greater of both; where v is NaN, so is the result.
template <class D>
HWY_INLINE hn::Vec<D> AtMost([[maybe_unused]] D d, hn::Vec<D> limit,
                             hn::Vec<D> v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Min(limit, v);  // of a NaN the second
#else
  return hn::IfThenElse(hn::Gt(v, limit), limit, v);
#endif
}
template <class D>
HWY_INLINE hn::Vec<D> AtLeast([[maybe_unused]] D d, hn::Vec<D> limit,
                              hn::Vec<D> v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(limit, v);
#else
  return hn::IfThenElse(hn::Lt(v, limit), limit, v);
#endif
}

// Kernels that move lanes are for vectors whose size is known when they are
// compiled.
static_assert(!HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SVE_256 ||
                  HWY_TARGET == HWY_SVE2_128,
              HWY_STR(HWY_NAMESPACE) ": the size of its vectors is not known; "
                                     "dispatch.h has to leave it out");
template <class D>
constexpr int kMaxLanes = static_cast<int>(hn::MaxLanes(D()));
template <class D>
struct LaneIndices {
  template <class Function>
  explicit constexpr LaneIndices(const Function& from) {
    for (int n = 0; n < kMaxLanes<D>; ++n) lane[n] = from(n);
  }
  hn::TFromD<hn::RebindToSigned<D>> lane[kMaxLanes<D>] = {};
};

// The last lane, in all lanes.
template <class D>
HWY_INLINE hn::Vec<D> BroadcastLast(D d, hn::Vec<D> v) {
  static constexpr LaneIndices<D> kIndices(
      [](int) { return kMaxLanes<D> - 1; });
  return hn::TableLookupLanes(v, hn::SetTableIndices(d, kIndices.lane));
}
template <class D>
HWY_INLINE hn::Vec<D> BroadcastFirst(D d, hn::Vec<D> v) {
  static constexpr LaneIndices<D> kIndices([](int) { return 0; });
  return hn::TableLookupLanes(v, hn::SetTableIndices(d, kIndices.lane));
}

// Lane n takes lane n - Shift (n + Shift where not Up); where there is none,
// that of `fill`.
template <bool Up, int Shift, class D>
HWY_INLINE hn::Vec<D> MoveLanes(D d, hn::Vec<D> v, hn::Vec<D> fill) {
  constexpr int N = kMaxLanes<D>;
  static_assert(Shift < N);
  static constexpr LaneIndices<D> kIndices([](int n) {
    if constexpr (Up) return n < Shift ? 0 : n - Shift;
    return n + Shift < N ? n + Shift : 0;
  });
  const auto moved =
      hn::TableLookupLanes(v, hn::SetTableIndices(d, kIndices.lane));
  if constexpr (Up) {
    return hn::IfThenElse(hn::FirstN(d, Shift), fill, moved);
  } else {
    return hn::IfThenElse(hn::FirstN(d, N - Shift), moved, fill);
  }
}

#if HWY_TARGET != HWY_SCALAR
// Transposes every block of 128 bits: lane n of what becomes vc was lane c of
// vn.
template <class D>
HWY_INLINE void TransposeBlocks(D d, hn::Vec<D>& v0, hn::Vec<D>& v1) {
  const auto even = hn::InterleaveLower(d, v0, v1);
  v1 = hn::InterleaveUpper(d, v0, v1);
  v0 = even;
}
template <class D>
HWY_INLINE void TransposeBlocks(D d, hn::Vec<D>& v0, hn::Vec<D>& v1,
                                hn::Vec<D>& v2, hn::Vec<D>& v3) {
  const hn::Repartition<double, D> pairs;
  auto lower01 = hn::BitCast(pairs, hn::InterleaveLower(d, v0, v1));
  auto upper01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v0, v1));
  auto lower23 = hn::BitCast(pairs, hn::InterleaveLower(d, v2, v3));
  auto upper23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v2, v3));
  TransposeBlocks(pairs, lower01, lower23);
  TransposeBlocks(pairs, upper01, upper23);
  v0 = hn::BitCast(d, lower01);
  v1 = hn::BitCast(d, lower23);
  v2 = hn::BitCast(d, upper01);
  v3 = hn::BitCast(d, upper23);
}
#endif

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
