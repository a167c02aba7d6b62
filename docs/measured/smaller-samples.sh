#!/usr/bin/env bash
# Copies of programs of cuda-samples and Rodinia whose sizes are constants, with smaller ones, for `cargo xtask corpus`.
# `smaller-samples.sh FOLDER`, FOLDER holding the two repositories, writes them to FOLDER/small. Only numbers are changed, and
# the names of files that are read.
set -eu
cd "$1"
intro=NVIDIA+cuda-samples/Samples/0_Introduction
concepts=NVIDIA+cuda-samples/Samples/2_Concepts_and_Techniques
domain=NVIDIA+cuda-samples/Samples/5_Domain_Specific
rodinia=yuhc+gpu-rodinia/cuda

# A program, a file of it, and what sed does to that file.
smaller() {
  name=$(basename "$1")
  [ -d "small/$name" ] || { mkdir -p small; cp -r "$1" small/; }
  before=$(md5sum < "small/$name/$2")
  sed -i "$3" "small/$name/$2"
  [ "$before" != "$(md5sum < "small/$name/$2")" ] || { echo "$1/$2 is not changed by $3" >&2; exit 1; }
}

rm -rf small
smaller $intro/vectorAdd vectorAdd.cu 's/numElements = 50000/numElements = 64/'
smaller $intro/matrixMul matrixMul.cu 's/nIter = 300/nIter = 2/'
smaller $concepts/scalarProd scalarProd.cu 's/VECTOR_N = 256/VECTOR_N = 3/; s/ELEMENT_N = 4096/ELEMENT_N = 64/'
smaller $domain/BlackScholes BlackScholes.cu 's/OPT_N          = 4000000/OPT_N          = 64/; s/NUM_ITERATIONS = 512/NUM_ITERATIONS = 2/'
smaller $domain/binomialOptions binomialOptions_common.h 's/NUM_STEPS 2048/NUM_STEPS 256/'
smaller $rodinia/srad/srad_v1 main.cu 's|\.\./\.\./\.\./data/srad/||; s/image_ori_rows = 502/image_ori_rows = 16/; s/image_ori_cols = 458/image_ori_cols = 16/'
# What they read: numbers of our own.
awk 'BEGIN { srand(3); print "P2"; print "# ours"; print "16 16"; print 255; for (i = 0; i < 256; i++) print 40 + int(170 * rand()) }' > small/srad_v1/image.pgm
