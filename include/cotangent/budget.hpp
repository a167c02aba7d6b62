// How much memory the checkpoints of a derivative may take. docs/checkpoints.md is the manual.
//
//   cotangent::gradient(f, "u", cotangent::budget("2GiB").pinned("16GiB").disk("scratch", "200GiB"))    for this request, or
//   COTANGENT_BUDGET=2GiB COTANGENT_PINNED=16GiB COTANGENT_DISK=scratch:200GiB ./program                 for all that state none
#pragma once

#include <cotangent/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

namespace cotangent {

// `2GiB`, `300MiB` or a number of bytes, as a number.
inline std::size_t bytes_of(const std::string& text) {
  static const struct {
    const char* name;
    double bytes;
  } units[] = {{"", 1},           {"B", 1},    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
               {"TiB", 1099511627776.0}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_number = end != text.c_str() && number >= 0;
  while (*end == ' ') ++end;
  for (const auto& unit : units) {
    if (is_number && number * unit.bytes < 9e18 && std::strcmp(end, unit.name) == 0) {
      return static_cast<std::size_t>(number * unit.bytes);
    }
  }
  COTANGENT_FAIL("`" + text + "` is no number of bytes: write 2GiB, 300MiB or 65536");
  return 0;
}

// How far a loop has come that is run again from checkpoints.
struct Progress {
  bool is_forward = true;           // in the forward sweep; otherwise a step before the one that is reversed next
  std::size_t step = 0;
  std::size_t steps = 0;            // in all, as far as that is known
  std::uint64_t steps_run = 0;
  std::size_t bytes_in_memory = 0;  // of states
  std::size_t bytes_pinned = 0;
  std::size_t bytes_on_disk = 0;
  double seconds = 0;
  double seconds_left = -1;         // negative where nothing tells
};

// What the last loop of this thread that was run again from checkpoints has cost.
struct StepsReport {
  std::uint64_t steps_run = 0;       // the forward sweep's, those that were run again, and one for each step to record it
  std::size_t state_bytes = 0;       // of one state
  std::size_t states_in_memory = 0;  // at most, at a time
  std::size_t states_pinned = 0;
  std::size_t states_on_disk = 0;
};
inline StepsReport& steps_report() {
  static thread_local StepsReport report;
  return report;
}

// Memory for checkpoints, beyond the program's own arrays and their adjoints: the GPU's, pinned memory of the host for what it has no
// room for, and a folder for what neither has.
struct Budget {
  static constexpr std::size_t kUnlimited = ~std::size_t{0};

  std::size_t memory = kUnlimited;
  // In their place so many states, however large they are.
  std::size_t states = 0;
  std::size_t in_pinned = 0;
  std::string folder;
  std::size_t on_disk = 0;
  // Whether states are compressed on their way to disk, as long as that pays.
  bool is_compressed = false;
  // How many steps run in the time that it takes to write a state to disk, or to read it. The schedule keeps no more there than pays.
  double disk_cost = 1;
  // Called about once a second, by the thread of the gradient; false ends the gradient with an error.
  std::function<bool(const Progress&)> progress;

  Budget watched(std::function<bool(const Progress&)> watch) const {
    Budget with_progress = *this;
    with_progress.progress = std::move(watch);
    return with_progress;
  }
  Budget pinned(const std::string& bytes) const {
    Budget with_pinned = *this;
    with_pinned.in_pinned = bytes_of(bytes);
    return with_pinned;
  }
  Budget compressed() const {
    Budget with_compression = *this;
    with_compression.is_compressed = true;
    return with_compression;
  }
  Budget disk(const std::string& into, const std::string& bytes, double cost = 1) const {
    Budget with_disk = *this;
    with_disk.disk_cost = cost;
    with_disk.folder = into;
    with_disk.on_disk = bytes_of(bytes);
    return with_disk;
  }
};

// `2GiB`, or `20 states`.
inline Budget budget(const std::string& memory) {
  Budget stated;
  const std::size_t unit = memory.find(" states");
  if (unit != std::string::npos && unit + std::strlen(" states") == memory.size()) {
    stated.states = std::max<std::size_t>(bytes_of(memory.substr(0, unit)), 1);
  } else {
    stated.memory = bytes_of(memory);
  }
  return stated;
}

// Whether a variable of the environment says yes.
inline bool is_on(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

// What the environment says: COTANGENT_BUDGET, COTANGENT_PINNED, COTANGENT_DISK as a folder, a colon and a number of bytes,
// COTANGENT_DISK_COST and COTANGENT_COMPRESS.
inline Budget stated_budget() {
  const char* const memory = std::getenv("COTANGENT_BUDGET");
  const char* const pinned = std::getenv("COTANGENT_PINNED");
  const char* const disk = std::getenv("COTANGENT_DISK");
  Budget stated = memory != nullptr ? budget(memory) : Budget();
  if (pinned != nullptr) stated = stated.pinned(pinned);
  stated.is_compressed = is_on("COTANGENT_COMPRESS");
  if (disk == nullptr) return stated;
  const std::string text = disk;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    COTANGENT_FAIL("COTANGENT_DISK=" + text + " names no folder and size: write scratch:200GiB");
    return stated;
  }
  const char* const cost = std::getenv("COTANGENT_DISK_COST");
  return stated.disk(text.substr(0, colon), text.substr(colon + 1), cost != nullptr ? std::atof(cost) : 1);
}

// That of the gradients which this thread calls from now on.
inline Budget& current_budget() {
  static thread_local Budget budget = stated_budget();
  return budget;
}

// A budget for as long as this lives.
class Within {
 public:
  explicit Within(const Budget& budget) : before_(current_budget()) { current_budget() = budget; }
  ~Within() { current_budget() = before_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  Budget before_;
};

}  // namespace cotangent
