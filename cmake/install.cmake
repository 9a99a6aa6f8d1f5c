# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# What `make install` puts in place. Everything finds everything else by its own place, so the
# installed tree may be moved.
include(CMakePackageConfigHelpers)

#------------------------------------ static library ------------------------------------

# One object with SUNDIALS inside and every name but cpl_* made local: a program that links it can
# have a SUNDIALS of its own, and sees the same names as in the shared library.
set(CPL_STATIC_DIR "${CMAKE_BINARY_DIR}/static")
set(static_object "${CPL_STATIC_DIR}/couplet.o")
set(CPL_STATIC "${CPL_STATIC_DIR}/libcouplet.a")
file(MAKE_DIRECTORY "${CPL_STATIC_DIR}")
set(objects "$<FILTER:$<TARGET_OBJECTS:couplet_objects>,INCLUDE,[.]o$>") # without a precompiled header
add_custom_command(OUTPUT ${CPL_STATIC}
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${static_object}
    ${objects} ${DUKTAPE} ${SUNDIALS_LIBS}
  COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=cpl_*" ${static_object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${CPL_STATIC}
  COMMAND ${CMAKE_AR} qcD ${CPL_STATIC} ${static_object}
  COMMAND ${CMAKE_RANLIB} -D ${CPL_STATIC}
  DEPENDS couplet_objects ${DUKTAPE} ${objects} ${SUNDIALS_LIBS}
  COMMAND_EXPAND_LISTS VERBATIM)

#------------------------------------ man page, completion ------------------------------------

add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/couplet.1
  COMMAND couplet_cli --man > ${CMAKE_BINARY_DIR}/couplet.1 DEPENDS couplet_cli)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/couplet.bash
  COMMAND couplet_cli --completion > ${CMAKE_BINARY_DIR}/couplet.bash DEPENDS couplet_cli)
add_custom_target(couplet_extras ALL DEPENDS ${CPL_STATIC} ${CMAKE_BINARY_DIR}/couplet.1
  ${CMAKE_BINARY_DIR}/couplet.bash)

#------------------------------------ for pkg-config and CMake ------------------------------------

set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/couplet")
file(RELATIVE_PATH PC_PREFIX "/x/${pkgconfig_dir}" "/x")
string(REGEX REPLACE "/$" "" PC_PREFIX "${PC_PREFIX}")
configure_file(cmake/couplet.pc.in couplet.pc @ONLY)
configure_package_config_file(cmake/couplet-config.cmake.in couplet-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/couplet-config-version.cmake
  COMPATIBILITY SameMinorVersion) # until 1.0 a minor version may break callers

#------------------------------------ install ------------------------------------

install(TARGETS couplet_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS couplet_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CPL_STATIC} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/couplet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${CPL_DATA} DESTINATION lib USE_SOURCE_PERMISSIONS)
install(FILES ${CMAKE_BINARY_DIR}/couplet.pc DESTINATION ${pkgconfig_dir})
install(FILES ${CMAKE_BINARY_DIR}/couplet-config.cmake
  ${CMAKE_BINARY_DIR}/couplet-config-version.cmake DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/couplet.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_BINARY_DIR}/couplet.bash RENAME couplet
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
