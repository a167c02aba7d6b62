// Full disks, in C and C++: a second folder, a callback that makes room, one that does not, and one that throws. With a folder as
// argument, in which file systems of this process's own are mounted.
#include <cotangent/tape.hpp>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "require.h"

namespace tape = cotangent::tape;

// A disk with room for eight megabytes.
static std::string disk(const std::string& folder) {
  REQUIRE(mkdir(folder.c_str(), 0700) == 0);
  REQUIRE(mount("none", folder.c_str(), "tmpfs", 0, "size=8m") == 0);
  return folder;
}

static void occupy(const std::string& folder, std::size_t megabytes) {
  std::ofstream(folder + "/others") << std::string(megabytes << 20, 'x');
}

static cotangent_tape_options options(const std::string& folder, const char* const* more) {
  cotangent_tape_options options = {};
  options.slab_bytes = 64 << 10;
  options.budget_bytes = 512 << 10;
  options.spill = folder.c_str();
  options.spill_more = more;
  return options;
}

// So many megabytes to and fro; the status after the first half.
static std::uint32_t sweep(tape::Lane& lane, int megabytes) {
  tape::Cursor cursor(lane);
  const int count = megabytes << 17;
  for (int i = 0; i < count; ++i) cursor.push(double(i));
  if (lane.status() != COTANGENT_TAPE_OK) return lane.status();
  for (int i = count; i-- > 0;) REQUIRE(cursor.pop<double>() == i);
  return lane.status();
}

struct Removal {
  std::string folder;
  int calls = 0;

  static int remove(void* context, const char* folder) {
    Removal* self = static_cast<Removal*>(context);
    REQUIRE(folder == self->folder);
    ++self->calls;
    return std::remove((self->folder + "/others").c_str()) == 0;
  }
};

static void the_second_folder_takes_what_the_first_has_no_room_for(const std::string& first, const std::string& second) {
  const char* const more[] = {second.c_str(), nullptr};
  tape::Tape shared(options(first, more));
  tape::Lane lane(shared);
  REQUIRE(sweep(lane, 12) == COTANGENT_TAPE_OK);
  lane.clear();
  REQUIRE(sweep(lane, 20) == COTANGENT_TAPE_DISK_FULL);
  const std::string about = cotangent_lane_folder(lane.get());
  REQUIRE(about == first || about == second);
}

static void the_sweep_goes_on_when_there_is_room_again(const std::string& folder) {
  occupy(folder, 6);
  Removal removal{folder};
  cotangent_tape_options with = options(folder, nullptr);
  with.full = Removal::remove;
  with.context = &removal;
  cotangent_tape* shared;
  REQUIRE(cotangent_tape_open(&with, &shared) == COTANGENT_TAPE_OK);
  cotangent_lane* lane = cotangent_lane_open(shared);
  const int count = 6 << 17;
  for (int i = 0; i < count; ++i) COTANGENT_TAPE_PUSH(lane, i);
  for (int i = count; i-- > 0;) {
    int value;
    COTANGENT_TAPE_POP(lane, value);
    REQUIRE(value == i);
  }
  REQUIRE(removal.calls == 1);
  // Nothing is left to be removed.
  for (int i = 0; i < 4 * count; ++i) COTANGENT_TAPE_PUSH(lane, i);
  REQUIRE(removal.calls == 2 && cotangent_lane_status(lane) == COTANGENT_TAPE_DISK_FULL);
  cotangent_lane_close(lane);
  cotangent_tape_close(shared);
}

static void a_callback_may_throw(const std::string& folder) {
  cotangent_tape_options with = options(folder, nullptr);
  with.full = [](void*, const char*) -> int { throw std::runtime_error("no room, no patience"); };
  tape::Tape shared(with);
  tape::Lane lane(shared);
  REQUIRE(sweep(lane, 20) == COTANGENT_TAPE_DISK_FULL);
  try {
    lane.check();
    REQUIRE(false);
  } catch (const std::runtime_error& error) {
    REQUIRE(std::string(error.what()) == "no room, no patience");
  }
}

static void every_folder_is_tried_when_the_tape_is_opened(const std::string& folder) {
  const char* const more[] = {"/nowhere/at/all", nullptr};
  try {
    tape::Tape shared(options(folder, more));
    REQUIRE(false);
  } catch (const tape::Error& error) {
    REQUIRE(error.status == COTANGENT_TAPE_DISK);
    REQUIRE(std::string(error.what()).find(", /nowhere/at/all: No such file") != std::string::npos);
  }
}

int main(int count, char** arguments) {
  if (count < 2) return 0;
  REQUIRE(unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
  REQUIRE(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
  const std::string folder = arguments[1];
  const std::string first = disk(folder + "/first"), second = disk(folder + "/second");
  the_second_folder_takes_what_the_first_has_no_room_for(first, second);
  the_sweep_goes_on_when_there_is_room_again(first);
  a_callback_may_throw(second);
  every_folder_is_tried_when_the_tape_is_opened(first);
}
