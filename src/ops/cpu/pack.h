// Copies a strip of a matrix into the order in which the micro kernel reads it.
#pragma once

#include "cpu/micro_kernel.h"
#include "cpu/transpose.h"

namespace retro::cpu {

/// A strip of `lanes` rows (of the left operand) or columns (of the right), `depth` elements deep.
/// One of the two strides is 1.
template <typename T>
struct Strip {
  const T* data;
  int64_t lane_stride;
  int64_t depth_stride;
  int64_t lanes;
  int64_t depth;
};

/// Packs a strip cut into panels: panel p holds lanes [panels.begin(p), panels.begin(p + 1)) and
/// starts at to + panels.offset(p); element (step, lane) of it lies at step * panels.width(p) +
/// lane. Lanes past the strip's last become zero. Writes up to one vector past the end of the last
/// panel.
template <typename M>
struct Packer;

/// Panels of one width each (the right operand).
struct EqualPanels {
  int64_t count;
  int64_t panel;
  int64_t steps;

  [[gnu::always_inline]] inline int64_t begin(int64_t p) const { return p * panel; }
  [[gnu::always_inline]] inline int64_t width(int64_t /*p*/) const { return panel; }
  [[gnu::always_inline]] inline int64_t offset(int64_t p) const { return p * panel * steps; }
};

/// Panels as the micro kernel's row blocks (the left operand): no padding.
struct EvenPanels {
  EvenBlocks blocks;
  int64_t count;
  int64_t steps;

  [[gnu::always_inline]] inline EvenPanels(EvenBlocks even, int64_t depth_steps)
      : blocks(even), count(even.count), steps(depth_steps) {}
  [[gnu::always_inline]] inline int64_t begin(int64_t p) const { return blocks.begin(p); }
  [[gnu::always_inline]] inline int64_t width(int64_t p) const { return begin(p + 1) - begin(p); }
  [[gnu::always_inline]] inline int64_t offset(int64_t p) const { return begin(p) * steps; }
};

/// Sources with contiguous lanes are read row by row over this many panels at a time: a panel alone
/// would use a part of each cache line, and come back for the rest after it is gone.
inline constexpr int64_t kPanelGroup = 4;

template <typename T, int Bytes>
struct Packer<NativeMultiplier<T, Bytes>> {
  static constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;

  template <typename Panels>
  static void pack(const Strip<T>& strip, const Panels& panels, T* to) {
    if (strip.depth_stride == 1 && strip.lane_stride != 1) {
      for (int64_t p = 0; p < panels.count; ++p) pack_along_depth(strip, panels, p, to);
      return;
    }
    for (int64_t p = 0; p < panels.count; p += kPanelGroup) {
      const int64_t end = p + kPanelGroup < panels.count ? p + kPanelGroup : panels.count;
      if (strip.lane_stride == 1 &&
          panels.begin(end - 1) + round_up(panels.width(end - 1), kLanes) <= strip.lanes) {
        pack_along_lanes(strip, panels, p, end, to);
      } else {
        for (int64_t q = p; q < end; ++q) pack_scalar(strip, panels, q, 0, to);
      }
    }
  }

  /// A strip contiguous along its depth as one panel of `width` lanes (a multiple of a vector).
  static void pack_transposed(const Strip<T>& strip, int64_t width, T* to) {
    pack_along_depth(strip, EqualPanels{1, width, strip.depth}, 0, to);
  }

 private:
  template <typename Panels>
  static void pack_scalar(const Strip<T>& strip, const Panels& panels, int64_t p, int64_t begin,
                          T* to) {
    const int64_t width = panels.width(p);
    const T* from = strip.data + panels.begin(p) * strip.lane_stride;
    const int64_t lanes =
        strip.lanes - panels.begin(p) < width ? strip.lanes - panels.begin(p) : width;
    T* row = to + panels.offset(p) + begin * width;
    for (int64_t k = begin; k < strip.depth; ++k, row += width) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        row[lane] = from[lane * strip.lane_stride + k * strip.depth_stride];
      }
      for (int64_t lane = lanes; lane < width; ++lane) row[lane] = T(0);
    }
  }

  template <typename Panels>
  static void pack_along_lanes(const Strip<T>& strip, const Panels& panels, int64_t begin,
                               int64_t end, T* to) {
    const T* row = strip.data;
    for (int64_t k = 0; k < strip.depth; ++k, row += strip.depth_stride) {
      const bool is_last = k + 1 == strip.depth;  // nothing may run over into the next panel
      for (int64_t p = begin; p < end; ++p) {
        const int64_t width = panels.width(p);
        const T* from = row + panels.begin(p);
        T* panel = to + panels.offset(p) + k * width;
        int64_t lane = 0;
        for (; lane + (is_last ? kLanes : 1) <= width; lane += kLanes) {
          store<T, Bytes>(panel + lane, load<T, Bytes>(from + lane));
        }
        for (; lane < width; ++lane) panel[lane] = from[lane];
      }
    }
  }

  /// Squares of kLanes x kLanes. Where the panel is no multiple of a vector, each store of its last
  /// square runs over into the next step, which is written after it: hence from the last square to
  /// the first.
  template <typename Panels>
  static void pack_along_depth(const Strip<T>& strip, const Panels& panels, int64_t p, T* to) {
    const int64_t width = panels.width(p);
    const int64_t whole = strip.depth / kLanes * kLanes;
    for (int64_t k = 0; k < whole; k += kLanes) {
      T* steps = to + panels.offset(p) + k * width;
      for (int64_t lane = (width - 1) / kLanes * kLanes; lane >= 0; lane -= kLanes) {
        pack_square(strip, panels.begin(p) + lane, k, steps + lane, width);
      }
    }
    pack_scalar(strip, panels, p, whole, to);
  }

  [[gnu::always_inline]] static inline void pack_square(const Strip<T>& strip, int64_t lane,
                                                        int64_t k, T* to, int64_t width) {
    Vec<T, Bytes> rows[kLanes];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i) {
      rows[i] = lane + i < strip.lanes
                    ? load<T, Bytes>(strip.data + (lane + i) * strip.lane_stride + k)
                    : Vec<T, Bytes>{};
    }
    transpose<T, Bytes>(rows);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i) store<T, Bytes>(to + i * width, rows[i]);
  }
};

}  // namespace retro::cpu
