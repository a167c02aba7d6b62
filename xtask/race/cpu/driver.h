// What the program of one work does: checks every contestant, then lets them take turns. Or, with a contestant's name, runs
// that one once and says how much memory the process has taken at most.
#pragma once

#include "race.h"

struct Race {
  Work& work;
  const Entry& primal;
  const Entry& by_hand;

  std::vector<double> gradient() const {
    std::vector<Numbers> parts;
    for (const Input& input : work.inputs()) parts.push_back(input.gradient);
    return copied(parts);
  }

  // Of the gradient along one direction, by hand, against central differences of the function. What the function does not
  // resolve is not a difference: the step's own error is of the order of its square.
  double against_differences() {
    work.reset();
    by_hand.run(work);
    const std::vector<Input> inputs = work.inputs();
    std::vector<std::vector<double>> directions;
    double expected = 0, scale = 0;
    for (const Input& input : inputs) {
      directions.push_back(random_numbers(input.values.count, -1, 1));
      for (size_t i = 0; i < input.gradient.count; ++i) {
        const double term = input.gradient.data[i] * directions.back()[i % input.values.count];
        expected += term;
        scale += fabs(term);
      }
    }
    const double step = 1e-6;
    double found = 0;
    for (const int sign : {1, -1}) {
      work.reset();
      for (size_t k = 0; k < inputs.size(); ++k)
        for (size_t i = 0; i < inputs[k].values.count; ++i) inputs[k].values.data[i] += sign * step * directions[k][i];
      primal.run(work);
      found += sign * work.objective() / (2 * step);
      for (size_t k = 0; k < inputs.size(); ++k)
        for (size_t i = 0; i < inputs[k].values.count; ++i) inputs[k].values.data[i] -= sign * step * directions[k][i];
    }
    return fabs(found - expected) / scale;
  }

  // Gradient, value and state of each contestant against what they must be.
  void check() {
    printf("differences\t%.3e\n", against_differences());
    work.reset();
    const std::vector<double> before = copied(work.overwritten());
    primal.run(work);
    const std::vector<double> after = copied(work.overwritten()), value = copied(work.values());
    work.reset();
    by_hand.run(work);
    const std::vector<double> expected = gradient();
    for (const Entry& entry : Entry::all()) {
      if (&entry == &primal) continue;
      work.reset();
      entry.run(work);
      const std::vector<double> state = copied(work.overwritten());
      const double of_value = entry.value == Value::Returned ? difference(value, copied(work.values())) : 0;
      const double of_state = entry.state == State::Kept         ? difference(after, state)
                              : entry.state == State::RolledBack ? difference(before, state)
                                                                 : 0;
      printf("errors\t%s\t%s\t%.3e\t%.3e\t%.3e\n", entry.name, name_of(entry.value), difference(expected, gradient()),
             of_value, of_state);
    }
    fflush(stdout);
  }

  // As many rounds as fit into the time, five at least. A short one runs just before it is timed too, so that it meets
  // caches and free memory as it leaves them itself, and not as whoever came before it does; a long one gets new pages
  // from the system each time anyway.
  void take_turns(double budget) {
    std::vector<std::vector<double>> times(Entry::all().size());
    double spent = 0;
    for (int round = 0; round < 5 || (spent < budget && round < 1000); ++round)
      for (size_t i = 0; i < times.size(); ++i) {
        work.reset();
        if (round == 0 || times[i].back() < 0.05) {
          Entry::all()[i].run(work);
          work.reset();
        }
        times[i].push_back(timed(work, Entry::all()[i]));
        spent += times[i].back();
      }
    for (size_t i = 0; i < times.size(); ++i) {
      std::sort(times[i].begin(), times[i].end());
      const Entry& entry = Entry::all()[i];
      const auto part = [&](double share) { return times[i][static_cast<size_t>(share * (times[i].size() - 1))]; };
      printf("time\t%s\t%s\t%.9g\t%.9g\n", entry.name, name_of(entry.value), part(0), part(0.75));
    }
  }

  static const char* name_of(Value value) { return value == Value::Dropped ? "dropped" : "returned"; }
};

inline const Entry& entry_named(const std::string& name, const std::string& value) {
  for (const Entry& entry : Entry::all())
    if (entry.name == name && Race::name_of(entry.value) == value) return entry;
  fprintf(stderr, "there is no contestant `%s`\n", name.c_str());
  exit(2);
}

// The most memory that this process has had. Not `getrusage`, which also counts what the caller had before `exec`.
inline long peak_kilobytes() {
  long kilobytes = 0;
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &kilobytes);
  if (status) fclose(status);
  return kilobytes;
}

// `check SIZES`, `race CORE SECONDS SIZES` or `memory CONTESTANT VALUE SIZES`.
inline int drive(int count, char** words) {
  const std::string task = count > 1 ? words[1] : "";
  const int first_size = task == "check" ? 2 : 4;
  std::vector<int> sizes;
  for (int i = first_size; i < count; ++i) sizes.push_back(atoi(words[i]));
  Work work(sizes);
  if (task == "memory") {
    work.reset();
    entry_named(words[2], words[3]).run(work);
    printf("memory\t%ld\t%.0f\n", peak_kilobytes(), work.updates());
    return 0;
  }
  Race race{work, entry_named("function", "returned"), entry_named("by hand", "returned")};
  if (task == "check") {
    race.check();
    return 0;
  }
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(atoi(words[2]), &cores);
  sched_setaffinity(0, sizeof cores, &cores);
  race.take_turns(atof(words[3]));
  return 0;
}
