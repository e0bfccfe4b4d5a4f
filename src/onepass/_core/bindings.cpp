// What Python sees. Everything is checked here: types, contiguity, all shapes against each other.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#ifdef ONEPASS_X86
#include <cpuid.h>
#endif

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api.hpp"
#include "blas.hpp"
#include "memory.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using onepass::Kernels;
using onepass::Rule;

namespace onepass {

// -- memory --------------------------------------------------------------------------------------

constexpr std::align_val_t CACHE_LINE{64};

void* allocate(std::ptrdiff_t count, std::size_t size) {
    if (count < 0 || std::size_t(count) > PTRDIFF_MAX / size) throw std::bad_alloc();
    return ::operator new(std::size_t(count) * size, CACHE_LINE);
}

void release(void* memory) noexcept { ::operator delete(memory, CACHE_LINE); }

Blas blas;

// -- instruction sets ----------------------------------------------------------------------------

#ifdef ONEPASS_X86
namespace v2 {
extern const Kernels kernels;
}
namespace v3 {
extern const Kernels kernels;
}
#else
namespace plain {
extern const Kernels kernels;
}
#endif

}  // namespace onepass

namespace {

#ifdef ONEPASS_X86
// Whether this machine has x86-64-v3. __builtin_cpu_supports does not link with zig.
bool has_v3() {
    unsigned a, b, c, d, low, high;
    constexpr unsigned first = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C | bit_MOVBE;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & first) != first) return false;
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c & bit_LZCNT)) return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  // the registers that the system saves
    if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return (b & bit_AVX2) && (b & bit_BMI) && (b & bit_BMI2);
}
#endif

struct InstructionSet {
    std::string name;
    const Kernels* kernels;
};

// Those that this machine has, best last.
std::vector<InstructionSet> supported() {
#ifdef ONEPASS_X86
    std::vector<InstructionSet> sets{{"x86-64-v2", &onepass::v2::kernels}};
    if (has_v3()) sets.push_back({"x86-64-v3", &onepass::v3::kernels});
    return sets;
#else
    return {{"plain", &onepass::plain::kernels}};
#endif
}

InstructionSet chosen;

std::vector<std::string> supported_isas() {
    std::vector<std::string> names;
    for (const InstructionSet& set : supported()) names.push_back(set.name);
    return names;
}

// -- checks --------------------------------------------------------------------------------------

template <class... Parts>
void check(bool good, const Parts&... parts) {
    if (good) return;
    std::ostringstream message;
    (message << ... << parts);
    throw std::invalid_argument(message.str());
}

// The number of a name among others.
Index find(const std::string& name, const std::vector<std::string>& names, const char* what,
           const char* unknown) {
    std::string known;
    for (std::size_t i = 0; i < names.size(); i++) {
        if (names[i] == name) return Index(i);
        known += (i ? ", " : "") + names[i];
    }
    check(false, "the ", what, " '", name, "' is not ", unknown, "; use one of ", known);
    return 0;
}

void use_isa(const std::string& name) {
    const std::vector<std::string> names = supported_isas();
    chosen = supported()[find(name, names, "instruction set", "one that this machine has")];
}

template <class T>
const onepass::TypedKernels<T>& typed_kernels() {
    return *chosen.kernels;
}

template <class T>
using Array2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = Vector<double>;
using Squares = Array2<double>;
template <class T>
using Mutable2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableSquares = Mutable2<double>;
template <class T>
using Rows2 = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;  // with any strides

template <class A>
Index length(const A& array, int axis = 0) {
    return Index(array.shape(axis));
}

constexpr Index MAX_SIZE = INT32_MAX - 64;  // sizes that BLAS can take

void check_size(Index size, const char* name) {
    check(size <= MAX_SIZE, name, " is ", size, ", which is too large");
}

// Checks that a number is finite and at least `least`.
void check_number(double number, double least, const std::string& name) {
    check(std::isfinite(number) && number >= least, name, " is ", number, "; it must be finite",
          least > 0.0    ? " and positive"
          : least == 0.0 ? " and not negative"
                         : "");
}

constexpr double ANY = -HUGE_VAL;  // as a lower bound

void check_numbers(const Numbers& array, Index wanted, double least, const char* name) {
    check(length(array) == wanted, name, " has ", length(array), " entries, but ", wanted,
          " are needed");
    for (Index i = 0; i < wanted; i++)
        if (!(std::isfinite(array.data()[i]) && array.data()[i] >= least))
            check_number(array.data()[i], least, name + ("[" + std::to_string(i) + "]"));
}

void check_all_finite(const Squares& array, const char* name) {
    for (Index i = 0; i < length(array) * length(array, 1); i++)
        check(std::isfinite(array.data()[i]), name, " are not finite");
}

// -- new arrays ----------------------------------------------------------------------------------

struct Release {
    void operator()(void* memory) const noexcept { onepass::release(memory); }
};

template <class T>
using Memory = std::unique_ptr<T, Release>;

template <class T>
Memory<T> allocate(Index count) {
    return Memory<T>(static_cast<T*>(onepass::allocate(count, sizeof(T))));
}

// An array that owns its memory.
template <class T>
nb::object owned(Memory<T> memory, std::initializer_list<std::size_t> shape) {
    if (!memory) memory = allocate<T>(0);
    T* data = memory.get();
    nb::capsule owner(data, [](void* p) noexcept { onepass::release(p); });
    memory.release();  // it is the capsule's now
    return nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.begin(), owner));
}

template <class T>
struct NewArray {
    T* data;
    nb::object array;

    explicit NewArray(std::initializer_list<std::size_t> shape) {
        Index count = 1;
        for (std::size_t n : shape)
            if (__builtin_mul_overflow(count, Index(n), &count)) throw std::bad_alloc();
        Memory<T> memory = allocate<T>(count);
        data = memory.get();
        array = owned(std::move(memory), shape);
    }

    // A copy of numbers.
    explicit NewArray(const Numbers& given) : NewArray({given.shape(0)}) {
        std::copy(given.data(), given.data() + given.shape(0), data);
    }

    nb::object first(Index count) const { return array[nb::slice(Index(0), count)]; }
};

// -- advance -------------------------------------------------------------------------------------

const onepass::Algorithm& algorithm(Index number) { return chosen.kernels->algorithms[number]; }

void make_rule(Rule* rule, const std::string& name, Index k, Index max_rank, bool exact_trace,
               const std::array<double, 3>& memory) {
    std::vector<std::string> names;
    for (Index i = 0; i < chosen.kernels->algorithm_count; i++) names.push_back(algorithm(i).name);
    const Index number = find(name, names, "rule", "known");
    check(k >= 1, "k is ", k, "; it must be at least 1");
    check(max_rank >= 1, "max_rank is ", max_rank, "; it must be at least 1");
    for (const double number : memory) check_number(number, 0.0, "memory");
    new (rule) Rule{number, k, max_rank, exact_trace, memory};
}

std::string name_of(const Rule& rule) { return algorithm(rule.algorithm).name; }

struct Advanced {
    Rule rule;
    Index taken;
    double rest, seen, rests;
    nb::object basis, weights, captured, energy, rotation, inner, sums;
};

template <class T>
void check_task(const onepass::Task<T>& task, const Numbers& weights, const Numbers& steps) {
    const Rule& rule = task.rule;
    const Index m = task.m, d = task.d, k = rule.k;
    check(d >= 1, "there must be at least one column");
    check_size(d, "the number of columns");
    check(m <= d, "the basis has ", m, " rows, more than its ", d, " columns");
    check(k <= d, "k is ", k, ", but there are only ", d, " columns");
    const auto& [name, fixed_rank, infinite_rest] = algorithm(rule.algorithm);
    check(!fixed_rank || m == k, name, " needs a basis of k = ", k, " rows, not ", m);
    check_numbers(weights, m, ANY, "weights");
    check((infinite_rest && k == d) || std::isfinite(task.rest), "rest is not finite");
    check_number(task.scale, 0.0, "scale");
    check_number(task.seen, 0.0, "seen");
    if (steps.is_valid()) check_numbers(steps, task.r, 0.0, "steps");
}

// Checks a task, runs a kernel without the interpreter's lock, and hands the results over, in rows
// of so many columns.
template <class T>
Advanced run(onepass::Task<T> task, const Numbers& weights, const Numbers& steps,
             void (*kernel)(onepass::Task<T>&), Index columns) {
    check_task(task, weights, steps);
    const NewArray<double> captured{std::size_t(task.r)}, energy{std::size_t(task.r)};
    task.captured = captured.data, task.energy = energy.data;
    task.weights = weights.data(), task.steps = steps.is_valid() ? steps.data() : nullptr;
    Memory<T> basis, sums;
    Memory<double> new_weights, rotation, inner;
    try {
        nb::gil_scoped_release unlocked;
        kernel(task);
        basis.reset(task.new_basis), sums.reset(task.sums), new_weights.reset(task.new_weights);
        rotation.reset(task.rotation), inner.reset(task.inner);
    } catch (const onepass::BasisError&) {
        check(false, "the rows of the basis are far from orthonormal");
    } catch (const onepass::RowError& error) {
        check(false, "row ", error.row, " is not finite, or so large that its square is not");
    } catch (const onepass::IterateError&) {
        throw std::overflow_error(
            "the iterate is no longer finite: the rows or the step sizes are too large");
    }
    const std::size_t rank = task.rank, m = task.m, width = columns;
    return {
        task.rule,
        task.taken,
        task.rest,
        task.seen,
        task.rests,
        owned(std::move(basis), {rank, width}),
        owned(std::move(new_weights), {rank}),
        captured.first(task.taken),
        energy.first(task.taken),
        owned(std::move(rotation), {rank, m}),
        owned(std::move(inner), {rank, rank}),
        task.wants_sums ? owned(std::move(sums), {std::size_t(task.sum_rows), width}) : nb::none()};
}

template <class T>
Advanced advance(const Rule& rule, Array2<T> basis, Numbers weights, double rest, Array2<T> rows,
                 Numbers steps, double scale, double seen, bool trusted, bool sums) {
    const Index m = length(basis), d = length(basis, 1), r = length(rows);
    check(length(rows, 1) == d, "the rows have ", length(rows, 1), " columns and the basis ", d);
    return run({rule, m, d, r, basis.data(), rows.data(), nullptr, rest, nullptr, scale, seen,
                trusted, sums},
               weights, steps, typed_kernels<T>().advance, d);
}

Advanced advance_gram(const Rule& rule, Squares gram, Index m, Index d, Numbers weights,
                      double rest, Numbers steps, double scale, double seen, bool sums) {
    const Index n = length(gram);
    check(length(gram, 1) == n, "the Gram matrix is not square");
    check(m >= 0 && m <= n, "the Gram matrix has ", n, " rows, fewer than m = ", m);
    check_size(n, "the number of rows");
    return run<double>(
        {rule, m, d, n - m, nullptr, gram.data(), nullptr, rest, nullptr, scale, seen, true, sums},
        weights, steps, chosen.kernels->advance_gram, n);
}

// Checks rows in the compressed format: where they start, and that columns are ascending.
template <class I>
void check_csr(const Vector<I>& starts, const Vector<I>& indices, Index entries, Index columns) {
    const Index rows = length(starts) - 1;
    const I *start = starts.data(), *index = indices.data();
    check(rows >= 0 && start[0] == 0 && Index(start[rows]) == entries,
          "starts must lead from 0 to the number of entries");
    check(length(indices) == entries, "there must be an index for each entry");
    for (Index row = 0; row < rows; row++) {
        check(start[row] <= start[row + 1] && Index(start[row + 1]) <= entries,
              "starts are not ascending");
        I last = -1;
        for (Index p = Index(start[row]); p < Index(start[row + 1]); last = index[p++])
            check(last < index[p] && Index(index[p]) < columns, "the columns of row ", row,
                  " are not ascending, or not below ", columns);
    }
}

// The rows of an array about a point, which outlives neither of them.
template <class T>
onepass::PointRows<T> about(const Rows2<T>& rows, const Vector<T>& origin, const Vector<T>& scale) {
    const Index d = length(rows, 1);
    check(d >= 1, "there must be at least one column");
    check(length(origin) == d, "the origin has ", length(origin), " entries, and the rows ", d,
          " columns");
    check(!scale.is_valid() || length(scale) == d, "there must be a scale for each column");
    return {rows.data(),
            length(rows),
            d,
            rows.stride(0),
            rows.stride(1),
            origin.data(),
            scale.is_valid() ? scale.data() : nullptr};
}

template <class T>
nb::object add_outer(Mutable2<T> out, Rows2<T> rows, Vector<T> origin, Vector<T> scale,
                     Numbers weights, Index tile_rows, Index first, Index step) {
    const onepass::PointRows<T> x = about(rows, origin, scale);
    check(length(out) == x.d && length(out, 1) == x.d,
          "the matrix must have a row and a column for each column of the rows");
    check_size(x.d, "the number of columns");
    check_size(tile_rows, "the number of rows of a tile");
    check(tile_rows >= 1 && 0 <= first && first < step, "there is no such tile");
    check(length(weights) == x.r, "there must be a weight for each row");
    const NewArray<double> total{std::size_t(x.d)};
    std::fill(total.data, total.data + x.d, 0.0);
    {
        nb::gil_scoped_release unlocked;
        typed_kernels<T>().add_outer(x, weights.data(), {std::min(tile_rows, x.r), first, step},
                                     out.data(), total.data);
    }
    return total.array;
}

template <class T>
std::tuple<nb::object, nb::object> measure(Rows2<T> rows, Vector<T> origin, Vector<T> scale,
                                           Vector<T> point, Array2<T> directions) {
    const onepass::PointRows<T> x = about(rows, origin, scale);
    check(length(point) == x.d && length(directions, 1) == x.d,
          "the point and the directions must have ", x.d, " columns, as the rows do");
    const NewArray<double> distances{rows.shape(0)}, captured{rows.shape(0)};
    {
        nb::gil_scoped_release unlocked;
        typed_kernels<T>().measure({x, length(directions), point.data(), directions.data(),
                                    distances.data, captured.data});
    }
    return {distances.array, captured.array};
}

template <class T, class I>
void add_sparse_outer(MutableSquares out, Vector<T> data, Vector<I> indices, Vector<I> starts,
                      Numbers weights, bool single, Index part, Index parts) {
    const Index d = length(out), rows = length(starts) - 1;
    check(length(out, 1) == d, "the matrix is not square");
    check_size(d, "the number of columns");
    check(0 <= part && part < parts && parts <= MAX_SIZE, "part ", part, " is not one of ", parts);
    check_csr(starts, indices, length(data), d);
    check_numbers(weights, rows, 0.0, "weights");
    nb::gil_scoped_release unlocked;
    const onepass::IndexedKernels<T, I>& kernels = typed_kernels<T>();
    kernels.add_sparse_outer({rows, d, starts.data(), indices.data(), data.data(), weights.data()},
                             single, part, parts, out.data());
}

// -- rows with gaps ------------------------------------------------------------------------------

struct Completion {
    nb::object rows, variances, log_determinants, distances;
};

template <class T>
Completion complete(Array2<T> rows, Numbers mean, Squares loadings, Numbers noise, Numbers weights,
                    MutableSquares covariance, bool variances, bool likelihood) {
    const Index n = length(rows), d = length(rows, 1), r = length(loadings, 1);
    check(length(loadings) == d, "the loadings have ", length(loadings), " rows, and the rows ", d,
          " columns");
    check_numbers(mean, d, ANY, "mean");
    check_numbers(noise, d, 0.0, "noise");
    check_all_finite(loadings, "loadings");
    if (weights.is_valid()) check_numbers(weights, n, 0.0, "weights");
    check(!covariance.is_valid() || (length(covariance) == d && length(covariance, 1) == d),
          "the covariance must have a row and a column for each column of the rows");
    const std::size_t N = rows.shape(0), D = rows.shape(1);
    const NewArray<T> completed{N, D}, spread{variances ? N : 0, D};
    const NewArray<double> logs{likelihood ? N : 0}, distances{likelihood ? N : 0};
    onepass::CompletionTask<T> task{{d, r, mean.data(), loadings.data(), noise.data()},
                                    n,
                                    rows.data(),
                                    weights.is_valid() ? weights.data() : nullptr,
                                    completed.data,
                                    variances ? spread.data : nullptr,
                                    likelihood ? logs.data : nullptr,
                                    likelihood ? distances.data : nullptr,
                                    covariance.is_valid() ? covariance.data() : nullptr};
    try {
        nb::gil_scoped_release unlocked;
        typed_kernels<T>().complete(task);
    } catch (const onepass::RowError& error) {
        check(false, "row ", error.row, " has entries that are infinite or too large");
    } catch (const onepass::ModelError&) {
        check(false, "the loadings are so large that variances are not finite");
    }
    return {completed.array, variances ? spread.array : nb::none(),
            likelihood ? logs.array : nb::none(), likelihood ? distances.array : nb::none()};
}

// -- the other kernels ---------------------------------------------------------------------------

template <class T>
std::tuple<nb::object, nb::object, double> centre(Array2<T> rows, Numbers row_weights, Numbers mean,
                                                  double weight) {
    const Index r = length(rows), d = length(rows, 1);
    check_numbers(row_weights, r, DBL_TRUE_MIN, "row_weights");
    check_numbers(mean, d, ANY, "mean");
    check_number(weight, 0.0, "weight");
    const NewArray<T> centred{rows.shape(0), rows.shape(1)};
    const NewArray<double> new_mean(mean);
    onepass::CentreTask<T> task{rows.data(),   r,     d, row_weights.data(), centred.data,
                                new_mean.data, weight};
    {
        nb::gil_scoped_release unlocked;
        typed_kernels<T>().centre(task);
    }
    return {centred.array, new_mean.array, task.weight};
}

// Returns the rule after this, the eigenvalues that stay, and that of the complement.
std::tuple<Rule, nb::object, double> map_spectrum(const Rule& rule, Numbers values, double rest,
                                                  Index d) {
    const Index n = length(values);
    check_size(d, "the number of columns");
    check(n <= d, "there are ", n, " eigenvalues in ", d, " dimensions");
    check(rule.k <= d, "k is ", rule.k, ", but there are only ", d, " columns");
    check_numbers(values, n, ANY, "values");
    check_number(rest, ANY, "rest");
    for (Index i = 1; i < n; i++)
        check(values.data()[i] <= values.data()[i - 1], "values are not descending");
    const NewArray<double> out{std::size_t(n) + 1};
    std::copy(values.data(), values.data() + n, out.data);
    Rule after = rule;
    onepass::Eigenvalues mapped{n, out.data, rest, d};
    chosen.kernels->map_spectrum(after, mapped);
    return {after, out.first(mapped.size), mapped.rest};
}

// -- the module ----------------------------------------------------------------------------------

// Types in the signatures of SciPy's functions, in Cython's spelling. A SciPy with 64-bit integers in
// BLAS has another name than int, and calling it with 32-bit ones would overwrite memory.
constexpr const char* spelled(char) { return "char *"; }
constexpr const char* spelled(int) { return "int *"; }
constexpr const char* spelled(double) { return "__pyx_t_5scipy_6linalg_11cython_blas_d *"; }
constexpr const char* spelled(float) { return "__pyx_t_5scipy_6linalg_11cython_blas_s *"; }

template <class First, class... Others>
std::string signature(void (*)(First*, Others*...)) {
    std::string text = std::string("void (") + spelled(First{});
    ((text = text + ", " + spelled(Others{})), ...);
    return text + ")";
}

// Sets a pointer to a function of SciPy's BLAS, after a comparison of signatures.
template <class F>
void find_blas(nb::handle table, const char* name, F*& pointer) {
    nb::object entry = table[name];
    const char* found = PyCapsule_GetName(entry.ptr());
    if (!found) throw nb::python_error();
    const std::string wanted = signature(pointer);
    if (found != wanted) {
        const std::string message = std::string("onepass cannot use the BLAS of this SciPy: ") +
                                    name + " is '" + found + "', not '" + wanted +
                                    "'; install a SciPy whose cython_blas has 32-bit integers";
        throw nb::import_error(message.c_str());
    }
    pointer = reinterpret_cast<F*>(PyCapsule_GetPointer(entry.ptr(), found));
}

// An array that is taken as it is: never copied, never converted.
auto array(const char* name) { return nb::arg(name).noconvert(); }

template <class T, class I>
void define_indexed(nb::module_& m) {
    m.def("add_sparse_outer", &add_sparse_outer<T, I>, array("out"), array("data"),
          array("indices"), array("starts"), array("weights"), nb::kw_only(), "single"_a = false,
          "part"_a = 0, "parts"_a = 1);
}

template <class T>
void define_typed(nb::module_& m) {
    define_indexed<T, int32_t>(m);
    define_indexed<T, int64_t>(m);
    m.def("add_outer", &add_outer<T>, array("out"), array("rows"), array("origin"),
          array("scale").none(), array("weights"), "tile_rows"_a, "first"_a, "step"_a);
    m.def("measure", &measure<T>, array("rows"), array("origin"), array("scale").none(),
          array("point"), array("directions"));
    m.def("advance", &advance<T>, "rule"_a, array("basis"), array("weights"), "rest"_a,
          array("rows"), array("steps").none(), nb::kw_only(), "scale"_a = 0.0, "seen"_a = 0.0,
          "trusted"_a = false, "sums"_a = false);
    m.def("centre", &centre<T>, array("rows"), array("row_weights"), array("mean"), "weight"_a);
    m.def("complete", &complete<T>, array("rows"), array("mean"), array("loadings"), array("noise"),
          nb::kw_only(), array("weights").none() = nb::none(),
          array("covariance").none() = nb::none(), "variances"_a = false, "likelihood"_a = false);
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Take rows one by one, exactly: the compiled part of onepass.";
    // Objects that a traceback or a test keeps until the interpreter ends are no leak of ours.
    nb::set_leak_warnings(false);
    nb::object table = nb::module_::import_("scipy.linalg.cython_blas").attr("__pyx_capi__");
    find_blas(table, "dgemm", onepass::blas.dgemm);
    find_blas(table, "sgemm", onepass::blas.sgemm);
    find_blas(table, "dsyrk", onepass::blas.dsyrk);
    find_blas(table, "ssyrk", onepass::blas.ssyrk);
    find_blas(table, "dtrsm", onepass::blas.dtrsm);
    const char* wanted = std::getenv("ONEPASS_ISA");
    use_isa(wanted && *wanted ? wanted : supported().back().name);

    nb::class_<Rule>(m, "Rule")
        .def("__init__", &make_rule, "name"_a, "k"_a, nb::kw_only(), "max_rank"_a,
             "exact_trace"_a = false, "memory"_a = std::array<double, 3>{})
        .def_prop_ro("name", &name_of)
        .def_ro("k", &Rule::k)
        .def_ro("max_rank", &Rule::max_rank)
        .def_ro("exact_trace", &Rule::exact_trace)
        .def_ro("memory", &Rule::memory);

    nb::class_<Advanced>(m, "Advanced")
        .def_ro("rule", &Advanced::rule)
        .def_ro("taken", &Advanced::taken)
        .def_ro("rest", &Advanced::rest)
        .def_ro("seen", &Advanced::seen)
        .def_ro("rests", &Advanced::rests)
        .def_ro("basis", &Advanced::basis)
        .def_ro("weights", &Advanced::weights)
        .def_ro("captured", &Advanced::captured)
        .def_ro("energy", &Advanced::energy)
        .def_ro("rotation", &Advanced::rotation)
        .def_ro("inner", &Advanced::inner)
        .def_ro("sums", &Advanced::sums);

    nb::class_<Completion>(m, "Completion")
        .def_ro("rows", &Completion::rows)
        .def_ro("variances", &Completion::variances)
        .def_ro("log_determinants", &Completion::log_determinants)
        .def_ro("distances", &Completion::distances);

    define_typed<double>(m);
    define_typed<float>(m);
    m.def("advance_gram", &advance_gram, "rule"_a, array("gram"), "m"_a, "d"_a, array("weights"),
          "rest"_a, array("steps").none(), nb::kw_only(), "scale"_a = 0.0, "seen"_a = 0.0,
          "sums"_a = false);
    m.def("map_spectrum", &map_spectrum, "rule"_a, array("values"), "rest"_a, "d"_a);
    m.def("isa", [] { return chosen.name; });
    m.def("use_isa", &use_isa, "name"_a);
    m.def("supported_isas", &supported_isas);
}
