//go:build !noasm

#include "textflag.h"
#include "gram_amd64.h"

// The int8 kernels that need AVX-VNNI, the same instruction for CPUs without AVX-512: see gram.go
// for what they compute.
//
// A step is 32 coordinates. Sixteen registers hold twelve accumulators, Y(4*i+j) for rows i and
// 5+j, the three shifted rows on the left in Y12 to Y14 and one row on the right in Y15.

// VPDPBUSD multiplies the unsigned bytes of Yu by the signed bytes of Ys and adds four products to
// each 32-bit lane of Yd: VEX.256.66.0F38.W0 50 /r. The assembler knows only the EVEX encoding,
// which needs AVX-512.
#define VPDPBUSD(s, u, d) \
	LONG $(0x507DE2C4 ^ ((d)&8)<<12 ^ ((s)&8)<<10 ^ (u)<<19); \
	BYTE $(0xC0 | ((d)&7)<<3 | (s)&7)

// SHIFTED loads row a, each byte plus 128.
#define SHIFTED(a, y) \
	VMOVDQU (a)(DX*1), y; \
	VPXOR   signs<>(SB), y, y

// THREE loads row b and multiplies the three rows on the left by it; acc is its first accumulator.
#define THREE(b, acc) \
	VMOVDQU (b)(DX*1), Y15; \
	VPDPBUSD(15, 12, acc); \
	VPDPBUSD(15, 13, acc+4); \
	VPDPBUSD(15, 14, acc+8)

// ADDROW adds up row a in accumulator acc, four bytes a lane. Sums of one step are added to it, for
// VPADDD makes the next step wait less than VPDPBUSD does.
#define ADDROW(a, acc) \
	VMOVDQU (a)(DX*1), Y4; \
	VPXOR   Y5, Y5, Y5; \
	VPDPBUSD(4, 15, 5); \
	VPADDD  Y5, acc, acc

// ZERO4 clears four registers.
#define ZERO4(y0, y1, y2, y3) \
	VPXOR y0, y0, y0; \
	VPXOR y1, y1, y1; \
	VPXOR y2, y2, y2; \
	VPXOR y3, y3, y3

DATA signs<>+0(SB)/8, $0x8080808080808080
DATA signs<>+8(SB)/8, $0x8080808080808080
DATA signs<>+16(SB)/8, $0x8080808080808080
DATA signs<>+24(SB)/8, $0x8080808080808080
GLOBL signs<>(SB), RODATA|NOPTR, $32

// func gram8VEX(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)
TEXT ·gram8VEX(SB), NOSPLIT, $0-32
	MOVQ rows+0(FP), DI
	MOVQ off+8(FP), DX
	MOVQ steps+16(FP), CX
	TENROWS
	MOVQ out+24(FP), DI
	ZERO4(Y0, Y1, Y2, Y3)
	ZERO4(Y4, Y5, Y6, Y7)
	ZERO4(Y8, Y9, Y10, Y11)

	PCALIGN $32
loop:
	SHIFTED(R8, Y12)
	SHIFTED(R9, Y13)
	SHIFTED(R10, Y14)
	THREE(R13, 0)
	THREE(AX, 1)
	THREE(BX, 2)
	THREE(SI, 3)
	ADDQ $32, DX
	DECQ CX
	JNZ  loop

	STORE4(Y0, X0, Y1, X1, Y2, Y3, 0)
	STORE4(Y4, X4, Y5, X5, Y6, Y7, 16)
	STORE4(Y8, X8, Y9, X9, Y10, Y11, 32)
	VZEROUPPER
	RET

// func sums8VEX(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)
TEXT ·sums8VEX(SB), NOSPLIT, $0-32
	MOVQ         rows+0(FP), DI
	MOVQ         off+8(FP), DX
	MOVQ         steps+16(FP), CX
	MOVL         $0x01010101, AX
	VMOVD        AX, X15
	VPBROADCASTD X15, Y15
	TENROWS
	MOVQ         out+24(FP), DI
	ZERO4(Y0, Y1, Y2, Y3)

	PCALIGN $32
loop:
	ADDROW(R8, Y0)
	ADDROW(R9, Y1)
	ADDROW(R10, Y2)
	ADDQ $32, DX
	DECQ CX
	JNZ  loop

	STORE4(Y0, X0, Y1, X1, Y2, Y3, 0)
	VZEROUPPER
	RET
