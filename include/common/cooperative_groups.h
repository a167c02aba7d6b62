// Cooperative groups: the block, tiles of a warp, and the threads that happen
// to be together.
//
// Every member is written with CUDA's plain barriers, shuffles and votes. So
// the front end lowers a group like any class of the user's, and whoever runs
// the result needs to know the plain functions only. Synchronising the grid
// has no such form: it is declared and nowhere defined.
#pragma once

#include <type_traits>
#include <utility>

#include "cuda_runtime.h"

namespace cooperative_groups {

namespace details {

// The position of the thread in its block; x runs fastest.
inline __device__ unsigned int rank_in_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

inline __device__ unsigned int block_size() { return blockDim.x * blockDim.y * blockDim.z; }

inline __device__ unsigned int lane() { return rank_in_block() % 32u; }

// The lanes of the warp, from `lane - lane % size` on, that form one tile.
inline __device__ unsigned int tile_mask(unsigned int size) {
  unsigned int ones = size >= 32u ? 0xffffffffu : (1u << size) - 1u;
  return ones << (lane() / size * size);
}

// The plain shuffles as types, so that one function can be written for all.
struct shuffle_index {
  template <class T>
  static __device__ auto apply(unsigned int mask, T value, int lane, int width)
      -> decltype(__shfl_sync(mask, value, lane, width)) {
    return __shfl_sync(mask, value, lane, width);
  }
};
struct shuffle_up {
  template <class T>
  static __device__ auto apply(unsigned int mask, T value, int delta, int width)
      -> decltype(__shfl_up_sync(mask, value, static_cast<unsigned int>(delta), width)) {
    return __shfl_up_sync(mask, value, static_cast<unsigned int>(delta), width);
  }
};
struct shuffle_down {
  template <class T>
  static __device__ auto apply(unsigned int mask, T value, int delta, int width)
      -> decltype(__shfl_down_sync(mask, value, static_cast<unsigned int>(delta), width)) {
    return __shfl_down_sync(mask, value, static_cast<unsigned int>(delta), width);
  }
};
struct shuffle_xor {
  template <class T>
  static __device__ auto apply(unsigned int mask, T value, int lane_mask, int width)
      -> decltype(__shfl_xor_sync(mask, value, lane_mask, width)) {
    return __shfl_xor_sync(mask, value, lane_mask, width);
  }
};

// Whether the plain shuffle takes a T as it is, without a conversion.
template <class Shuffle, class T, class = T>
struct is_plain : std::false_type {};
template <class Shuffle, class T>
struct is_plain<Shuffle, T, decltype(Shuffle::apply(0u, std::declval<T>(), 0, 32))> : std::true_type {};

// A group also exchanges structs; those travel word by word.
template <class Shuffle, class T, bool Plain = is_plain<Shuffle, T>::value>
struct exchange {
  static __device__ T run(unsigned int mask, T value, int argument, int width) {
    return Shuffle::apply(mask, value, argument, width);
  }
};
template <class Shuffle, class T>
struct exchange<Shuffle, T, false> {
  static_assert(std::is_trivially_copyable<T>::value, "a group exchanges trivially copyable values only");
  static __device__ T run(unsigned int mask, T value, int argument, int width) {
    unsigned int words[(sizeof(T) + 3) / 4] = {};
    memcpy(words, &value, sizeof(T));
    for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
      words[i] = Shuffle::apply(mask, words[i], argument, width);
    }
    memcpy(&value, words, sizeof(T));
    return value;
  }
};

}  // namespace details

// The threads of the block.
class thread_block {
 public:
  static __device__ void sync() { __syncthreads(); }
  static __device__ unsigned int size() { return details::block_size(); }
  static __device__ unsigned int num_threads() { return details::block_size(); }
  static __device__ unsigned int thread_rank() { return details::rank_in_block(); }
  static __device__ dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static __device__ dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  static __device__ dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  static __device__ dim3 dim_threads() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
};

inline __device__ thread_block this_thread_block() { return thread_block(); }

// All threads of the launch.
class grid_group {
 public:
  __device__ void sync() const;
  static __device__ bool is_valid() { return true; }
  static __device__ unsigned long long size() { return num_blocks() * details::block_size(); }
  static __device__ unsigned long long num_threads() { return size(); }
  static __device__ unsigned long long thread_rank() {
    return block_rank() * details::block_size() + details::rank_in_block();
  }
  static __device__ unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  static __device__ unsigned long long block_rank() {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static __device__ dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  static __device__ dim3 dim_blocks() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  static __device__ dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};

inline __device__ grid_group this_grid() { return grid_group(); }

// Size neighbouring lanes of a warp; Size is a power of two up to 32. Parent is
// the group that was divided, or void for a tile of the block of which the
// program did not write it down.
template <unsigned int Size, class Parent = void>
class thread_block_tile;

namespace details {

// What a tile's position is counted in: the block, unless the parent is a tile.
template <class Parent>
struct parent {
  static constexpr bool is_block = true;
  static __device__ unsigned int size() { return block_size(); }
};
template <unsigned int Size, class Grandparent>
struct parent<thread_block_tile<Size, Grandparent>> {
  static constexpr bool is_block = false;
  static __device__ unsigned int size() { return Size; }
};

}  // namespace details

template <unsigned int Size, class Parent>
class thread_block_tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 threads");

 public:
  thread_block_tile() = default;
  template <class Other>
  __device__ thread_block_tile(const thread_block_tile<Size, Other>&) {
    static_assert(details::parent<Other>::is_block, "a tile of a tile keeps its parent in its type");
  }

  static __device__ void sync() { __syncwarp(mask()); }
  static constexpr __device__ unsigned int size() { return Size; }
  static constexpr __device__ unsigned int num_threads() { return Size; }
  static __device__ unsigned int thread_rank() { return details::rank_in_block() % Size; }
  static __device__ unsigned int meta_group_rank() {
    return details::rank_in_block() % details::parent<Parent>::size() / Size;
  }
  static __device__ unsigned int meta_group_size() {
    return (details::parent<Parent>::size() + Size - 1) / Size;
  }

  template <class T>
  __device__ T shfl(T value, int rank) const {
    return details::exchange<details::shuffle_index, T>::run(mask(), value, rank, Size);
  }
  template <class T>
  __device__ T shfl_up(T value, unsigned int delta) const {
    return details::exchange<details::shuffle_up, T>::run(mask(), value, static_cast<int>(delta), Size);
  }
  template <class T>
  __device__ T shfl_down(T value, unsigned int delta) const {
    return details::exchange<details::shuffle_down, T>::run(mask(), value, static_cast<int>(delta), Size);
  }
  template <class T>
  __device__ T shfl_xor(T value, unsigned int rank_mask) const {
    return details::exchange<details::shuffle_xor, T>::run(mask(), value, static_cast<int>(rank_mask), Size);
  }
  __device__ int any(int predicate) const { return __any_sync(mask(), predicate); }
  __device__ int all(int predicate) const { return __all_sync(mask(), predicate); }
  __device__ unsigned int ballot(int predicate) const {
    return __ballot_sync(mask(), predicate) >> first_lane();
  }
  template <class T>
  __device__ unsigned int match_any(T value) const {
    return __match_any_sync(mask(), value) >> first_lane();
  }
  template <class T>
  __device__ unsigned int match_all(T value, int& all_equal) const {
    return __match_all_sync(mask(), value, &all_equal) >> first_lane();
  }

 private:
  static __device__ unsigned int mask() { return details::tile_mask(Size); }
  static __device__ unsigned int first_lane() { return details::lane() / Size * Size; }
};

template <unsigned int Size, class Parent>
inline __device__ thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return thread_block_tile<Size, Parent>();
}

// Lanes of a warp, of which the group knows only the mask. A thread's rank is
// the number of member lanes below its own.
class coalesced_group {
 public:
  explicit __device__ coalesced_group(unsigned int member_mask) : mask_(member_mask) {}
  __device__ void sync() const { __syncwarp(mask_); }
  __device__ unsigned int size() const { return static_cast<unsigned int>(__popc(mask_)); }
  __device__ unsigned int num_threads() const { return size(); }
  __device__ unsigned int thread_rank() const {
    return static_cast<unsigned int>(__popc(mask_ & ((1u << details::lane()) - 1u)));
  }
  static __device__ unsigned int meta_group_rank() { return 0; }
  static __device__ unsigned int meta_group_size() { return 1; }

  template <class T>
  __device__ T shfl(T value, unsigned int rank) const {
    return details::exchange<details::shuffle_index, T>::run(mask_, value, lane_of(rank), 32);
  }
  template <class T>
  __device__ T shfl_up(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shfl(value, rank >= delta ? rank - delta : rank);
  }
  template <class T>
  __device__ T shfl_down(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shfl(value, rank + delta < size() ? rank + delta : rank);
  }
  __device__ int any(int predicate) const { return __any_sync(mask_, predicate); }
  __device__ int all(int predicate) const { return __all_sync(mask_, predicate); }
  __device__ unsigned int ballot(int predicate) const { return packed(__ballot_sync(mask_, predicate)); }
  template <class T>
  __device__ unsigned int match_any(T value) const {
    return packed(__match_any_sync(mask_, value));
  }
  template <class T>
  __device__ unsigned int match_all(T value, int& all_equal) const {
    return packed(__match_all_sync(mask_, value, &all_equal));
  }

  // The member lanes.
  __device__ unsigned int members() const { return mask_; }

 private:
  // The lane of the member with this rank.
  __device__ int lane_of(unsigned int rank) const {
    unsigned int rest = mask_;
    for (unsigned int i = 0; i < rank; ++i) rest &= rest - 1u;
    return __ffs(static_cast<int>(rest)) - 1;
  }
  // A mask of lanes as a mask of ranks.
  __device__ unsigned int packed(unsigned int lanes) const {
    unsigned int ranks = 0;
    unsigned int bit = 0;
    for (unsigned int rest = mask_; rest != 0; rest &= rest - 1u, ++bit) {
      unsigned int lowest = rest & (0u - rest);
      if ((lanes & lowest) != 0) ranks |= 1u << bit;
    }
    return ranks;
  }

  unsigned int mask_;
};

inline __device__ coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

inline __device__ coalesced_group binary_partition(const coalesced_group& group, bool predicate) {
  unsigned int yes = __ballot_sync(group.members(), predicate);
  return coalesced_group(predicate ? yes : group.members() & ~yes);
}
template <unsigned int Size, class Parent>
inline __device__ coalesced_group binary_partition(const thread_block_tile<Size, Parent>&, bool predicate) {
  unsigned int members = details::tile_mask(Size);
  unsigned int yes = __ballot_sync(members, predicate);
  return coalesced_group(predicate ? yes : members & ~yes);
}
template <class Label>
inline __device__ coalesced_group labeled_partition(const coalesced_group& group, Label label) {
  return coalesced_group(__match_any_sync(group.members(), label));
}
template <unsigned int Size, class Parent, class Label>
inline __device__ coalesced_group labeled_partition(const thread_block_tile<Size, Parent>&, Label label) {
  return coalesced_group(__match_any_sync(details::tile_mask(Size), label));
}

// A group whose kind is known only when the program runs: the block, or a
// tile of it.
class thread_group {
 public:
  __device__ thread_group(const thread_block&) : tile_size_(0) {}
  template <unsigned int Size, class Parent>
  __device__ thread_group(const thread_block_tile<Size, Parent>&) : tile_size_(Size) {}
  explicit __device__ thread_group(unsigned int tile_size) : tile_size_(tile_size) {}
  __device__ void sync() const {
    if (tile_size_ == 0) {
      __syncthreads();
    } else {
      __syncwarp(details::tile_mask(tile_size_));
    }
  }
  __device__ unsigned int size() const { return tile_size_ == 0 ? details::block_size() : tile_size_; }
  __device__ unsigned int num_threads() const { return size(); }
  __device__ unsigned int thread_rank() const { return details::rank_in_block() % size(); }

 private:
  unsigned int tile_size_;
};

inline __device__ thread_group tiled_partition(const thread_group&, unsigned int tile_size) {
  return thread_group(tile_size);
}

// Free forms of the members.
template <class Group>
inline __device__ void sync(const Group& group) {
  group.sync();
}
template <class Group>
inline __device__ unsigned int thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
inline __device__ unsigned int group_size(const Group& group) {
  return group.size();
}

}  // namespace cooperative_groups
