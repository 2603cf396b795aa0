//go:build !noasm

#include "textflag.h"

// int16 kernels: see kernel_amd64.go for what they compute.
//
// A step is 32 coordinates, two registers a row. A difference is at most 2*16383, so it fits int16,
// and VPMADDWD gives at most 2*(2*16383)^2 = 2147221512 < 2^31. The lanes of both halves are added,
// as unsigned numbers below 2^32, and the even and the odd ones are then added to 64-bit lanes:
// nothing overflows at any length.

// PAIR adds the squared differences of a row in memory at i and a row in j0, j1 to the four 64-bit
// lanes of acc. Y15 must be zero; Y13 and Y14 are clobbered.
#define PAIR(i, j0, j1, acc) \
	VPSUBW   (i)(DX*1), j0, Y13; \
	VPSUBW   32(i)(DX*1), j1, Y14; \
	VPMADDWD Y13, Y13, Y13; \
	VPMADDWD Y14, Y14, Y14; \
	VPADDD   Y13, Y14, Y13; \
	VPSRLQ   $32, Y13, Y14; \
	VPBLENDD $0xAA, Y15, Y13, Y13; \
	VPADDQ   Y14, acc, acc; \
	VPADDQ   Y13, acc, acc

// STORE writes the sum of the four lanes of y, whose lower half is x, to off(DI); X15 is clobbered.
#define STORE(y, x, off) \
	VEXTRACTI128 $1, y, X15; \
	VPADDQ       X15, x, x; \
	VPSHUFD      $0x4E, x, X15; \
	VPADDQ       X15, x, x; \
	VMOVQ        x, off(DI)

// func block16(rows *[6]unsafe.Pointer, off, steps int, out *[9]int64)
TEXT ·block16(SB), NOSPLIT, $0-32
	MOVQ  rows+0(FP), AX
	MOVQ  off+8(FP), DX
	MOVQ  steps+16(FP), CX
	MOVQ  out+24(FP), DI
	MOVQ  0(AX), R8
	MOVQ  8(AX), R9
	MOVQ  16(AX), R10
	MOVQ  24(AX), R11
	MOVQ  32(AX), R12
	MOVQ  40(AX), R13
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	VPXOR Y8, Y8, Y8
	VPXOR Y15, Y15, Y15

	PCALIGN $32
loop:
	VMOVDQU (R11)(DX*1), Y9
	VMOVDQU 32(R11)(DX*1), Y10
	PAIR(R8, Y9, Y10, Y0)
	PAIR(R9, Y9, Y10, Y3)
	PAIR(R10, Y9, Y10, Y6)
	VMOVDQU (R12)(DX*1), Y9
	VMOVDQU 32(R12)(DX*1), Y10
	PAIR(R8, Y9, Y10, Y1)
	PAIR(R9, Y9, Y10, Y4)
	PAIR(R10, Y9, Y10, Y7)
	VMOVDQU (R13)(DX*1), Y9
	VMOVDQU 32(R13)(DX*1), Y10
	PAIR(R8, Y9, Y10, Y2)
	PAIR(R9, Y9, Y10, Y5)
	PAIR(R10, Y9, Y10, Y8)
	ADDQ    $64, DX
	DECQ    CX
	JNZ     loop

	STORE(Y0, X0, 0)
	STORE(Y1, X1, 8)
	STORE(Y2, X2, 16)
	STORE(Y3, X3, 24)
	STORE(Y4, X4, 32)
	STORE(Y5, X5, 40)
	STORE(Y6, X6, 48)
	STORE(Y7, X7, 56)
	STORE(Y8, X8, 64)
	VZEROUPPER
	RET

// func triangle16(rows *[6]unsafe.Pointer, off, steps int, out *[3]int64)
TEXT ·triangle16(SB), NOSPLIT, $0-32
	MOVQ  rows+0(FP), AX
	MOVQ  off+8(FP), DX
	MOVQ  steps+16(FP), CX
	MOVQ  out+24(FP), DI
	MOVQ  0(AX), R8
	MOVQ  8(AX), R9
	MOVQ  16(AX), R10
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y15, Y15, Y15

	PCALIGN $32
loop:
	VMOVDQU (R8)(DX*1), Y9
	VMOVDQU 32(R8)(DX*1), Y10
	PAIR(R9, Y9, Y10, Y0)
	PAIR(R10, Y9, Y10, Y1)
	VMOVDQU (R9)(DX*1), Y9
	VMOVDQU 32(R9)(DX*1), Y10
	PAIR(R10, Y9, Y10, Y2)
	ADDQ    $64, DX
	DECQ    CX
	JNZ     loop

	STORE(Y0, X0, 0)
	STORE(Y1, X1, 8)
	STORE(Y2, X2, 16)
	VZEROUPPER
	RET

// func fan16(rows *[6]unsafe.Pointer, off, steps int, out *[3]int64)
TEXT ·fan16(SB), NOSPLIT, $0-32
	MOVQ  rows+0(FP), AX
	MOVQ  off+8(FP), DX
	MOVQ  steps+16(FP), CX
	MOVQ  out+24(FP), DI
	MOVQ  0(AX), R8
	MOVQ  8(AX), R9
	MOVQ  16(AX), R10
	MOVQ  24(AX), R11
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y15, Y15, Y15

	PCALIGN $32
loop:
	VMOVDQU (R11)(DX*1), Y9
	VMOVDQU 32(R11)(DX*1), Y10
	PAIR(R8, Y9, Y10, Y0)
	PAIR(R9, Y9, Y10, Y1)
	PAIR(R10, Y9, Y10, Y2)
	ADDQ    $64, DX
	DECQ    CX
	JNZ     loop

	STORE(Y0, X0, 0)
	STORE(Y1, X1, 8)
	STORE(Y2, X2, 16)
	VZEROUPPER
	RET
