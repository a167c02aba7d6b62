// PyTorch's accessors, read in place of its own: what a library defines is in no
// dump, and kernels index tensors by them. They have the same members in the same
// order, so a real one may be handed to a derivative that takes such a struct.
// Read after PyTorch's headers and before the program.
#pragma once

namespace at {

// A part of a tensor, with sizes and strides elsewhere.
template <typename T, unsigned long N, template <typename U> class Traits = DefaultPtrTraits,
          typename Index = int64_t>
struct CotangentAccessor {
  using PtrType = typename Traits<T>::PtrType;

  __host__ __device__ CotangentAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  template <typename Real>
  __host__ CotangentAccessor(const Real& real);

  __host__ __device__ Index size(Index i) const { return sizes_[i]; }
  __host__ __device__ Index stride(Index i) const { return strides_[i]; }
  __host__ __device__ PtrType data() const { return data_; }
  __host__ __device__ CotangentAccessor<T, N - 1, Traits, Index> operator[](Index i) const {
    return CotangentAccessor<T, N - 1, Traits, Index>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }

  PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};

template <typename T, template <typename U> class Traits, typename Index>
struct CotangentAccessor<T, 1, Traits, Index> {
  using PtrType = typename Traits<T>::PtrType;

  __host__ __device__ CotangentAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  template <typename Real>
  __host__ CotangentAccessor(const Real& real);

  __host__ __device__ Index size(Index i) const { return sizes_[i]; }
  __host__ __device__ Index stride(Index i) const { return strides_[i]; }
  __host__ __device__ PtrType data() const { return data_; }
  __host__ __device__ T& operator[](Index i) const { return data_[strides_[0] * i]; }

  PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};

// A whole tensor, as a kernel takes it.
template <typename T, unsigned long N, template <typename U> class Traits = DefaultPtrTraits,
          typename Index = int64_t>
struct CotangentPackedAccessor {
  using PtrType = typename Traits<T>::PtrType;

  template <typename Real>
  __host__ CotangentPackedAccessor(const Real& real);

  __host__ __device__ Index size(Index i) const { return sizes_[i]; }
  __host__ __device__ Index stride(Index i) const { return strides_[i]; }
  __host__ __device__ PtrType data() const { return data_; }
  __host__ __device__ CotangentAccessor<T, N - 1, Traits, Index> operator[](Index i) const {
    return CotangentAccessor<T, N - 1, Traits, Index>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }

  PtrType data_;
  Index sizes_[N];
  Index strides_[N];
};

template <typename T, template <typename U> class Traits, typename Index>
struct CotangentPackedAccessor<T, 1, Traits, Index> {
  using PtrType = typename Traits<T>::PtrType;

  template <typename Real>
  __host__ CotangentPackedAccessor(const Real& real);

  __host__ __device__ Index size(Index i) const { return sizes_[i]; }
  __host__ __device__ Index stride(Index i) const { return strides_[i]; }
  __host__ __device__ PtrType data() const { return data_; }
  __host__ __device__ T& operator[](Index i) const { return data_[strides_[0] * i]; }

  PtrType data_;
  Index sizes_[1];
  Index strides_[1];
};

template <typename T, unsigned long N, template <typename U> class Traits = DefaultPtrTraits>
using CotangentPackedAccessor32 = CotangentPackedAccessor<T, N, Traits, int32_t>;
template <typename T, unsigned long N, template <typename U> class Traits = DefaultPtrTraits>
using CotangentPackedAccessor64 = CotangentPackedAccessor<T, N, Traits, int64_t>;

}  // namespace at

#define TensorAccessor CotangentAccessor
#define PackedTensorAccessor CotangentPackedAccessor
#define GenericPackedTensorAccessor CotangentPackedAccessor
#define PackedTensorAccessor32 CotangentPackedAccessor32
#define PackedTensorAccessor64 CotangentPackedAccessor64
