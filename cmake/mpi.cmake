# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# lib/couplet/mpi.so, for runs and studies on clusters: loaded where a process was started by mpirun or srun as one of several.
# Nothing else links MPI.
set(CPL_MPI "AUTO" CACHE STRING "Runs and studies on clusters: ON, OFF, or AUTO: where MPI is found")
set(CPL_MPIRUN "") # the tests start their processes with it
if(CPL_SANITIZE STREQUAL "thread" OR CPL_VALGRIND) # they do not know what MPI does
  return()
endif()
if(CPL_FUZZ OR (NOT CPL_MPI AND NOT CPL_MPI STREQUAL "AUTO"))
  return()
endif()
find_package(MPI QUIET COMPONENTS C)
if(NOT MPI_C_FOUND)
  if(NOT CPL_MPI STREQUAL "AUTO")
    message(FATAL_ERROR "MPI is not found: scripts/setup --clusters installs Open MPI, or use -DCPL_MPI=OFF")
  endif()
  return()
endif()
add_library(couplet_mpi MODULE src/base/mpi/module.c)
target_include_directories(couplet_mpi PRIVATE src)
target_link_libraries(couplet_mpi PRIVATE MPI::MPI_C)
set_target_properties(couplet_mpi PROPERTIES PREFIX "" OUTPUT_NAME mpi LIBRARY_OUTPUT_DIRECTORY "${CPL_DATA}")
set(CPL_MPIRUN "${MPIEXEC_EXECUTABLE}")
