# SPDX-License-Identifier: Apache-2.0
# cmake --build --preset coverage --target coverage-report: what the tests that ran so far have covered, by file and in
# sum.
# ./check --coverage does all of it.
find_program(RH_LCOV lcov)
find_program(RH_GENHTML genhtml)
find_package(Python3 QUIET COMPONENTS Interpreter)
if(RH_LCOV AND RH_GENHTML AND Python3_FOUND AND CMAKE_C_FLAGS MATCHES "--coverage")
  set(info "${PROJECT_BINARY_DIR}/coverage.info")
  add_custom_target(coverage-report
    COMMAND "${RH_LCOV}" --quiet --capture --rc lcov_branch_coverage=1 --directory "${PROJECT_BINARY_DIR}"
            --base-directory "${PROJECT_SOURCE_DIR}" --no-external --output-file "${info}"
    COMMAND "${RH_LCOV}" --quiet --rc lcov_branch_coverage=1 --extract "${info}"
            "${PROJECT_SOURCE_DIR}/core/*" "${PROJECT_SOURCE_DIR}/plugins/*" "${PROJECT_SOURCE_DIR}/comm/*"
            --output-file "${info}"
    COMMAND "${RH_LCOV}" --rc lcov_branch_coverage=1 --list "${info}"
    COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/coverage.py" "${info}"
    COMMAND "${RH_GENHTML}" --quiet --branch-coverage --output-directory "${PROJECT_BINARY_DIR}/coverage" "${info}"
    COMMENT "Line and branch coverage; pages in ${PROJECT_BINARY_DIR}/coverage"
    VERBATIM)
endif()
