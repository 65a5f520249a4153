// The summary of a run for people.
#pragma once

#include <string>

#include "tools/train/records.h"

namespace stepwell::train {

std::string summary_text(const Summary& summary);

}  // namespace stepwell::train
