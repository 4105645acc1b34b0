#pragma once

// What the tests need of the system and Swift does not import.

#include <spawn.h>
#include <stddef.h>
#include <sys/types.h>

/// Opens the master of a new pseudo-terminal and writes the path of its other end. -1: none.
int pseudo_terminal_open(char *name, size_t capacity);

/// A descriptor that becomes readable when the process ends.
int pseudo_terminal_watch(pid_t process);

/// Lets the spawned process start in `directory`.
int pseudo_terminal_start_in(posix_spawn_file_actions_t *actions, const char *directory);

/// Closes a descriptor and all above it in the spawned process.
int pseudo_terminal_close_from(posix_spawn_file_actions_t *actions, int descriptor);

/// Removes a folder and everything in it.
void pseudo_terminal_remove_folder(const char *path);
