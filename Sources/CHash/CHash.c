#include "CHash.h"
