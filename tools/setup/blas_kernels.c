/* Linked into libfaiss.so beside its hidden OpenBLAS. Some releases of OpenBLAS choose kernels for newer processors that
 * compute wrong results, and the choice would make the same index differ from machine to machine: unless the user
 * has chosen, take the AVX2 kernels. Runs before OpenBLAS's own constructor, which has no priority. */
#include <stdlib.h>

__attribute__((constructor(101))) static void choose_avx2_kernels(void) {
  setenv("OPENBLAS_CORETYPE", "Haswell", 0);
}
