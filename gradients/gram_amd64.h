// What the Gram kernels of both encodings share.

// TENROWS loads where the ten rows at DI begin.
#define TENROWS \
	MOVQ 0(DI), R8; \
	MOVQ 8(DI), R9; \
	MOVQ 16(DI), R10; \
	MOVQ 24(DI), R11; \
	MOVQ 32(DI), R12; \
	MOVQ 40(DI), R13; \
	MOVQ 48(DI), AX; \
	MOVQ 56(DI), BX; \
	MOVQ 64(DI), SI; \
	MOVQ 72(DI), R14

// STORE4 writes the sums of the lanes of each of four registers, y0 to y3, to off(DI). x0 and x1
// are the lower halves of y0 and y1.
#define STORE4(y0, x0, y1, x1, y2, y3, off) \
	VPHADDD      y1, y0, y0; \
	VPHADDD      y3, y2, y2; \
	VPHADDD      y2, y0, y0; \
	VEXTRACTI128 $1, y0, x1; \
	VPADDD       x1, x0, x0; \
	VMOVDQU      x0, off(DI)
