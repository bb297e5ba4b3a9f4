# Installs a build into a scratch folder, builds the consumer against it and runs it.
#   cmake -DBUILD=... -DSOURCE=... -DCOMPILER=... -P test.cmake
set(scratch "${BUILD}/consumer_test")
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${scratch}")
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${scratch}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${scratch}/build -G Ninja -DCMAKE_PREFIX_PATH=${scratch}/prefix
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${scratch}/build)
run(${scratch}/build/consumer)
file(REMOVE_RECURSE "${scratch}")
