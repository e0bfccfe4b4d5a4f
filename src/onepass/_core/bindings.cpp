// What Python sees. Everything is checked here: types, contiguity, all shapes against each other.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "api.hpp"
#include "blas.hpp"
#include "cpu.hpp"
#include "errors.hpp"
#include "memory.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using onepass::Algorithm;
using onepass::Kernels;
using onepass::Rule;

// -- memory --------------------------------------------------------------------------------------

namespace onepass {

constexpr std::size_t CACHE_LINE = 64;

void* allocate(std::ptrdiff_t count, std::size_t size) {
    if (count < 0 || std::size_t(count) > (std::size_t(PTRDIFF_MAX) - 2 * CACHE_LINE) / size)
        throw std::bad_alloc();
    const std::size_t bytes = (std::size_t(count) * size + CACHE_LINE) / CACHE_LINE * CACHE_LINE;
#ifdef _WIN32
    void* memory = _aligned_malloc(bytes, CACHE_LINE);
#else
    void* memory = std::aligned_alloc(CACHE_LINE, bytes);
#endif
    if (!memory) throw std::bad_alloc();
    return memory;
}

void release(void* memory) noexcept {
#ifdef _WIN32
    _aligned_free(memory);
#else
    std::free(memory);
#endif
}

Blas blas;

// -- instruction sets ----------------------------------------------------------------------------

#ifdef ONEPASS_X86
namespace v2 { extern const Kernels kernels; }
namespace v3 { extern const Kernels kernels; }
namespace v4 { extern const Kernels kernels; }
#else
namespace plain { extern const Kernels kernels; }
#endif

}  // namespace onepass

namespace {

struct InstructionSet {
    std::string name;
    const Kernels* kernels;
};

// Those that this machine has, best last.
std::vector<InstructionSet> supported() {
#ifdef ONEPASS_X86
    const int level = x86_level();
    std::vector<InstructionSet> found{{"x86-64-v2", &onepass::v2::kernels}};
    if (level >= 3) found.push_back({"x86-64-v3", &onepass::v3::kernels});
    if (level >= 4) found.push_back({"x86-64-v4", &onepass::v4::kernels});
    return found;
#else
    return {{"plain", &onepass::plain::kernels}};
#endif
}

InstructionSet chosen;

void use_isa(const std::string& name) {
    std::string names;
    for (const InstructionSet& set : supported()) {
        if (set.name == name) {
            chosen = set;
            return;
        }
        names += (names.empty() ? "" : ", ") + set.name;
    }
    throw std::invalid_argument("the instruction set '" + name +
                                "' is not one that this machine has; choose one of " + names);
}

template <class T>
const onepass::TypedKernels<T>& typed_kernels();
template <>
const onepass::TypedKernels<double>& typed_kernels<double>() { return chosen.kernels->of_double; }
template <>
const onepass::TypedKernels<float>& typed_kernels<float>() { return chosen.kernels->of_float; }

// -- arrays --------------------------------------------------------------------------------------

template <class T>
using Array2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Squares = Array2<double>;

template <class A>
Index length(const A& array, int axis = 0) { return Index(array.shape(axis)); }

// A new array that owns its memory.
template <class T>
nb::object owned(T* memory, std::initializer_list<std::size_t> shape) {
    if (!memory) memory = static_cast<T*>(onepass::allocate(0, sizeof(T)));
    nb::capsule owner(memory, [](void* p) noexcept { onepass::release(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(memory, shape.size(), shape.begin(), owner));
}

template <class T>
struct NewArray {
    T* data;
    nb::object array;

    explicit NewArray(std::initializer_list<std::size_t> shape) {
        Index count = 1;
        for (std::size_t n : shape)
            if (__builtin_mul_overflow(count, Index(n), &count)) throw std::bad_alloc();
        data = static_cast<T*>(onepass::allocate(count, sizeof(T)));
        array = owned(data, shape);
    }
};

void check(bool good, const std::string& message) {
    if (!good) throw std::invalid_argument(message);
}

void check_length(const Numbers& array, Index wanted, const std::string& name) {
    check(length(array) == wanted, name + " has " + std::to_string(length(array)) +
                                       " entries, but " + std::to_string(wanted) + " are needed");
}

void check_finite(const Numbers& array, const std::string& name, double least = -HUGE_VAL) {
    for (Index i = 0; i < length(array); i++)
        check(std::isfinite(array.data()[i]) && array.data()[i] >= least,
              name + "[" + std::to_string(i) + "] is " + std::to_string(array.data()[i]) +
                  "; it must be finite" + (least == 0.0 ? " and not negative" : ""));
}

constexpr Index MAX_SIZE = INT32_MAX - 64;  // sizes that BLAS can take

void check_size(Index size, const std::string& name) {
    check(size <= MAX_SIZE, name + " is " + std::to_string(size) + ", which is too large");
}

// -- rules ---------------------------------------------------------------------------------------

const char* const NAMES[] = {"msg", "meg", "incremental", "oja", "grouse"};

Algorithm algorithm_named(const std::string& name) {
    for (int i = 0; i < 5; i++)
        if (name == NAMES[i]) return Algorithm(i);
    throw std::invalid_argument("the rule '" + name +
                                "' is not known; use msg, meg, incremental, oja or grouse");
}

std::string name_of(const Rule& rule) { return NAMES[int(rule.algorithm)]; }

void check_rule(const Rule& rule) {
    check(rule.k >= 1, "k is " + std::to_string(rule.k) + "; it must be at least 1");
    check(rule.max_rank >= 1,
          "max_rank is " + std::to_string(rule.max_rank) + "; it must be at least 1");
    check(rule.step >= 0 && rule.next_test >= 1, "step and next_test must be positive");
}

// -- advance -------------------------------------------------------------------------------------

struct Outcome {
    Rule rule;
    nb::object weights, captured, energy, turn, inner, sums = nb::none();
    double rest, seen, rests;
};
struct Advanced : Outcome {
    nb::object basis;
};
struct GramAdvanced : Outcome {
    nb::object coefficients;
    Index taken;
};

// The options of a call that are not arrays.
struct Options {
    double rest, scale, seen;
    bool trusted, sums;
};

void check_state(const Rule& rule, Index m, Index d, const Numbers& weights,
                 const Options& options) {
    check(d >= 1, "there must be at least one column");
    check_size(d, "the number of columns");
    check(m <= d, "the basis has " + std::to_string(m) + " rows, more than its " +
                      std::to_string(d) + " columns");
    check(rule.k <= d, "k is " + std::to_string(rule.k) + ", but there are only " +
                           std::to_string(d) + " columns");
    const bool fixed_rank = rule.algorithm == Algorithm::oja || rule.algorithm == Algorithm::grouse;
    check(!fixed_rank || m == rule.k, name_of(rule) + " needs a basis of k = " +
                                          std::to_string(rule.k) + " rows, not " +
                                          std::to_string(m));
    check_length(weights, m, "weights");
    check_finite(weights, "weights");
    const bool constant = rule.algorithm == Algorithm::meg && rule.k == d;
    check(std::isfinite(options.rest) || constant, "rest is not finite");
    check(std::isfinite(options.scale) && options.scale >= 0.0,
          "scale must be finite and not negative");
    check(std::isfinite(options.seen) && options.seen >= 0.0,
          "seen must be finite and not negative");
}

// Everything of a call that does not depend on how the rows are given.
struct Call {
    Rule rule;
    onepass::Start start;
    onepass::Schedule schedule;
    onepass::Progress progress;
    NewArray<double> captured, energy;

    Call(const Rule& given, Index m, Index d, Index r, const Numbers& weights,
         const Numbers& steps, const Options& options)
        : rule(given), start{m, d, weights.data(), options.rest, options.trusted, options.sums},
          schedule{nullptr, options.scale, options.seen}, captured{std::size_t(r)},
          energy{std::size_t(r)} {
        check_state(rule, m, d, weights, options);
        if (steps.is_valid()) {
            check_length(steps, r, "steps");
            check_finite(steps, "steps", 0.0);
            schedule.given = steps.data();
        }
        progress.captured = captured.data, progress.energy = energy.data;
    }

    // Runs a kernel without the interpreter's lock.
    template <class Kernel, class Task>
    void run(Kernel kernel, Task& task) {
        try {
            nb::gil_scoped_release unlocked;
            kernel(rule, start, schedule, task, progress);
        } catch (const onepass::BasisError&) {
            throw std::invalid_argument("the rows of the basis are far from orthonormal");
        } catch (const onepass::RowError& error) {
            throw std::invalid_argument("row " + std::to_string(error.row) +
                                        " is not finite, or so large that its square is not");
        } catch (const onepass::IterateError&) {
            throw std::overflow_error("the iterate is no longer finite: the rows or the step sizes "
                                      "are too large");
        }
    }

    Outcome outcome() {
        const std::size_t rank = progress.rank, m = start.m;
        Outcome out;
        out.weights = owned(progress.weights, {rank});
        out.turn = owned(progress.turn, {rank, m});
        out.inner = owned(progress.inner, {rank, rank});
        out.captured = captured.array, out.energy = energy.array;
        out.rule = rule, out.rest = progress.rest, out.seen = schedule.seen;
        out.rests = progress.rests;
        return out;
    }
};

template <class T>
Advanced advance(const Rule& rule, Array2<T> basis, Numbers weights, double rest, Array2<T> rows,
                 Numbers steps, double scale, double seen, bool trusted, bool sums) {
    const Index m = length(basis), d = length(basis, 1), r = length(rows);
    check(length(rows, 1) == d, "the rows have " + std::to_string(length(rows, 1)) +
                                    " columns and the basis " + std::to_string(d));
    Call call(rule, m, d, r, weights, steps, {rest, scale, seen, trusted, sums});
    onepass::DenseTask<T> task{basis.data(), rows.data(), r};
    call.run(typed_kernels<T>().advance, task);
    const std::size_t rank = call.progress.rank, columns = d;
    Advanced out{call.outcome(), owned(task.new_basis, {rank, columns})};
    if (sums) out.sums = owned(task.sums, {std::size_t(call.progress.sum_rows), columns});
    return out;
}

nb::object first(const nb::object& array, std::ptrdiff_t count) {
    return array[nb::slice(std::ptrdiff_t(0), count)];
}

GramAdvanced advance_gram(const Rule& rule, Squares gram, Index m, Index d, Numbers weights,
                      double rest, Numbers steps, double scale, double seen, bool sums) {
    const Index n = length(gram), r = n - m;
    check(length(gram, 1) == n, "the Gram matrix is not square");
    check(m >= 0 && r >= 0, "the Gram matrix has " + std::to_string(n) + " rows, fewer than m");
    check_size(n, "the number of rows");
    Call call(rule, m, d, r, weights, steps, {rest, scale, seen, true, sums});
    onepass::GramTask task{gram.data(), r};
    call.run(chosen.kernels->advance_gram, task);
    const std::size_t rank = call.progress.rank, columns = n;
    const Index taken = call.progress.taken;
    GramAdvanced out{call.outcome(), owned(task.coefficients, {rank, columns}), taken};
    out.captured = first(out.captured, taken), out.energy = first(out.energy, taken);
    if (sums) out.sums = owned(task.sums, {std::size_t(call.progress.sum_rows), columns});
    return out;
}

// -- the other kernels ---------------------------------------------------------------------------

template <class T>
std::tuple<nb::object, nb::object, double> centre(Array2<T> rows, Numbers row_weights,
                                                  Numbers mean, double weight) {
    const std::size_t r = rows.shape(0), d = rows.shape(1);
    check_length(row_weights, Index(r), "row_weights");
    check_length(mean, Index(d), "mean");
    check_finite(mean, "mean");
    check_finite(row_weights, "row_weights", 0.0);
    for (std::size_t t = 0; t < r; t++)
        check(row_weights.data()[t] > 0.0, "row_weights[" + std::to_string(t) + "] is zero");
    check(std::isfinite(weight) && weight >= 0.0, "weight must be finite and not negative");
    NewArray<T> centred{r, d};
    NewArray<double> new_mean{d};
    std::copy(mean.data(), mean.data() + d, new_mean.data);
    onepass::RunningMean running{new_mean.data, weight};
    {
        nb::gil_scoped_release unlocked;
        typed_kernels<T>().centre(
            {rows.data(), Index(r), Index(d), row_weights.data(), centred.data}, running);
    }
    return {centred.array, new_mean.array, running.weight};
}

std::tuple<nb::object, nb::object> rank_one(Numbers values, Numbers z) {
    const std::size_t n = values.shape(0);
    check_length(z, Index(n), "z");
    check_finite(values, "values");
    check_finite(z, "z");
    NewArray<double> new_values{n}, vectors{n, n};
    {
        nb::gil_scoped_release unlocked;
        chosen.kernels->rank_one(Index(n), values.data(), z.data(), new_values.data, vectors.data);
    }
    return {new_values.array, vectors.array};
}

void check_spectrum(const Numbers& values, const Numbers& multiplicities, double total) {
    check_length(multiplicities, length(values), "multiplicities");
    check_finite(multiplicities, "multiplicities", 0.0);
    check(std::isfinite(total) && total >= 0.0, "the sum must be finite and not negative");
}

nb::object project(Numbers values, Numbers multiplicities, double k, bool exact) {
    check_spectrum(values, multiplicities, k);
    check_finite(values, "values");
    NewArray<double> out{values.shape(0)};
    std::copy(values.data(), values.data() + length(values), out.data);
    chosen.kernels->project(length(values), out.data, multiplicities.data(), k, exact);
    return out.array;
}

nb::object cap(Numbers logs, Numbers multiplicities, double total) {
    check_spectrum(logs, multiplicities, total);
    for (Index i = 0; i < length(logs); i++)
        check(logs.data()[i] < HUGE_VAL, "logs[" + std::to_string(i) + "] is not a number below inf");
    NewArray<double> out{logs.shape(0)};
    std::copy(logs.data(), logs.data() + length(logs), out.data);
    chosen.kernels->cap(length(logs), out.data, multiplicities.data(), total);
    return out.array;
}

std::tuple<nb::object, Index> cholesky(Squares gram) {
    const std::size_t n = gram.shape(0);
    check(gram.shape(1) == n, "the Gram matrix is not square");
    NewArray<double> factor{n, n};
    const Index count = chosen.kernels->cholesky(Index(n), gram.data(), factor.data);
    return {factor.array, count};
}

template <class T>
nb::object gram(Array2<T> basis, Array2<T> rows) {
    const std::size_t m = basis.shape(0), b = rows.shape(0), d = basis.shape(1);
    check(rows.shape(1) == d, "basis and rows have different numbers of columns");
    NewArray<double> out{b, m + b};
    typed_kernels<T>().gram(basis.data(), Index(m), rows.data(), Index(b), Index(d), out.data);
    return out.array;
}

template <class T>
nb::object combine(Array2<T> coefficients, Array2<T> basis, Array2<T> rows) {
    const std::size_t k = coefficients.shape(0), m = basis.shape(0), d = basis.shape(1);
    check(rows.shape(1) == d, "basis and rows have different numbers of columns");
    check(coefficients.shape(1) == m + rows.shape(0),
          "there must be a coefficient for each row of the basis and each row");
    NewArray<T> out{k, d};
    typed_kernels<T>().combine(coefficients.data(), Index(k),
                               {basis.data(), rows.data(), length(rows)}, Index(m), Index(d),
                               out.data);
    return out.array;
}

std::tuple<nb::object, nb::object, double> split(Squares basis, Numbers row) {
    const std::size_t m = basis.shape(0), n = basis.shape(1);
    check_length(row, Index(n), "row");
    check_finite(row, "row");
    NewArray<double> inside{m}, outside{n};
    const double residual = chosen.kernels->split(Index(m), Index(n), basis.data(), row.data(),
                                                  inside.data, outside.data);
    return {inside.array, outside.array, residual};
}

template <class F>
F* blas_pointer(nb::handle table, const char* name) {
    nb::object entry = table[name];
    void* pointer = PyCapsule_GetPointer(entry.ptr(), PyCapsule_GetName(entry.ptr()));
    if (!pointer) throw nb::python_error();
    return reinterpret_cast<F*>(pointer);
}

template <class T>
void define_typed(nb::module_& m) {
    m.def("advance", &advance<T>, "rule"_a, "basis"_a.noconvert(), "weights"_a.noconvert(),
          "rest"_a, "rows"_a.noconvert(), "steps"_a.noconvert().none(), nb::kw_only(),
          "scale"_a = 0.0, "seen"_a = 0.0, "trusted"_a = false, "sums"_a = false);
    m.def("centre", &centre<T>, "rows"_a.noconvert(), "row_weights"_a.noconvert(),
          "mean"_a.noconvert(), "weight"_a);
    m.def("gram", &gram<T>, "basis"_a.noconvert(), "rows"_a.noconvert());
    m.def("combine", &combine<T>, "coefficients"_a.noconvert(), "basis"_a.noconvert(),
          "rows"_a.noconvert());
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Take rows one by one, exactly: the compiled part of onepass.";
    // Objects that a traceback or a test keeps until the interpreter ends are no leak of ours.
    nb::set_leak_warnings(false);
    nb::object table = nb::module_::import_("scipy.linalg.cython_blas").attr("__pyx_capi__");
    onepass::blas = {blas_pointer<onepass::Dgemm>(table, "dgemm"),
                     blas_pointer<onepass::Sgemm>(table, "sgemm")};
    const char* wanted = std::getenv("ONEPASS_ISA");
    if (wanted && *wanted)
        use_isa(wanted);
    else
        chosen = supported().back();

    nb::class_<Rule>(m, "Rule")
        .def(
            "__init__",
            [](Rule* rule, const std::string& name, Index k, Index max_rank, bool exact_trace,
               bool grow, bool deficient, int64_t step, int64_t next_test) {
                Rule made{algorithm_named(name), k, max_rank, exact_trace, grow, deficient, step,
                          next_test};
                check_rule(made);
                new (rule) Rule(made);
            },
            "name"_a, "k"_a, nb::kw_only(), "max_rank"_a, "exact_trace"_a = false,
            "grow"_a = false, "deficient"_a = false, "step"_a = 0, "next_test"_a = 64)
        .def_prop_ro("name", &name_of)
        .def_ro("k", &Rule::k)
        .def_ro("max_rank", &Rule::max_rank)
        .def_ro("exact_trace", &Rule::exact_trace)
        .def_ro("grow", &Rule::grow)
        .def_ro("deficient", &Rule::deficient)
        .def_ro("step", &Rule::step)
        .def_ro("next_test", &Rule::next_test);

    nb::class_<Outcome>(m, "Outcome")
        .def_ro("rule", &Outcome::rule)
        .def_ro("weights", &Outcome::weights)
        .def_ro("rest", &Outcome::rest)
        .def_ro("captured", &Outcome::captured)
        .def_ro("energy", &Outcome::energy)
        .def_ro("seen", &Outcome::seen)
        .def_ro("turn", &Outcome::turn)
        .def_ro("inner", &Outcome::inner)
        .def_ro("sums", &Outcome::sums)
        .def_ro("rests", &Outcome::rests);
    nb::class_<Advanced, Outcome>(m, "Advanced").def_ro("basis", &Advanced::basis);
    nb::class_<GramAdvanced, Outcome>(m, "GramAdvanced")
        .def_ro("coefficients", &GramAdvanced::coefficients)
        .def_ro("taken", &GramAdvanced::taken);

    define_typed<double>(m);
    define_typed<float>(m);
    m.def("advance_gram", &advance_gram, "rule"_a, "gram"_a.noconvert(), "m"_a, "d"_a,
          "weights"_a.noconvert(), "rest"_a, "steps"_a.noconvert().none(), nb::kw_only(),
          "scale"_a = 0.0, "seen"_a = 0.0, "sums"_a = false);
    m.def("rank_one", &rank_one, "values"_a.noconvert(), "z"_a.noconvert());
    m.def("project", &project, "values"_a.noconvert(), "multiplicities"_a.noconvert(), "k"_a,
          "exact"_a);
    m.def("cap", &cap, "logs"_a.noconvert(), "multiplicities"_a.noconvert(), "total"_a);
    m.def("cholesky", &cholesky, "gram"_a.noconvert());
    m.def("split", &split, "basis"_a.noconvert(), "row"_a.noconvert());
    m.def("isa", [] { return chosen.name; });
    m.def("use_isa", &use_isa, "name"_a);
    m.def("supported_isas", [] {
        std::vector<std::string> names;
        for (const InstructionSet& set : supported()) names.push_back(set.name);
        return names;
    });
}
