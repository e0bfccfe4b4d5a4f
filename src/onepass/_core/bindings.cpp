// What Python sees. Types, contiguity and shapes are checked here, so that no call leaves its arrays.
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
#include <cstdlib>
#include <cstring>
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
extern const RowKernels row_kernels;
extern const RuleKernels rule_kernels;
}  // namespace v2
namespace v3 {
extern const RowKernels row_kernels;
extern const RuleKernels rule_kernels;
}  // namespace v3
namespace v4 {
extern const RuleKernels rule_kernels;
}
#else
namespace plain {
extern const RowKernels row_kernels;
extern const RuleKernels rule_kernels;
}  // namespace plain
#endif

}  // namespace onepass

namespace {

struct InstructionSet {
    std::string name;
    const onepass::RowKernels* rows;
    const onepass::RuleKernels* rules;
};

#ifdef ONEPASS_X86
// Returns the level of x86-64 that this machine has. __builtin_cpu_supports does not link with zig.
int level() {
    unsigned a, b, c, d, low, high;
    constexpr unsigned first = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C | bit_MOVBE;
    constexpr unsigned third = bit_AVX2 | bit_BMI | bit_BMI2;
    constexpr unsigned fourth =
        bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & first) != first) return 2;
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c & bit_LZCNT)) return 2;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  // the registers that the system saves
    if ((low & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 2;
    if ((b & third) != third) return 2;
    return (low & 0xe6) == 0xe6 && (b & fourth) == fourth ? 4 : 3;
}

// Those that this machine has, best last. Wider registers pay for the paper's algorithms only.
std::vector<InstructionSet> supported() {
    using namespace onepass;
    std::vector<InstructionSet> sets{{"x86-64-v2", &v2::row_kernels, &v2::rule_kernels},
                                     {"x86-64-v3", &v3::row_kernels, &v3::rule_kernels},
                                     {"x86-64-v4", &v3::row_kernels, &v4::rule_kernels}};
    sets.resize(std::size_t(level() - 1));
    return sets;
}
#else
std::vector<InstructionSet> supported() {
    return {{"plain", &onepass::plain::row_kernels, &onepass::plain::rule_kernels}};
}
#endif

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
const onepass::TypedKernels<T>& row_kernels() {
    return *chosen.rows;
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

template <class T>
void check_length(const Vector<T>& array, Index wanted, const char* name) {
    check(length(array) == wanted, name, " has ", length(array), " entries, but ", wanted,
          " are needed");
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

void make_rule(Rule* rule, const std::string& name, Index k, Index max_rank, bool exact_trace,
               const std::array<double, 3>& memory) {
    const onepass::RuleKernels& rules = *chosen.rules;
    const Index number = find(name, {rules.names, rules.names + rules.count}, "rule", "known");
    check(k >= 1 && max_rank >= 1, "k is ", k, " and max_rank ", max_rank,
          "; they must be at least 1");
    new (rule) Rule{number, k, max_rank, exact_trace, memory};
}

std::string name_of(const Rule& rule) { return chosen.rules->names[rule.algorithm]; }

struct Advanced {
    Rule rule;
    Index taken;
    double rest, seen, rests;
    nb::object basis, weights, captured, energy, rotation, inner, sums;
};

// Checks a task, runs a kernel without the interpreter's lock, and hands the results over, in rows
// of so many columns.
template <class T>
Advanced run(onepass::Task<T> task, const Numbers& weights, const Numbers& steps,
             void (*kernel)(onepass::Task<T>&), Index columns) {
    check(task.d >= 1 && task.m <= task.d, "the basis has ", task.m, " rows and ", task.d,
          " columns; it needs a column, and no more rows than columns");
    check_size(task.d, "the number of columns");
    check_length(weights, task.m, "weights");
    if (steps.is_valid()) check_length(steps, task.r, "steps");
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
               weights, steps, static_cast<const onepass::AdvanceKernel<T>&>(*chosen.rules).advance,
               d);
}

Advanced advance_gram(const Rule& rule, Squares gram, Index m, Index d, Numbers weights,
                      double rest, Numbers steps, double scale, double seen, bool sums) {
    const Index n = length(gram);
    check(length(gram, 1) == n, "the Gram matrix is not square");
    check(m >= 0 && m <= n, "the Gram matrix has ", n, " rows, fewer than m = ", m);
    check_size(n, "the number of rows");
    return run<double>(
        {rule, m, d, n - m, nullptr, gram.data(), nullptr, rest, nullptr, scale, seen, true, sums},
        weights, steps, chosen.rules->advance_gram, n);
}

// Checks rows in the compressed format: where they start, and that columns are ascending.
void check_csr(const Vector<int32_t>& starts, const Vector<int32_t>& indices, Index entries,
               Index columns) {
    const Index rows = length(starts) - 1;
    const int32_t *start = starts.data(), *index = indices.data();
    check(rows >= 0 && start[0] == 0 && Index(start[rows]) == entries,
          "starts must lead from 0 to the number of entries");
    check(length(indices) == entries, "there must be an index for each entry");
    for (Index row = 0; row < rows; row++) {
        check(start[row] <= start[row + 1] && Index(start[row + 1]) <= entries,
              "starts are not ascending");
        int32_t last = -1;
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
    check_length(origin, d, "origin");
    if (scale.is_valid()) check_length(scale, d, "scale");
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
    check_length(weights, x.r, "weights");
    const NewArray<double> total{std::size_t(x.d)};
    std::fill(total.data, total.data + x.d, 0.0);
    {
        nb::gil_scoped_release unlocked;
        row_kernels<T>().add_outer(x, weights.data(), {std::min(tile_rows, x.r), first, step},
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
        row_kernels<T>().measure({x, length(directions), point.data(), directions.data(),
                                  distances.data, captured.data});
    }
    return {distances.array, captured.array};
}

template <class T>
void add_sparse_outer(MutableSquares out, Vector<T> data, Vector<int32_t> indices,
                      Vector<int32_t> starts, Numbers weights, bool single, Index part,
                      Index parts) {
    const Index d = length(out), rows = length(starts) - 1;
    check(length(out, 1) == d, "the matrix is not square");
    check_size(d, "the number of columns");
    check(0 <= part && part < parts && parts <= MAX_SIZE, "part ", part, " is not one of ", parts);
    check_csr(starts, indices, length(data), d);
    check_length(weights, rows, "weights");
    nb::gil_scoped_release unlocked;
    row_kernels<T>().add_sparse_outer(
        {rows, d, starts.data(), indices.data(), data.data(), weights.data()}, single, part, parts,
        out.data());
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
    check_length(mean, d, "mean");
    check_length(noise, d, "noise");
    if (weights.is_valid()) check_length(weights, n, "weights");
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
    {
        nb::gil_scoped_release unlocked;
        row_kernels<T>().complete(task);
    }
    return {completed.array, variances ? spread.array : nb::none(),
            likelihood ? logs.array : nb::none(), likelihood ? distances.array : nb::none()};
}

// -- the other kernels ---------------------------------------------------------------------------

template <class T>
std::tuple<nb::object, nb::object, double> centre(Array2<T> rows, Numbers row_weights, Numbers mean,
                                                  double weight) {
    const Index r = length(rows), d = length(rows, 1);
    check_length(row_weights, r, "row_weights");
    check_length(mean, d, "mean");
    const NewArray<T> centred{rows.shape(0), rows.shape(1)};
    const NewArray<double> new_mean(mean);
    onepass::CentreTask<T> task{rows.data(),   r,     d, row_weights.data(), centred.data,
                                new_mean.data, weight};
    {
        nb::gil_scoped_release unlocked;
        row_kernels<T>().centre(task);
    }
    return {centred.array, new_mean.array, task.weight};
}

// Returns the rule after this, the eigenvalues that stay, and that of the complement.
std::tuple<Rule, nb::object, double> map_spectrum(const Rule& rule, Numbers values, double rest,
                                                  Index d) {
    const Index n = length(values);
    const NewArray<double> out{std::size_t(n) + 1};
    std::copy(values.data(), values.data() + n, out.data);
    Rule after = rule;
    onepass::Eigenvalues mapped{n, out.data, rest, d};
    chosen.rules->map_spectrum(after, mapped);
    return {after, out.first(mapped.size), mapped.rest};
}

// -- the module ----------------------------------------------------------------------------------

// Sets a pointer to a function of SciPy's BLAS. A SciPy with 64-bit integers in BLAS has another name
// than int in the signatures of its functions, and calls with 32-bit ones would overwrite memory.
template <class F>
void find_blas(nb::handle table, const char* name, F*& pointer) {
    nb::object entry = table[name];
    const char* signature = PyCapsule_GetName(entry.ptr());
    if (!signature || !std::strstr(signature, ", int *")) {
        const std::string message =
            std::string("onepass cannot use the BLAS of this SciPy: ") + name +
            " has no 32-bit integers; install a SciPy whose cython_blas has them";
        throw nb::import_error(message.c_str());
    }
    pointer = reinterpret_cast<F*>(PyCapsule_GetPointer(entry.ptr(), signature));
}

// An array that is taken as it is: never copied, never converted.
auto array(const char* name) { return nb::arg(name).noconvert(); }

template <class T>
void define_typed(nb::module_& m) {
    m.def("add_sparse_outer", &add_sparse_outer<T>, array("out"), array("data"), array("indices"),
          array("starts"), array("weights"), nb::kw_only(), "single"_a = false, "part"_a = 0,
          "parts"_a = 1);
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
