# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
set(CPL_DATA "${CMAKE_BINARY_DIR}/lib/couplet")
# configure_file takes a folder that is not there for the name of a file
file(MAKE_DIRECTORY "${CPL_DATA}/include/couplet" "${CPL_DATA}/include/fmi")
file(GLOB MODEL_HEADERS CONFIGURE_DEPENDS include/couplet/model.h)
file(GLOB FMI_HEADERS CONFIGURE_DEPENDS src/fmi/headers/*.h)
foreach(header ${MODEL_HEADERS})
  configure_file(${header} ${CPL_DATA}/include/couplet/ COPYONLY)
endforeach()
foreach(header ${FMI_HEADERS})
  configure_file(${header} ${CPL_DATA}/include/fmi/ COPYONLY)
endforeach()
