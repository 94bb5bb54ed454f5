"""An OpenCL device: drivers, kernels, and the passes of the search that it takes."""
