// Rules for Cotangent, stated in the program they are about. To every other compiler these are aliases of types that
// nobody uses: nothing runs, nothing is in the object file. C++17; include it as <cotangent/rules.hpp>.
//
//   COTANGENT_PULLBACK(f, f_pullback);                the derivative of f is what f_pullback says
//   COTANGENT_RULE(f, f_augmented, f_reverse);        the same in two halves, with a record between them
//   COTANGENT_CONSTANT(f);                            calls of f carry no derivative
//   COTANGENT_PUSHFORWARD(f, f_pushforward);          the same for forward mode, beside one of the others
//
// Outside functions. An instantiation is named by its arguments, COTANGENT_PULLBACK(f<float, 3>, f_pullback<float, 3>),
// an overload by a cast, COTANGENT_CONSTANT(static_cast<float (*)(float)>(f)), a member function as &S::f.
// docs/rules.md says which signatures are expected.
#pragma once

namespace cotangent {
template <auto Function, auto FunctionPullback>
struct Pullback;
template <auto Function, auto FunctionAugmented, auto FunctionReverse>
struct Rule;
template <auto Function>
struct Constant;
template <auto Function, auto FunctionPushforward>
struct Pushforward;
}  // namespace cotangent

#define COTANGENT_JOIN_WORDS(first, second) first##second
#define COTANGENT_JOIN(first, second) COTANGENT_JOIN_WORDS(first, second)
#define COTANGENT_STATE(...) using COTANGENT_JOIN(cotangent_rule_, __COUNTER__) = ::cotangent::__VA_ARGS__

#define COTANGENT_PULLBACK(...) COTANGENT_STATE(Pullback<__VA_ARGS__>)
#define COTANGENT_RULE(...) COTANGENT_STATE(Rule<__VA_ARGS__>)
#define COTANGENT_CONSTANT(...) COTANGENT_STATE(Constant<__VA_ARGS__>)
#define COTANGENT_PUSHFORWARD(...) COTANGENT_STATE(Pushforward<__VA_ARGS__>)
