#!/usr/bin/env bash
# support/run_on_gpu.sh: runs test programs of `./umbel package --tests` on this machine's GPU: tests whose names end in a backend or
# variant of CUDA.
#
#   run [PROGRAM...]      in the source's folder, whose scenes and files the tests read; without names, all programs
#
# UMBEL_TEST_SHARDS=8 runs as many parts of a program at a time, 4 otherwise. Logs go to the folder LOGS, or to test-logs.
set -uo pipefail
folder=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
logs=${LOGS:-test-logs} shards=${UMBEL_TEST_SHARDS:-4} failed=0
mkdir -p "$logs"
export LD_LIBRARY_PATH=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} UMBEL_TEST_BACKENDS=cuda UMBEL_CACHE=
# Not on GPUs: functions of the host that return something, sums in the order of lanes, local arrays of more than 512 KiB, algorithms
# that are not kernels
left_out=*HostFunctionsSee*:*HostCallsAreReplayed*:*ErrorsOfHostFunctions*:*ResultsOfFailedKernels*
left_out+=:*SumsAtTheTopLevelRunInLaneOrder*:*SeveralLocalArrays*:*HistoryListsAlgorithms*

(($#)) || set -- $(cd "$folder" && echo test_*)
for program; do
    jobs=()
    for ((k = 0; k < shards; ++k)); do
        GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$k "$folder/$program" --gtest_filter="*/cuda*:*/*cuda_*-$left_out" \
            --gtest_brief=1 >"$logs/$program.$k.log" 2>&1 &
        jobs+=($!)
    done
    for k in "${!jobs[@]}"; do
        wait "${jobs[k]}"
        status=$?
        ((status)) && failed=1
        printf '%s %d: exit code %d: %s\n' "$program" "$k" "$status" "$(tail -n 1 "$logs/$program.$k.log")"
    done
done
exit $failed
