# Sourced by the other scripts and by the Makefile: where things are kept, and which libclang the build uses.
#
# Everything lasting is outside the clone, so that a second clone does not compile RocksDB again.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nearstone
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}

# A fresh rustup is not on the PATH of the shells that were open before.
if ! command -v cargo >/dev/null && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
    PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
fi

# Where scripts/setup puts the libclang of the Python wheel when no system package can be installed.
wheel_version=18.1.1
wheel_dir=$cache/libclang-$wheel_version

# Prints the libclang that bindgen will load: the newest in the places that it searches. Fails if there is none.
find_libclang() (
    shopt -s nullglob
    if [ -f "${LIBCLANG_PATH:-}" ]; then
        echo "$LIBCLANG_PATH"
        return
    fi
    if [ -n "${LIBCLANG_PATH:-}" ]; then
        dirs=("$LIBCLANG_PATH")
    else
        IFS=: read -ra dirs <<<"${LD_LIBRARY_PATH:-}:${LIBRARY_PATH:-}"
        prefix=$("${LLVM_CONFIG_PATH:-llvm-config}" --prefix 2>/dev/null) && dirs+=("$prefix/lib" "$prefix/lib64")
        dirs+=(/usr/local/llvm*/lib* /usr/local/lib*{,/*,/*/*} /usr/lib*{,/*,/*/*})
    fi
    for dir in "${dirs[@]}"; do
        for file in "$dir"/libclang{.so,-*.so,.so.*,-*.so.*}; do
            if [ -e "$file" ] && [[ $file != */libclang-cpp.* ]]; then
                echo "${file##*/} $file"
            fi
        done
    done | sort -V | tail -n 1 | cut -d ' ' -f 2- | grep .
)

# Tells whether clang's own headers (stddef.h and the like) are installed for that libclang.
has_clang_headers() (
    shopt -s nullglob
    file=$(readlink -f "$1")
    dir=${file%/*}
    version=${file##*.so.}
    major=${version%%.*}
    headers=("$dir"/clang/*/include/stddef.h "$dir"/../lib/clang/*/include/stddef.h
        /usr/lib/llvm-"$major"/lib/clang/*/include/stddef.h /usr/lib*/clang/"$major"*/include/stddef.h)
    [ ${#headers[@]} -gt 0 ]
)

# bindgen's build script watches these two variables: a change of either compiles RocksDB again. So they are set here
# alone, the same for every command, and a wheel that was once installed stays the choice.
use_libclang() {
    local lib headers
    if [ -z "${LIBCLANG_PATH:-}" ] && [ -e "$wheel_dir/libclang.so" ]; then
        export LIBCLANG_PATH=$wheel_dir
    fi
    lib=$(find_libclang) || return 1
    if [ -z "${BINDGEN_EXTRA_CLANG_ARGS:-}" ] && ! has_clang_headers "$lib"; then
        headers=$("${CC:-cc}" -print-file-name=include)
        export BINDGEN_EXTRA_CLANG_ARGS="-I$headers"
    fi
}
