// jit/array.h: arrays as a whole: making, reading, gathering, scattering, reducing them.
#pragma once
#include "jit/algorithm.h"
#include "jit/value.h"
#include <span>

namespace umbel::jit {

// ---- making arrays; a size that they cannot have (element_count.h) is an error before any memory is asked for
Value full(Type type, uint64_t bits, uint64_t size);
/// A copy of host memory.
Value copy_from(Type type, const void *data, uint64_t size);
/// Host memory used in place; it must not change or go away before `on_release` is called.
Value borrow_from(Type type, void *data, uint64_t size, std::function<void()> on_release);
/// An array in memory that is there for ever and never changes: one value while anything uses it, so that
/// instances which read it have that in common.
Value constant_table(Type type, const void *data, uint64_t size);
/// The same value, evaluated, so that it is data of the program and not part of its text.
Value opaque(const Value &v);

template <class T> Array<T> full(T v, uint64_t size) {
    return Array<T>(full(type_of_v<T>, to_bits(v), size));
}
template <class T> Array<T> zeros(uint64_t size) { return Array<T>(full(type_of_v<T>, 0, size)); }
template <class T> Array<T> arange(uint64_t size) {
    return Array<T>(cast(type_of_v<T>, lane_index(size)));
}
/// `size` values from `first` to `last`, both included.
template <class T> Array<T> linspace(T first, T last, uint64_t size) {
    T step = size > 1 ? (last - first) / T(size - 1) : T(0);
    return fma(arange<T>(size), Array<T>(step), Array<T>(first));
}
template <class T> Array<T> copy(std::span<const T> data) {
    return Array<T>(copy_from(type_of_v<T>, data.data(), data.size()));
}
template <class T> Array<T> copy(const std::vector<T> &data) {
    if constexpr (std::is_same_v<T, bool>) {
        std::vector<uint8_t> bytes(data.begin(), data.end());
        return Array<T>(copy_from(Type::Bool, bytes.data(), bytes.size()));
    } else {
        return copy(std::span<const T>(data));
    }
}
template <class T> Array<T> opaque(const Array<T> &a) {
    return Array<T>(opaque(static_cast<const Value &>(a)));
}
template <class T> Array<T> opaque(T v) { return opaque(Array<T>(v)); }

// ---- evaluation
/// Computes the values and all pending side effects, in one kernel where sizes agree. Asynchronous.
void eval(std::span<const Value *const> values);
template <class... Vs> void eval(const Vs &...values) {
    const Value *list[] = { &values..., nullptr };
    eval(std::span<const Value *const>(list, sizeof...(Vs)));
}
/// Computed with the next evaluation, whatever triggers that.
void schedule(const Value &v);
/// Waits for all kernels of the current context and reports their errors.
void synchronize();
/// Copies elements [first, first + count) to the host.
void read(const Value &v, void *out, uint64_t first, uint64_t count);

template <class T> std::vector<T> Array<T>::read() const {
    if constexpr (std::is_same_v<T, bool>) {
        std::vector<uint8_t> bytes(size());
        jit::read(*this, bytes.data(), 0, size());
        return { bytes.begin(), bytes.end() };
    } else {
        std::vector<T> out(size());
        jit::read(*this, out.data(), 0, size());
        return out;
    }
}
template <class T> T item(const Array<T> &a, uint64_t index = 0) {
    T v;
    jit::read(a, &v, index, 1);
    return v;
}

// ---- memory
Value gather(const Value &source, const Value &index, const Value &mask);
/// `n` consecutive elements from index * n on, as one fetch a lane.
std::vector<Value> gather_packet(const Value &source, const Value &index, uint32_t n,
                                 const Value &mask);
void scatter(Value &target, const Value &value, const Value &index, const Value &mask,
             ReduceOp op = ReduceOp::Store);
/// Adds 1 to target[index], gives the value before. Ranks of lanes are unique, their order is not fixed.
Value scatter_inc(Value &target, const Value &index, const Value &mask);

template <class T>
Array<T> gather(const Array<T> &source, const UInt32 &index, const Mask &mask = true) {
    return Array<T>(gather(static_cast<const Value &>(source), index, mask));
}
template <class T, size_t N>
std::array<Array<T>, N> gather_packet(const Array<T> &source, const UInt32 &index,
                                      const Mask &mask = true) {
    std::vector<Value> v = gather_packet(source, index, N, mask);
    std::array<Array<T>, N> out;
    for (size_t i = 0; i < N; ++i)
        out[i] = Array<T>(std::move(v[i]));
    return out;
}
template <class T>
void scatter(Array<T> &target, const Array<T> &value, const UInt32 &index,
             const Mask &mask = true) {
    scatter(target, value, index, mask, ReduceOp::Store);
}
template <class T>
void scatter_reduce(ReduceOp op, Array<T> &target, const Array<T> &value, const UInt32 &index,
                    const Mask &mask = true) {
    scatter(target, value, index, mask, op);
}
template <class T>
void scatter_add(Array<T> &target, const Array<T> &value, const UInt32 &index,
                 const Mask &mask = true) {
    scatter(target, value, index, mask, ReduceOp::Add);
}
inline UInt32 scatter_inc(UInt32 &target, const UInt32 &index, const Mask &mask = true) {
    return UInt32(scatter_inc(static_cast<Value &>(target), index, mask));
}

/// A small array of each lane's own, indexed at run time; a value like any other, also as loop state.
Value local_array(const Value &initial, uint32_t length);
Value local_get(const Value &array, const Value &index, const Value &mask);
Value local_set(const Value &array, const Value &index, const Value &value, const Value &mask);

template <class T> class LocalArray : public Value {
public:
    LocalArray() = default;
    LocalArray(const Array<T> &initial, uint32_t length) : Value(local_array(initial, length)) {}
    explicit LocalArray(Value v) : Value(std::move(v)) {}
    uint32_t length() const { return node().length; }
    Array<T> get(const UInt32 &index, const Mask &mask = true) const {
        return Array<T>(local_get(*this, index, mask));
    }
    void set(const UInt32 &index, const Array<T> &value, const Mask &mask = true) {
        static_cast<Value &>(*this) = local_set(*this, index, value, mask);
    }
};

// ---- whole-array algorithms; the operand is evaluated first
Value reduce(ReduceOp op, const Value &v);
Value block_reduce(ReduceOp op, const Value &v, uint32_t block);
Value prefix_sum(const Value &v, bool exclusive, uint32_t block = 0);
Value dot(const Value &a, const Value &b);
Value compress(const Value &mask);
Value sort_permutation(const Value &keys, bool descending = false);

template <class T> Array<T> sum(const Array<T> &a) { return Array<T>(reduce(ReduceOp::Add, a)); }
template <class T> Array<T> prod(const Array<T> &a) { return Array<T>(reduce(ReduceOp::Mul, a)); }
template <class T> Array<T> minimum(const Array<T> &a) {
    return Array<T>(reduce(ReduceOp::Min, a));
}
template <class T> Array<T> maximum(const Array<T> &a) {
    return Array<T>(reduce(ReduceOp::Max, a));
}
template <class T> Array<T> dot(const Array<T> &a, const Array<T> &b) {
    return Array<T>(dot(static_cast<const Value &>(a), b));
}
template <class T> Array<T> block_sum(const Array<T> &a, uint32_t block) {
    return Array<T>(block_reduce(ReduceOp::Add, a, block));
}
template <class T> Array<T> cumsum(const Array<T> &a) { return Array<T>(prefix_sum(a, false)); }
template <class T> Array<T> prefix_sum(const Array<T> &a) { return Array<T>(prefix_sum(a, true)); }
/// These three wait for the answer.
bool any(const Mask &m);
bool all(const Mask &m);
inline bool none(const Mask &m) { return !any(m); }
uint32_t count(const Mask &m);

// ---- messages from a kernel
/// Prints `format` for each lane of the mask; `{}` stands for an argument. Shown at synchronization, in
/// the order of lanes.
void print(std::string format, std::span<const Value> args, const Value &mask);
template <class... Vs> void print(std::string format, const Mask &mask, const Vs &...args) {
    std::vector<Value> list{ args... };
    print(std::move(format), std::span<const Value>(list), mask);
}
/// Lanes of the mask where `condition` is false raise a UserError at the next synchronization.
void assert_lanes(const Mask &condition, std::string message, const Mask &mask = true);

/// Calls a host function once a packet; see ExternSite. `user` must outlive the kernels. Without
/// `effect`, the call is dropped where nothing uses its outputs.
std::vector<Value> call_host(std::string name, ExternFn fn, void *user,
                             std::span<const Value> inputs, std::span<const Type> outputs,
                             const Value &mask, bool effect = false);

} // namespace umbel::jit
