# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# Labels of tests, for ctest -L. A test has label "fast" unless a pattern of SLOW_TESTS matches its name and none of FAST_TESTS
# does, and label "threads" where one of THREADED_TESTS matches. All tests of label fast together take less than 20 s on two
# cores: what takes more than about a second alone belongs into the first table.
set(SLOW_TESTS
  "^(browser|foreign|cli|examples|export|install|property|python|tlm)/" # they compile models, or start the command many times
  "^aggregate/(directional|event_order|parallel|serialize)$"
  "^analysis/large$"
  "^base/child$"
  "^assemble/(follow|isolate_same|snapshot|switching_loop|tlm)$"
  "^fit/fmu$"
  "^fmi/(image|library|mutation)$"
  "^format/number$"
  "^master/(edges|tables|updates)$"
  "^model/(compiled|table)$"
  "^modes/(modes|steppers|system|varying_system)$"
  "^project/(compare_monolithic|documents|measured_documents|run_example)$"
  "^results/(read|results)$"
  "^solver/(jumps|projection|quadrature|restarts|steep)$"
  "^study/(cluster|executor|kill)$"
  "^system/file$"
  "^tangent/(constructs|examples|random)$"
  "^view/diagram$"
  )
set(FAST_TESTS
  "^cli/(arrays|foreign|info|input|input_values|linearize_way|live|plot|run|scheduled|view)$"
  "^examples/two_masses$"
  "^export/(constraints|dae|description)$"
  "^python/run$"
  "^tlm/(cancel|joinfile|saved)$"
  )
set(THREADED_TESTS
  "^(base|master|study|tlm|view)/"
  "^aggregate/parallel$"
  "^assemble/(cosimulation|isolate_overlap|tlm)$"
  "^model/(compiled|isolate)$"
  "^fmi/fmi2_calls$"
  "^export/co_simulation$"
  "^examples/(cosimulation|pendulums|threads|tlm.*)$"
  "^cli/(hostile|isolate|live|master|threads|tlm_net)$"
  )

function(cpl_matches name patterns result)
  set(${result} FALSE PARENT_SCOPE)
  foreach(pattern ${patterns})
    if(name MATCHES "${pattern}")
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Labels the tests of the current folder.
function(cpl_label_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test ${tests})
    cpl_matches(${test} "${SLOW_TESTS}" slow)
    cpl_matches(${test} "${FAST_TESTS}" fast)
    cpl_matches(${test} "${THREADED_TESTS}" threaded)
    set(labels "")
    if(fast OR NOT slow)
      list(APPEND labels fast)
      string(REGEX REPLACE "/.*" "" room ${test})
      set_property(GLOBAL APPEND PROPERTY FAST_ROOMS ${room})
    endif()
    if(threaded)
      list(APPEND labels threads)
    endif()
    set_tests_properties(${test} PROPERTIES LABELS "${labels}")
  endforeach()
endfunction()

# Fails where a room of the sources has no test of label fast.
function(cpl_check_fast_rooms)
  get_property(covered GLOBAL PROPERTY FAST_ROOMS)
  file(GLOB rooms LIST_DIRECTORIES TRUE RELATIVE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/src/*)
  foreach(room ${rooms} cli)
    if(NOT room IN_LIST covered AND NOT room STREQUAL "README.md")
      message(FATAL_ERROR "no test of ${room} has the label fast; see tests/labels.cmake")
    endif()
  endforeach()
endfunction()
