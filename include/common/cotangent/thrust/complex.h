// thrust::complex. Of the inverse trigonometric and hyperbolic functions there
// are declarations only: programs name them, and what calls them is refused.
#pragma once

#include "cuda/cmath"
#include "cuda_runtime.h"

namespace thrust {

template <class T>
struct complex {
  using value_type = T;
  T re_;
  T im_;
  __host__ __device__ complex() : re_(), im_() {}
  __host__ __device__ complex(T re, T im = T()) : re_(re), im_(im) {}
  template <class U>
  __host__ __device__ complex(const complex<U>& other) : re_(other.re_), im_(other.im_) {}
  __host__ __device__ T real() const { return re_; }
  __host__ __device__ T imag() const { return im_; }
  __host__ __device__ void real(T re) { re_ = re; }
  __host__ __device__ void imag(T im) { im_ = im; }
  __host__ __device__ complex& operator=(T re) {
    re_ = re;
    im_ = T();
    return *this;
  }
  __host__ __device__ complex& operator+=(complex other) { return *this = *this + other; }
  __host__ __device__ complex& operator-=(complex other) { return *this = *this - other; }
  __host__ __device__ complex& operator*=(complex other) { return *this = *this * other; }
  __host__ __device__ complex& operator/=(complex other) { return *this = *this / other; }

  // Friends, so that a number beside a complex one is converted.
  friend __host__ __device__ complex operator+(complex a) { return a; }
  friend __host__ __device__ complex operator-(complex a) { return complex(-a.re_, -a.im_); }
  friend __host__ __device__ complex operator+(complex a, complex b) { return complex(a.re_ + b.re_, a.im_ + b.im_); }
  friend __host__ __device__ complex operator-(complex a, complex b) { return complex(a.re_ - b.re_, a.im_ - b.im_); }
  friend __host__ __device__ complex operator*(complex a, complex b) {
    return complex(a.re_ * b.re_ - a.im_ * b.im_, a.re_ * b.im_ + a.im_ * b.re_);
  }
  // The larger part of the divisor is divided by, so that squares do not overflow.
  friend __host__ __device__ complex operator/(complex a, complex b) {
    if (fabs(b.re_) >= fabs(b.im_)) {
      T ratio = b.im_ / b.re_;
      T scale = b.re_ + b.im_ * ratio;
      return complex((a.re_ + a.im_ * ratio) / scale, (a.im_ - a.re_ * ratio) / scale);
    }
    T ratio = b.re_ / b.im_;
    T scale = b.re_ * ratio + b.im_;
    return complex((a.re_ * ratio + a.im_) / scale, (a.im_ * ratio - a.re_) / scale);
  }
  friend __host__ __device__ bool operator==(complex a, complex b) { return a.re_ == b.re_ && a.im_ == b.im_; }
  friend __host__ __device__ bool operator!=(complex a, complex b) { return !(a == b); }
};

template <class T>
inline __host__ __device__ T abs(complex<T> z) {
  return hypot(z.re_, z.im_);
}
template <class T>
inline __host__ __device__ T arg(complex<T> z) {
  return atan2(z.im_, z.re_);
}
template <class T>
inline __host__ __device__ T norm(complex<T> z) {
  return z.re_ * z.re_ + z.im_ * z.im_;
}
template <class T>
inline __host__ __device__ complex<T> conj(complex<T> z) {
  return complex<T>(z.re_, -z.im_);
}
template <class T>
inline __host__ __device__ complex<T> polar(T radius, T angle = T()) {
  return complex<T>(radius * cos(angle), radius * sin(angle));
}
template <class T>
inline __host__ __device__ complex<T> exp(complex<T> z) {
  return polar(static_cast<T>(::exp(z.re_)), z.im_);
}
template <class T>
inline __host__ __device__ complex<T> log(complex<T> z) {
  return complex<T>(::log(hypot(z.re_, z.im_)), atan2(z.im_, z.re_));
}
template <class T>
inline __host__ __device__ complex<T> sqrt(complex<T> z) {
  return polar(static_cast<T>(::sqrt(hypot(z.re_, z.im_))), atan2(z.im_, z.re_) / T(2));
}
template <class T>
inline __host__ __device__ complex<T> sin(complex<T> z) {
  return complex<T>(::sin(z.re_) * ::cosh(z.im_), ::cos(z.re_) * ::sinh(z.im_));
}
template <class T>
inline __host__ __device__ complex<T> cos(complex<T> z) {
  return complex<T>(::cos(z.re_) * ::cosh(z.im_), -::sin(z.re_) * ::sinh(z.im_));
}
template <class T>
inline __host__ __device__ complex<T> sinh(complex<T> z) {
  return complex<T>(::sinh(z.re_) * ::cos(z.im_), ::cosh(z.re_) * ::sin(z.im_));
}
template <class T>
inline __host__ __device__ complex<T> cosh(complex<T> z) {
  return complex<T>(::cosh(z.re_) * ::cos(z.im_), ::sinh(z.re_) * ::sin(z.im_));
}

#define COTANGENT_COMPLEX(name) \
  template <class T>            \
  __host__ __device__ complex<T> name(const complex<T>& z);
COTANGENT_COMPLEX(proj)
COTANGENT_COMPLEX(log10)
COTANGENT_COMPLEX(tan)
COTANGENT_COMPLEX(asin)
COTANGENT_COMPLEX(acos)
COTANGENT_COMPLEX(atan)
COTANGENT_COMPLEX(tanh)
COTANGENT_COMPLEX(asinh)
COTANGENT_COMPLEX(acosh)
COTANGENT_COMPLEX(atanh)
#undef COTANGENT_COMPLEX

template <class T, class U>
__host__ __device__ complex<T> pow(const complex<T>& base, const complex<U>& exponent);
template <class T, class U>
__host__ __device__ complex<T> pow(const complex<T>& base, const U& exponent);
template <class T, class U>
__host__ __device__ complex<T> pow(const T& base, const complex<U>& exponent);

}  // namespace thrust
