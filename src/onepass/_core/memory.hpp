// Memory of one call: cache-line aligned, freed when the call ends, std::bad_alloc if there is none.
#pragma once
#include <cstddef>
#include <cstring>

#include "vec.hpp"

namespace onepass {
// Defined in bindings.cpp, so that no code of one instruction set is shared with another.
void* allocate(std::ptrdiff_t count, std::size_t size);  // throws std::bad_alloc
void release(void* memory) noexcept;
}  // namespace onepass

namespace {

template <class T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(Index count) { reserve(count); }
    ~Buffer() { onepass::release(memory); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // Makes room for `count` numbers; what was there is lost if there was not enough.
    T* reserve(Index count) {
        if (!memory || count > capacity) replace(count, 0);  // never null, even for no numbers
        return memory;
    }
    // Makes room for `count` numbers and keeps the first `kept`.
    T* extend(Index count, Index kept) {
        if (!memory || count > capacity) replace(count + count / 2, kept);
        return memory;
    }
    T* zeros(Index count) {
        reserve(count);
        if (count > 0) std::memset(memory, 0, std::size_t(count) * sizeof(T));
        return memory;
    }
    T* get() const { return memory; }
    // Hands the memory over: the caller has to release it.
    T* give() {
        T* given = memory;
        memory = nullptr, capacity = 0;
        return given;
    }
    void swap(Buffer& other) {
        T* its_memory = other.memory;
        const Index its_capacity = other.capacity;
        other.memory = memory, other.capacity = capacity;
        memory = its_memory, capacity = its_capacity;
    }

private:
    void replace(Index count, Index kept) {
        T* larger = static_cast<T*>(onepass::allocate(count, sizeof(T)));
        if (kept > 0) std::memcpy(larger, memory, std::size_t(kept) * sizeof(T));
        onepass::release(memory);
        memory = larger, capacity = count;
    }

    T* memory = nullptr;
    Index capacity = 0;
};

}  // namespace
