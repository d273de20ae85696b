#!/usr/bin/env bash
# run.sh PYTHON SCRIPT ARGUMENTS...: a comparison with the rival, skipped (77) where that is not installed.
[[ -x $1 ]] || { echo "skipped: no rival in build/bench-venv; ./umbel test installs it"; exit 77; }
# Kernels live as long as the script, which renders a scene many times.
UMBEL_CACHE=$(mktemp -d) && export UMBEL_CACHE && trap 'rm -rf "$UMBEL_CACHE"' EXIT
for library in "${DRJIT_LIBLLVM_PATH:-}" /usr/lib/*/libLLVM*19*.so* /usr/lib/llvm-19/lib/libLLVM*.so*; do
    [[ -f $library ]] && export DRJIT_LIBLLVM_PATH=$library && break
done
"$1" "${@:2}"
