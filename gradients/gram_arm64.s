//go:build !noasm

#include "textflag.h"

// The int8 kernel that needs SDOT: see gram.go for what it computes.
//
// A step is 16 coordinates. SDOT multiplies signed bytes and adds four products to each 32-bit
// lane. Accumulator V(5*i+j) belongs to rows i and 5+j.

// SDOT is sdot Vd.4S, Vn.16B, Vm.16B, which the assembler does not know.
#define SDOT(m, n, d) WORD $(0x4E809400 | (m)<<16 | (n)<<5 | (d))

// FIVE loads row a and multiplies it by the five rows in V25 to V29.
#define FIVE(a, acc) \
	VLD1.P 16(a), [V30.B16]; \
	SDOT(25, 30, acc); \
	SDOT(26, 30, acc+1); \
	SDOT(27, 30, acc+2); \
	SDOT(28, 30, acc+3); \
	SDOT(29, 30, acc+4)

// STORE4 writes the sums of the lanes of each of four registers.
#define STORE4(v0, v1, v2, v3) \
	VADDP  v1.S4, v0.S4, v0.S4; \
	VADDP  v3.S4, v2.S4, v2.S4; \
	VADDP  v2.S4, v0.S4, v0.S4; \
	VST1.P [v0.S4], 16(R10)

// func gram8(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)
TEXT ·gram8(SB), NOSPLIT, $0-32
	MOVD rows+0(FP), R10
	MOVD off+8(FP), R12
	MOVD steps+16(FP), R11
	LDP  0(R10), (R0, R1)
	LDP  16(R10), (R2, R3)
	LDP  32(R10), (R4, R5)
	LDP  48(R10), (R6, R7)
	LDP  64(R10), (R8, R9)
	ADD  R12, R0
	ADD  R12, R1
	ADD  R12, R2
	ADD  R12, R3
	ADD  R12, R4
	ADD  R12, R5
	ADD  R12, R6
	ADD  R12, R7
	ADD  R12, R8
	ADD  R12, R9
	MOVD out+24(FP), R10
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	VEOR V4.B16, V4.B16, V4.B16
	VEOR V5.B16, V5.B16, V5.B16
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V7.B16, V7.B16, V7.B16
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
	VEOR V10.B16, V10.B16, V10.B16
	VEOR V11.B16, V11.B16, V11.B16
	VEOR V12.B16, V12.B16, V12.B16
	VEOR V13.B16, V13.B16, V13.B16
	VEOR V14.B16, V14.B16, V14.B16
	VEOR V15.B16, V15.B16, V15.B16
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16
	VEOR V24.B16, V24.B16, V24.B16

loop:
	VLD1.P 16(R5), [V25.B16]
	VLD1.P 16(R6), [V26.B16]
	VLD1.P 16(R7), [V27.B16]
	VLD1.P 16(R8), [V28.B16]
	VLD1.P 16(R9), [V29.B16]
	FIVE(R0, 0)
	FIVE(R1, 5)
	FIVE(R2, 10)
	FIVE(R3, 15)
	FIVE(R4, 20)
	SUB    $1, R11
	CBNZ   R11, loop

	STORE4(V0, V1, V2, V3)
	STORE4(V4, V5, V6, V7)
	STORE4(V8, V9, V10, V11)
	STORE4(V12, V13, V14, V15)
	STORE4(V16, V17, V18, V19)
	STORE4(V20, V21, V22, V23)
	STORE4(V24, V25, V26, V27)
	RET
