// `stepwell train`: a small decoder trained through the engine, watched, measured and summed up.
#pragma once

#include "tools/train/options.h"

namespace stepwell::train {

/// Returns an exit status. Wrong input is reported here (one line on standard error); what fails
/// while running is thrown as stepwell::Error, with nothing left behind.
int run_train(const TrainOptions& options);

}  // namespace stepwell::train
