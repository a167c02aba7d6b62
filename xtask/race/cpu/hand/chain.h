// The gradient of a chain of calls by hand: value and slope go up the chain together.
template <int Depth>
inline double chain_by_hand(double x, double* dx) {
  double value = x, slope = 1;
  for (int link = 0; link < Depth; ++link) {
    slope *= 1 - 0.3 * value * value;
    value = value - 0.1 * value * value * value;
  }
  *dx += slope;
  return value;
}
