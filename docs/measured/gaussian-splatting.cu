// What backward-kernels.md compares of diff-gaussian-rasterization: its forward and backward passes as they are, in functions with one
// convention. Theirs takes the adjoints of pixels in units of half the image, has half of the adjoint of the conic's middle number, and
// that of the opacity apart. Kernels of one name stand in two files; here they are in one.
#include "cuda_rasterizer/forward.cu"
#define preprocessCUDA backward_of_preprocessCUDA
#define renderCUDA backward_of_renderCUDA
#include "cuda_rasterizer/backward.cu"
#undef preprocessCUDA
#undef renderCUDA

static const int SIDE = 64, DEGREE = 2, COEFFICIENTS = 9;
static const float FOCAL = 48.0f, TANGENT = 0.6666667f;

// Gaussians to what is drawn of them: places, colours, conics with opacities.
void project(int P, float modifier, const float* means, const glm::vec3* scales, const glm::vec4* rotations,
             const float* opacities, const float* harmonics, bool* clamped, const float* view, const float* proj,
             const glm::vec3* camera, int* radii, float2* xy, float* rgb, float4* conic) {
  float *depths, *covariances;
  uint32_t* tiles;
  cudaMalloc(&depths, P * sizeof(float));
  cudaMalloc(&covariances, 6 * P * sizeof(float));
  cudaMalloc(&tiles, P * sizeof(uint32_t));
  FORWARD::preprocess(P, DEGREE, COEFFICIENTS, means, scales, modifier, rotations, opacities, harmonics, clamped, nullptr, nullptr, view,
                      proj, camera, SIDE, SIDE, FOCAL, FOCAL, TANGENT, TANGENT, radii, xy, depths, covariances, rgb, conic,
                      dim3(4, 4, 1), tiles, false);
  cudaFree(depths);
  cudaFree(covariances);
  cudaFree(tiles);
}

__global__ void to_theirs(int P, const float2* d_xy, const float4* d_conic, float3* places, float4* conics, float* d_opacities) {
  int i = threadIdx.x;
  if (i >= P) return;
  places[i] = make_float3(d_xy[i].x * SIDE / 2, d_xy[i].y * SIDE / 2, 0.0f);
  conics[i] = make_float4(d_conic[i].x, 0.5f * d_conic[i].y, 0.0f, d_conic[i].z);
  d_opacities[i] = d_conic[i].w;
}

void project_backward(int P, float modifier, const float* means, const glm::vec3* scales, const glm::vec4* rotations,
                      const float* opacities, const float* harmonics, bool* clamped, const float* view, const float* proj,
                      const glm::vec3* camera, int* radii, float2* d_xy, float* d_rgb, float4* d_conic, float* d_means,
                      glm::vec3* d_scales, glm::vec4* d_rotations, float* d_opacities, float* d_harmonics) {
  float *depths, *covariances, *rgb, *d_covariances;
  float2* xy;
  float3* places;
  float4 *conic, *conics;
  uint32_t* tiles;
  cudaMalloc(&depths, P * sizeof(float));
  cudaMalloc(&covariances, 6 * P * sizeof(float));
  cudaMalloc(&rgb, 3 * P * sizeof(float));
  cudaMalloc(&d_covariances, 6 * P * sizeof(float));
  cudaMalloc(&xy, P * sizeof(float2));
  cudaMalloc(&places, P * sizeof(float3));
  cudaMalloc(&conic, P * sizeof(float4));
  cudaMalloc(&conics, P * sizeof(float4));
  cudaMalloc(&tiles, P * sizeof(uint32_t));
  FORWARD::preprocess(P, DEGREE, COEFFICIENTS, means, scales, modifier, rotations, opacities, harmonics, clamped, nullptr, nullptr, view,
                      proj, camera, SIDE, SIDE, FOCAL, FOCAL, TANGENT, TANGENT, radii, xy, depths, covariances, rgb, conic,
                      dim3(4, 4, 1), tiles, false);
  to_theirs<<<1, 32>>>(P, d_xy, d_conic, places, conics, d_opacities);
  BACKWARD::preprocess(P, DEGREE, COEFFICIENTS, (const float3*)means, radii, harmonics, clamped, scales, rotations, modifier,
                       covariances, view, proj, FOCAL, FOCAL, TANGENT, TANGENT, camera, places, (const float*)conics,
                       (glm::vec3*)d_means, d_rgb, d_covariances, d_harmonics, d_scales, d_rotations);
}

static const int TILE = 16, GAUSSIANS = 5;

// One tile of the picture.
void render(const uint2* ranges, const uint32_t* order, const float2* xy, const float* colours, const float4* conic,
            const float* background, float* out) {
  float* transmittance;
  uint32_t* count;
  cudaMalloc(&transmittance, TILE * TILE * sizeof(float));
  cudaMalloc(&count, TILE * TILE * sizeof(uint32_t));
  FORWARD::render(dim3(1, 1, 1), dim3(TILE, TILE, 1), ranges, order, TILE, TILE, xy, colours, conic, transmittance, count,
                  background, out);
  cudaFree(transmittance);
  cudaFree(count);
}

__global__ void to_ours(const float3* places, const float4* conics, const float* opacities, float2* d_xy, float4* d_conic) {
  int i = threadIdx.x;
  if (i >= GAUSSIANS) return;
  d_xy[i] = make_float2(places[i].x / (TILE / 2), places[i].y / (TILE / 2));
  d_conic[i] = make_float4(conics[i].x, 2.0f * conics[i].y, conics[i].w, opacities[i]);
}

void render_backward(const uint2* ranges, const uint32_t* order, const float2* xy, const float* colours, const float4* conic,
                     const float* background, const float* d_out, float2* d_xy, float* d_colours, float4* d_conic) {
  float3* places;
  float4* conics;
  float *opacities, *transmittance, *out;
  uint32_t* count;
  cudaMalloc(&places, GAUSSIANS * sizeof(float3));
  cudaMalloc(&conics, GAUSSIANS * sizeof(float4));
  cudaMalloc(&opacities, GAUSSIANS * sizeof(float));
  cudaMalloc(&transmittance, TILE * TILE * sizeof(float));
  cudaMalloc(&out, 3 * TILE * TILE * sizeof(float));
  cudaMalloc(&count, TILE * TILE * sizeof(uint32_t));
  cudaMemset(places, 0, GAUSSIANS * sizeof(float3));
  cudaMemset(conics, 0, GAUSSIANS * sizeof(float4));
  cudaMemset(opacities, 0, GAUSSIANS * sizeof(float));
  FORWARD::render(dim3(1, 1, 1), dim3(TILE, TILE, 1), ranges, order, TILE, TILE, xy, colours, conic, transmittance, count,
                  background, out);
  BACKWARD::render(dim3(1, 1, 1), dim3(TILE, TILE, 1), ranges, order, TILE, TILE, background, xy, conic, colours, transmittance,
                   count, d_out, places, conics, opacities, d_colours);
  to_ours<<<1, 32>>>(places, conics, opacities, d_xy, d_conic);
}
