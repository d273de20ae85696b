#!/usr/bin/env bash
# .ci/manylinux.sh PREFIX: what Umbel is built with, for an image of manylinux_2_28, into PREFIX.
#
# Its distribution has older versions of most of it. LLVM takes half an hour on four cores: the workflow keeps PREFIX.
set -euo pipefail
prefix=$1
dnf install -y --quiet ninja-build zlib-devel libpng-devel libjpeg-turbo-devel libxml2-devel epel-release
dnf install -y --quiet ccache
[[ -e $prefix/complete ]] && exit
work=$(mktemp -d)
cd "$work"

get() { # get NAME URL: unpacks it into ./NAME
    mkdir "$1" && curl -fsSL "$2" | tar xz --strip-components=1 -C "$1"
}
make_one() { # make_one FOLDER OPTIONS...: configures, builds and installs it
    local source=$1
    shift
    cmake -S "$source" -B "$source-build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@"
    cmake --build "$source-build"
    cmake --install "$source-build"
    rm -rf "$source-build"
}

github=https://github.com
get llvm $github/llvm/llvm-project/archive/refs/tags/llvmorg-19.1.7.tar.gz
make_one llvm/llvm -DLLVM_TARGETS_TO_BUILD=Native -DLLVM_ENABLE_RTTI=ON -DLLVM_BUILD_TOOLS=OFF -DLLVM_INCLUDE_TESTS=OFF \
    -DLLVM_INCLUDE_BENCHMARKS=OFF -DLLVM_INCLUDE_EXAMPLES=OFF -DLLVM_ENABLE_ZLIB=OFF -DLLVM_ENABLE_ZSTD=OFF \
    -DLLVM_ENABLE_LIBXML2=OFF -DLLVM_ENABLE_TERMINFO=OFF
get tbb $github/oneapi-src/oneTBB/archive/refs/tags/v2021.13.0.tar.gz
make_one tbb -DTBB_TEST=OFF
get fmt $github/fmtlib/fmt/archive/refs/tags/9.1.0.tar.gz
make_one fmt -DFMT_TEST=OFF -DFMT_DOC=OFF -DBUILD_SHARED_LIBS=ON
get xxhash $github/Cyan4973/xxHash/archive/refs/tags/v0.8.2.tar.gz
make_one xxhash/cmake_unofficial -DBUILD_SHARED_LIBS=OFF
get zstd $github/facebook/zstd/archive/refs/tags/v1.5.6.tar.gz
make_one zstd/build/cmake -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_PROGRAMS=OFF
get pugixml $github/zeux/pugixml/archive/refs/tags/v1.14.tar.gz
make_one pugixml
get json $github/nlohmann/json/archive/refs/tags/v3.11.3.tar.gz
make_one json -DJSON_BuildTests=OFF
get cli11 $github/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
make_one cli11 -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF
get imath $github/AcademySoftwareFoundation/Imath/archive/refs/tags/v3.1.12.tar.gz
make_one imath -DBUILD_TESTING=OFF
get openexr $github/AcademySoftwareFoundation/openexr/archive/refs/tags/v3.1.13.tar.gz
make_one openexr -DBUILD_TESTING=OFF -DOPENEXR_BUILD_TOOLS=OFF -DOPENEXR_INSTALL_EXAMPLES=OFF
get embree $github/RenderKit/embree/archive/refs/tags/v3.13.5.tar.gz
make_one embree -DEMBREE_ISPC_SUPPORT=OFF -DEMBREE_TUTORIALS=OFF

rm -rf "$work"
touch "$prefix/complete"
