//go:build !noasm

#include "textflag.h"

// int8 kernels: see kernel_amd64.go for what they compute.
//
// A step is 16 coordinates. Each row is loaded and widened to sixteen int16 lanes once and serves
// all its pairs; a pair then costs three instructions. A difference is at most 254, VPMADDWD adds
// two squares into a 32-bit lane, and the 128 steps of a chunk of 2048 coordinates stay below 128 *
// 2 * 254^2 < 2^24 a lane, 2^27 over the eight lanes.

// PAIR adds the squared differences of lanes x and y to acc; t is clobbered.
#define PAIR(x, y, t, acc) \
	VPSUBW   y, x, t; \
	VPMADDWD t, t, t; \
	VPADDD   t, acc, acc

// STORE writes the sum of the eight lanes of y, whose lower half is x, to off(DI); X15 and AX are
// clobbered.
#define STORE(y, x, off) \
	VEXTRACTI128 $1, y, X15; \
	VPADDD       X15, x, x; \
	VPSHUFD      $0x4E, x, X15; \
	VPADDD       X15, x, x; \
	VPSHUFD      $0xB1, x, X15; \
	VPADDD       X15, x, x; \
	VMOVD        x, AX; \
	MOVQ         AX, off(DI)

// func block8(rows *[6]unsafe.Pointer, off, steps int, out *[9]int64)
TEXT ·block8(SB), NOSPLIT, $0-32
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

	PCALIGN $32
loop:
	VPMOVSXBW (R8)(DX*1), Y9
	VPMOVSXBW (R9)(DX*1), Y10
	VPMOVSXBW (R10)(DX*1), Y11
	VPMOVSXBW (R11)(DX*1), Y12
	PAIR(Y9, Y12, Y13, Y0)
	PAIR(Y10, Y12, Y14, Y3)
	PAIR(Y11, Y12, Y15, Y6)
	VPMOVSXBW (R12)(DX*1), Y12
	PAIR(Y9, Y12, Y13, Y1)
	PAIR(Y10, Y12, Y14, Y4)
	PAIR(Y11, Y12, Y15, Y7)
	VPMOVSXBW (R13)(DX*1), Y12
	PAIR(Y9, Y12, Y13, Y2)
	PAIR(Y10, Y12, Y14, Y5)
	PAIR(Y11, Y12, Y15, Y8)
	ADDQ      $16, DX
	DECQ      CX
	JNZ       loop

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

// func triangle8(rows *[6]unsafe.Pointer, off, steps int, out *[3]int64)
TEXT ·triangle8(SB), NOSPLIT, $0-32
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

	PCALIGN $32
loop:
	VPMOVSXBW (R8)(DX*1), Y9
	VPMOVSXBW (R9)(DX*1), Y10
	VPMOVSXBW (R10)(DX*1), Y11
	PAIR(Y9, Y10, Y13, Y0)
	PAIR(Y9, Y11, Y14, Y1)
	PAIR(Y10, Y11, Y15, Y2)
	ADDQ      $16, DX
	DECQ      CX
	JNZ       loop

	STORE(Y0, X0, 0)
	STORE(Y1, X1, 8)
	STORE(Y2, X2, 16)
	VZEROUPPER
	RET

// func fan8(rows *[6]unsafe.Pointer, off, steps int, out *[3]int64)
TEXT ·fan8(SB), NOSPLIT, $0-32
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

	PCALIGN $32
loop:
	VPMOVSXBW (R8)(DX*1), Y9
	VPMOVSXBW (R9)(DX*1), Y10
	VPMOVSXBW (R10)(DX*1), Y11
	VPMOVSXBW (R11)(DX*1), Y12
	PAIR(Y9, Y12, Y13, Y0)
	PAIR(Y10, Y12, Y14, Y1)
	PAIR(Y11, Y12, Y15, Y2)
	ADDQ      $16, DX
	DECQ      CX
	JNZ       loop

	STORE(Y0, X0, 0)
	STORE(Y1, X1, 8)
	STORE(Y2, X2, 16)
	VZEROUPPER
	RET
