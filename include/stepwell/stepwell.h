// Everything a training program needs.
#pragma once

#include "stepwell/config.h"
#include "stepwell/engine.h"
#include "stepwell/log.h"
#include "stepwell/report.h"
#include "stepwell/status.h"
#include "stepwell/zero.h"
