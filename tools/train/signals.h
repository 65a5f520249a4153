// Ctrl-C, SIGTERM and SIGHUP: the first asks the run to end after the current step, the second ends
// the process at once, taking what was registered here with it.
#pragma once

#include <string>
#include <vector>

namespace stepwell::train {

/// Handles SIGINT, SIGTERM and SIGHUP from now on, unless they are ignored; a closed pipe becomes
/// an error of the write. Call once.
void install_signal_handlers();

/// The signal that asked to stop, or 0. Thread-safe.
int stop_signal();

/// Files that a second signal removes, if they are there, before it ends the process; the last call
/// counts. At most 64.
void remove_files_at_once(const std::vector<std::string>& paths);
/// The same for a folder, removed after the files and only when empty.
void remove_folder_at_once(const std::string& path);

}  // namespace stepwell::train
