// What PyTorch's headers name of Thrust's complex numbers, for machines without
// Thrust. It is searched after all other folders, so that the real one wins.
// Declarations only: nothing that calls them is differentiated.
#pragma once

namespace thrust {

template <typename T>
struct complex {
  __host__ __device__ complex(T re = T(), T im = T());
  template <typename U>
  __host__ __device__ complex(const complex<U>& other);
  __host__ __device__ T real() const;
  __host__ __device__ T imag() const;
};

template <typename T>
__host__ __device__ T abs(const complex<T>& z);
template <typename T>
__host__ __device__ T arg(const complex<T>& z);
template <typename T>
__host__ __device__ T norm(const complex<T>& z);
template <typename T>
__host__ __device__ complex<T> polar(const T& radius, const T& angle = T());

#define COTANGENT_COMPLEX(name) \
  template <typename T>         \
  __host__ __device__ complex<T> name(const complex<T>& z);
COTANGENT_COMPLEX(conj)
COTANGENT_COMPLEX(proj)
COTANGENT_COMPLEX(exp)
COTANGENT_COMPLEX(log)
COTANGENT_COMPLEX(log10)
COTANGENT_COMPLEX(sqrt)
COTANGENT_COMPLEX(sin)
COTANGENT_COMPLEX(cos)
COTANGENT_COMPLEX(tan)
COTANGENT_COMPLEX(asin)
COTANGENT_COMPLEX(acos)
COTANGENT_COMPLEX(atan)
COTANGENT_COMPLEX(sinh)
COTANGENT_COMPLEX(cosh)
COTANGENT_COMPLEX(tanh)
COTANGENT_COMPLEX(asinh)
COTANGENT_COMPLEX(acosh)
COTANGENT_COMPLEX(atanh)
#undef COTANGENT_COMPLEX

template <typename T, typename U>
__host__ __device__ complex<T> pow(const complex<T>& base, const complex<U>& exponent);
template <typename T, typename U>
__host__ __device__ complex<T> pow(const complex<T>& base, const U& exponent);
template <typename T, typename U>
__host__ __device__ complex<T> pow(const T& base, const complex<U>& exponent);

}  // namespace thrust
