// The derivative of 4,000,000 steps of x = x + h sin(x), by hand: what the reverse sweep wants back is on a tape of 8 MiB of
// memory, and on disk if a folder is named.
#include <math.h>
#include <stdio.h>

#include <cotangent/tape.h>

static void report(void* context, const cotangent_tape_progress* progress) {
  uint64_t* most_on_disk = (uint64_t*)context;
  if (progress->bytes_on_disk > *most_on_disk) *most_on_disk = progress->bytes_on_disk;
}

int main(int argc, char** argv) {
  const int steps = 4000000;
  const double h = 1e-6;
  uint64_t most_on_disk = 0;
  cotangent_tape_options options = {0};
  options.progress = report;
  options.context = &most_on_disk;
  if (argc > 1) {
    options.budget_bytes = (size_t)8 << 20;
    options.spill = argv[1];
  }
  cotangent_tape* tape;
  uint32_t status = cotangent_tape_open(&options, &tape);
  if (status != COTANGENT_TAPE_OK) {
    fprintf(stderr, "%s\n", cotangent_tape_message(status));
    return 1;
  }
  cotangent_lane* lane = cotangent_lane_open(tape);

  const double x0 = 0.3;
  double x = x0;
  for (int i = 0; i < steps; ++i) {
    COTANGENT_TAPE_PUSH(lane, x);
    x += h * sin(x);
  }
  double d_x = 1;
  for (int i = steps; i-- > 0;) {
    double before;
    COTANGENT_TAPE_POP(lane, before);
    d_x *= 1 + h * cos(before);
  }
  status = cotangent_lane_status(lane);
  if (status != COTANGENT_TAPE_OK) {
    fprintf(stderr, "%s\n", cotangent_tape_message(status));
    return 1;
  }

  // In the limit of small steps the derivative is sin(x) / sin(x0).
  const double exact = sin(x) / sin(x0);
  printf("derivative %.4f, exact for small steps %.4f\n", d_x, exact);
  printf("on disk at most: %s\n", most_on_disk > 0 ? "more than nothing" : "nothing");
  cotangent_lane_close(lane);
  cotangent_tape_close(tape);
  return fabs(d_x / exact - 1) < 1e-4 && (most_on_disk > 0) == (argc > 1) ? 0 : 1;
}
