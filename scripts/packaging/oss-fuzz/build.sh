#!/bin/bash -eu
# The targets of scripts/fuzz and their corpus, as OSS-Fuzz runs them. CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE,
# SRC and OUT are its variables; CFLAGS counts coverage in the compiled modules, too.
cd "$SRC/gassst"
python3 -m pip install "setuptools>=77" "cython>=3.3" numpy "pysam>=0.22,<0.25"
python3 -m pip install --no-build-isolation .

corpus() {
    (cd "tests/data/fuzz/corpus/$1" && zip -q -r "$OUT/$1_seed_corpus.zip" .)
}

for target in scripts/fuzz/fuzz_*.c; do
    name=$(basename "$target" .c)
    $CC $CFLAGS -Iext/io -Iext/common -c "$target" -o "$SRC/$name.o"
    $CXX $CXXFLAGS "$SRC/$name.o" -o "$OUT/$name" $LIB_FUZZING_ENGINE -lm
    corpus "$name"
done

for target in scripts/fuzz/fuzz_*.py; do
    name=$(basename "$target" .py)
    mkdir -p "$SRC/programs"
    printf 'import under_atheris\n\nunder_atheris.fuzz("%s")\n' "$name" >"$SRC/programs/$name.py"
    compile_python_fuzzer "$SRC/programs/$name.py" --paths scripts/fuzz --hidden-import "$name" \
        --collect-all gassst --collect-all pysam
    corpus "$name"
done
