#include "fmi/fmu.h"
cpl_status cpli_fmu_extract(cpl_fmu* fmu) { (void)fmu; return CPL_OK; }
