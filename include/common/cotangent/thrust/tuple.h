// thrust::tuple and thrust::pair: structs of up to six values. Functions on them
// are plain, so that the front end lowers them like the user's.
#pragma once

#include "cuda_runtime.h"

namespace thrust {

template <class... T>
struct tuple;

template <class T0>
struct tuple<T0> {
  T0 v0;
  __host__ __device__ tuple() : v0() {}
  explicit __host__ __device__ tuple(T0 a0) : v0(a0) {}
  template <class U0>
  __host__ __device__ tuple(const tuple<U0>& other) : v0(other.v0) {}
  template <class U0>
  __host__ __device__ tuple& operator=(const tuple<U0>& other) {
    v0 = other.v0;
    return *this;
  }
};

template <class T0, class T1>
struct tuple<T0, T1> {
  T0 v0;
  T1 v1;
  __host__ __device__ tuple() : v0(), v1() {}
  __host__ __device__ tuple(T0 a0, T1 a1) : v0(a0), v1(a1) {}
  template <class U0, class U1>
  __host__ __device__ tuple(const tuple<U0, U1>& other) : v0(other.v0), v1(other.v1) {}
  template <class U0, class U1>
  __host__ __device__ tuple& operator=(const tuple<U0, U1>& other) {
    v0 = other.v0;
    v1 = other.v1;
    return *this;
  }
};

template <class T0, class T1, class T2>
struct tuple<T0, T1, T2> {
  T0 v0;
  T1 v1;
  T2 v2;
  __host__ __device__ tuple() : v0(), v1(), v2() {}
  __host__ __device__ tuple(T0 a0, T1 a1, T2 a2) : v0(a0), v1(a1), v2(a2) {}
  template <class U0, class U1, class U2>
  __host__ __device__ tuple(const tuple<U0, U1, U2>& other) : v0(other.v0), v1(other.v1), v2(other.v2) {}
  template <class U0, class U1, class U2>
  __host__ __device__ tuple& operator=(const tuple<U0, U1, U2>& other) {
    v0 = other.v0;
    v1 = other.v1;
    v2 = other.v2;
    return *this;
  }
};

template <class T0, class T1, class T2, class T3>
struct tuple<T0, T1, T2, T3> {
  T0 v0;
  T1 v1;
  T2 v2;
  T3 v3;
  __host__ __device__ tuple() : v0(), v1(), v2(), v3() {}
  __host__ __device__ tuple(T0 a0, T1 a1, T2 a2, T3 a3) : v0(a0), v1(a1), v2(a2), v3(a3) {}
  template <class U0, class U1, class U2, class U3>
  __host__ __device__ tuple(const tuple<U0, U1, U2, U3>& other) : v0(other.v0), v1(other.v1), v2(other.v2), v3(other.v3) {}
  template <class U0, class U1, class U2, class U3>
  __host__ __device__ tuple& operator=(const tuple<U0, U1, U2, U3>& other) {
    v0 = other.v0;
    v1 = other.v1;
    v2 = other.v2;
    v3 = other.v3;
    return *this;
  }
};

template <class T0, class T1, class T2, class T3, class T4>
struct tuple<T0, T1, T2, T3, T4> {
  T0 v0;
  T1 v1;
  T2 v2;
  T3 v3;
  T4 v4;
  __host__ __device__ tuple() : v0(), v1(), v2(), v3(), v4() {}
  __host__ __device__ tuple(T0 a0, T1 a1, T2 a2, T3 a3, T4 a4) : v0(a0), v1(a1), v2(a2), v3(a3), v4(a4) {}
  template <class U0, class U1, class U2, class U3, class U4>
  __host__ __device__ tuple(const tuple<U0, U1, U2, U3, U4>& other) : v0(other.v0), v1(other.v1), v2(other.v2), v3(other.v3), v4(other.v4) {}
  template <class U0, class U1, class U2, class U3, class U4>
  __host__ __device__ tuple& operator=(const tuple<U0, U1, U2, U3, U4>& other) {
    v0 = other.v0;
    v1 = other.v1;
    v2 = other.v2;
    v3 = other.v3;
    v4 = other.v4;
    return *this;
  }
};

template <class T0, class T1, class T2, class T3, class T4, class T5>
struct tuple<T0, T1, T2, T3, T4, T5> {
  T0 v0;
  T1 v1;
  T2 v2;
  T3 v3;
  T4 v4;
  T5 v5;
  __host__ __device__ tuple() : v0(), v1(), v2(), v3(), v4(), v5() {}
  __host__ __device__ tuple(T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5) : v0(a0), v1(a1), v2(a2), v3(a3), v4(a4), v5(a5) {}
  template <class U0, class U1, class U2, class U3, class U4, class U5>
  __host__ __device__ tuple(const tuple<U0, U1, U2, U3, U4, U5>& other) : v0(other.v0), v1(other.v1), v2(other.v2), v3(other.v3), v4(other.v4), v5(other.v5) {}
  template <class U0, class U1, class U2, class U3, class U4, class U5>
  __host__ __device__ tuple& operator=(const tuple<U0, U1, U2, U3, U4, U5>& other) {
    v0 = other.v0;
    v1 = other.v1;
    v2 = other.v2;
    v3 = other.v3;
    v4 = other.v4;
    v5 = other.v5;
    return *this;
  }
};

template <class... T>
inline __host__ __device__ tuple<T...> make_tuple(T... values) {
  return tuple<T...>(values...);
}

// References to variables, to assign a tuple to.
template <class... T>
inline __host__ __device__ tuple<T&...> tie(T&... variables) {
  return tuple<T&...>(variables...);
}

template <int I, class... T>
inline __host__ __device__ auto& get(tuple<T...>& values) {
  if constexpr (I == 0) {
    return values.v0;
  } else if constexpr (I == 1) {
    return values.v1;
  } else if constexpr (I == 2) {
    return values.v2;
  } else if constexpr (I == 3) {
    return values.v3;
  } else if constexpr (I == 4) {
    return values.v4;
  } else {
    return values.v5;
  }
}
template <int I, class... T>
inline __host__ __device__ const auto& get(const tuple<T...>& values) {
  if constexpr (I == 0) {
    return values.v0;
  } else if constexpr (I == 1) {
    return values.v1;
  } else if constexpr (I == 2) {
    return values.v2;
  } else if constexpr (I == 3) {
    return values.v3;
  } else if constexpr (I == 4) {
    return values.v4;
  } else {
    return values.v5;
  }
}

template <class A, class B>
struct pair {
  using first_type = A;
  using second_type = B;
  A first;
  B second;
  __host__ __device__ pair() : first(), second() {}
  __host__ __device__ pair(const A& a, const B& b) : first(a), second(b) {}
  template <class C, class D>
  __host__ __device__ pair(const pair<C, D>& other) : first(other.first), second(other.second) {}
};

template <class A, class B>
inline __host__ __device__ pair<A, B> make_pair(A a, B b) {
  return pair<A, B>(a, b);
}

template <class T>
inline __host__ __device__ void swap(T& a, T& b) {
  T old = a;
  a = b;
  b = old;
}

}  // namespace thrust
