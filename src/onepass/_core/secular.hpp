// The roots of the secular equation, all at once, each as an offset from its nearest pole.
//
// With poles d strictly descending and weights w positive, the equation and its m roots are
//
//     f(x) = inverse + sum_j w_j / (d_j - x) = 0,      d_0 < x_0,  d_i < x_i < d_{i-1}
//
// A root is kept as base + offset with `base` the nearest pole, and every distance is computed as
// (d_j - base) - offset, which is accurate even if x itself rounds to a pole. Each step solves
// c + s / (d_i - x) + t / (d_{i-1} - x) = 0 with the c, s, t that match f and its first two
// derivatives: that converges cubically and from one side (Borges and Gragg 1993). The largest root
// has its second pole at infinity. Roots are worked on a register at a time.
#pragma once
#include "vec.hpp"

namespace {

constexpr int MAX_SWEEPS = 100;  // a dozen is the most that was ever seen
constexpr double EPSILON = 0x1p-52;
constexpr double SMALL_STEP = 1e-6;  // a cubic step of this relative size leaves only rounding

// Arrays of padded(n) entries each. Poles lie between -1 and 1, no two closer than 2^-100; weights
// are at most 1, and neither weight nor weight / inverse is below 2^-300.
struct Secular {
    double inverse;
    double *pole, *weight;              // the equation
    double *base, *offset;              // receive the roots, in the order of the poles
    double *pole_above, *weight_above;  // scratch
    double *gap, *value, *change;
    Index* active;
};

// f, but for `inverse`, at base + offset.
inline vec secular_value(const Secular& q, Index m, vec base, vec offset) {
    vec f{};
    for (Index j = 0; j < m; j++) f += q.weight[j] / ((q.pole[j] - base) - offset);
    return f;
}

// The t > 0 with own / t + other / (gap + t) = 1.
inline double offset_above_two(double own, double other, double gap) {
    const double linear = own + other - gap;
    const double split = sqrt(linear * linear + 4.0 * own * gap);
    return linear > 0.0 ? 0.5 * (linear + split) : own * (2.0 * gap / (split - linear));
}

// A first offset for the largest root. All poles but d_0 are gathered in one, first in their mean,
// then in one that gives the same sum and slope at the offset found so far.
inline double first_top(const Secular& q, Index m) {
    const double first = q.pole[0], weight = q.weight[0], own = weight / q.inverse;
    double all = 0.0, moment = 0.0;
    for (Index j = 1; j < m; j++) {
        all += q.weight[j];
        moment = fused(q.weight[j], first - q.pole[j], moment);
    }
    const double t = offset_above_two(own, all / q.inverse, moment / all);
    vec values{}, slopes{};
    q.weight[0] = 0.0;
    for (Index s = 0; s < m; s += LANES) {
        const vec near = 1.0 / ((first - load(q.pole + s)) + t);
        const vec parts = load(q.weight + s) * near;
        values += parts, slopes += parts * near;
    }
    q.weight[0] = weight;
    const double value = total(values), slope = total(slopes);
    return offset_above_two(own, value * value / (slope * q.inverse), max(0.0, value / slope - t));
}

// Writes the nearest pole of each root, the gap, and an offset with distant poles held still. The
// sign of f in the middle between two poles says which is nearer. The offset t from it solves
// rest - own / t + other / (gap - t) = 0, with `rest` that of all other poles in the middle.
inline void first_offsets(const Secular& q, Index m) {
    q.pole_above[0] = q.pole[0] + 1.0, q.weight_above[0] = 1.0;  // never used, but finite
    for (Index i = 1; i < m; i++)
        q.pole_above[i] = q.pole[i - 1], q.weight_above[i] = q.weight[i - 1];
    for (Index i = m; i < padded(m); i++) {  // the last register is filled up with the last root
        q.pole[i] = q.pole[m - 1], q.weight[i] = q.weight[m - 1];
        q.pole_above[i] = q.pole[m - 2], q.weight_above[i] = q.weight[m - 2];
    }
    for (Index s = 0; s < m; s += LANES) {
        const vec d = load(q.pole + s), w = load(q.weight + s);
        const vec d_above = load(q.pole_above + s), w_above = load(q.weight_above + s);
        const vec gap = d_above - d, half = 0.5 * gap;
        const vec middle = q.inverse + secular_value(q, m, d, half);
        const vec sign = if_positive(middle, spread(1.0), spread(-1.0));
        const vec own = if_positive(middle, w, w_above);
        const vec slope = sign * 2.0 * ((w - w_above) + middle * half);
        const vec linear = slope + w + w_above;
        const vec split = square_root(larger(linear * linear - 4.0 * slope * own, spread(0.0)));
        const vec over = if_positive(linear, 2.0 * own, 0.5 * (linear - split));
        const vec under = if_positive(linear, linear + split, slope);
        store(q.base + s, if_positive(middle, d, d_above));
        store(q.offset + s, sign * smaller(over / under, spread(0.5)) * gap);
        store(q.gap + s, gap);
    }
    for (Index i = m; i < padded(m); i++) q.weight[i] = 0.0;
    q.base[0] = q.pole[0], q.gap[0] = HUGE_VAL;
    q.offset[0] = first_top(q, m);
}

// Takes a step with the roots of the register at s; returns whether all have been found. With
// x = base + t (1 + y) and both = near + other, the equation of the step is
// value + near y / (1 + y) + other y / (1 - beta y) = 0.
inline bool improve_roots(const Secular& q, Index m, Index s) {
    const vec gap = load(q.gap + s), t = load(q.offset + s), base = load(q.base + s);
    // With r_j = t / (d_j - x): f, the slope sum_j w_j / (d_j - x) r_j, and the same with another
    // factor 1 + r_j, which is zero for the base.
    vec f{}, slope{}, far{};
    for (Index j = 0; j < m; j++) {
        const vec distance = q.pole[j] - base, inverse = 1.0 / (distance - t);
        const vec term = q.weight[j] * inverse, part = term * (t * inverse);
        f += term, slope += part, far += part * (distance * inverse);
    }
    const vec sign = if_positive(t, spread(1.0), spread(-1.0)), size = sign * t;
    const vec beta = size / (gap - size);
    const vec value = sign * (q.inverse + f), both = sign * slope;
    const vec other = sign * far / (1.0 + beta);
    const vec linear = both + value * (1.0 - beta);
    const vec square = other - beta * (value + both - other);
    const vec split = square_root(larger(linear * linear - 4.0 * value * square, spread(0.0)));
    const vec over = if_positive(linear, -2.0 * value, split - linear);
    const vec under = if_positive(linear, linear + split, 2.0 * square);
    const vec y = over / under;
    const vec grown = size * if_positive(1.0 + y, 1.0 + y, spread(0.125));
    const vec change = larger(y, 0.0 - y);
    store(q.offset + s, sign * smaller(grown, 0.5 * gap));
    store(q.value + s, q.inverse + f);
    store(q.change + s, change);
    return all_within(change, SMALL_STEP);
}

// Whether the roots of the register at s that still move have an f that may be rounding.
inline bool only_rounding_left(const Secular& q, Index m, Index s) {
    for (Index i = s; i < min(s + LANES, m); i++) {
        if (q.change[i] <= SMALL_STEP) continue;
        double size = q.inverse;
        for (Index j = 0; j < m; j++)
            size += fabs(q.weight[j] / ((q.pole[j] - q.base[i]) - q.offset[i]));
        if (!(fabs(q.value[i]) <= EPSILON * size)) return false;
    }
    return true;
}

// Finds the m roots; no offset is zero.
inline void secular_roots(const Secular& q, Index m) {
    if (m == 1) q.base[0] = q.pole[0], q.offset[0] = q.weight[0] / q.inverse;
    if (m <= 1) return;
    first_offsets(q, m);
    Index active = 0;
    for (Index s = 0; s < m; s += LANES) q.active[active++] = s;
    for (int sweep = 0; active > 0 && sweep < MAX_SWEEPS; sweep++) {
        Index left = 0;
        for (Index v = 0; v < active; v++) {
            const Index s = q.active[v];
            if (!improve_roots(q, m, s) && !(sweep > 2 && only_rounding_left(q, m, s)))
                q.active[left++] = s;
        }
        active = left;
    }
}

}  // namespace
