#!/usr/bin/env bash
# Copies of programs of HeCBench whose sizes are constants, with smaller ones, for `cargo xtask corpus`: a CPU could not check
# them otherwise. `smaller.sh FOLDER`, FOLDER being the fetched repository, writes them to FOLDER/small. Only
# numbers are changed, but for `malloc` to `calloc` in one, the name of an array in another, and a barrier in a third.
set -eu
cd "$1"

# A program, a file of it, and what sed does to that file.
smaller() {
  [ -d "small/$1" ] || { mkdir -p small; cp -r "src/$1" small/; }
  before=$(md5sum < "small/$1/$2")
  sed -i "$3" "small/$1/$2"
  [ "$before" != "$(md5sum < "small/$1/$2")" ] || { echo "$1/$2 is not changed by $3" >&2; exit 1; }
}

rm -rf small
smaller jacobi-cuda main.cu 's/#define N 2048/#define N 32/; s/max_iters = 10000/max_iters = 2/'
smaller car-cuda main.cu 's/{128, 3, 480, 640, 9, 1024, 1024}/{1, 2, 6, 8, 9, 12, 12}/'
smaller lombscargle-cuda main.cu 's/x_shape = 1000;/x_shape = 20;/; s/freqs_shape = 100000/freqs_shape = 16/'
smaller shuffle-cuda main.cu 's/1 << 27/1 << 8/'
smaller projectile-cuda Projectile.cu 's/num_elements = 10000000/num_elements = 16/'
smaller rtm8-cuda rtm8.cu 's/#define nx 680/#define nx 12/; s/#define ny 134/#define ny 11/; s/#define nz 450/#define nz 13/'
smaller cfd-cuda euler3d.cu 's/#define iterations 2000/#define iterations 2/'
smaller dslash-cuda main.cu 's/LDIM\*LDIM\*LDIM\*LDIM/16/'
smaller libor-cuda main.cu 's/BLOCK_SIZE 64/BLOCK_SIZE 4/; s/GRID_SIZE 1500/GRID_SIZE 2/; s/NPATH 96000/NPATH 8/'
# What they read: numbers of our own.
awk 'BEGIN { srand(3); print 192; for (i = 0; i < 192; i++) { printf "%.3f", 0.5 + 0.002 * i; for (j = 0; j < 4; j++) { printf " %d", j < 3 ? (i + j * 7 + 1) % 192 + 1 : -1 - i % 2; for (k = 0; k < 3; k++) printf " %.3f", 0.05 + 0.25 * rand() } print "" } }' > small/cfd-cuda/mesh
smaller d2q9-bgk-cuda main.cu 's/speeds\[1\] = w1;/speeds[1] = w1 * 1.1f;/; s/speeds\[2\] = w1;/speeds[2] = w1 * 1.05f;/'
printf '%s\n' 128 4 2 10 0.1 0.005 1.7 > small/d2q9-bgk-cuda/params
printf '%s\n' '0 0 1' '5 2 1' '77 3 1' > small/d2q9-bgk-cuda/obstacles
smaller matern-cuda main.cu 's/16\*16\*16/16/'
smaller feynman-kac-cuda main.cu 's/nj = 128/nj = 6/; s/double h = 0.001/double h = 0.2/'
# Not sizes: races of the programs' own. One lacks a barrier, and two threads store one number; one stores to the wrong array.
smaller tridiagonal-cuda cyclic_kernels.cu 's/^  if (\(....\) < 2)/  __syncthreads();\n  if (\1 < 1)/'
smaller myocyte-cuda kernel_cam.cu 's/d_finavalu\[com_offset\]/d_com[com_offset]/'
# Not sizes: input that the programs leave unset, that lies on kinks, or that makes results which are no numbers.
smaller heat2d-cuda main.cu 's/malloc(sizeof(float)\*Lx\*Ly)/calloc(Lx*Ly, sizeof(float))/'
smaller lif-cuda main.cu 's|rand() % 5 / 10.f|rand() % 5 / 10.f + 0.03f|'
smaller minkowski-cuda main.cu 's/m_size = [^;]*;/m_size = 32;/'
