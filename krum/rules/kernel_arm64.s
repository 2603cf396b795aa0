//go:build !noasm

#include "textflag.h"

// Kernels on strips of 128 bytes, eight registers each: see kernels.go for what they compute.
//
// Instructions that the assembler does not know are words; a macro's arguments are the numbers of
// registers in the assembler's order, the destination last. The suffix is the size of the lanes
// that are read.

#define SMIN_B(m, n, d) WORD $(0x4E206C00 | (m)<<16 | (n)<<5 | (d))
#define SMIN_H(m, n, d) WORD $(0x4E606C00 | (m)<<16 | (n)<<5 | (d))
#define SMIN_S(m, n, d) WORD $(0x4EA06C00 | (m)<<16 | (n)<<5 | (d))
#define SMAX_B(m, n, d) WORD $(0x4E206400 | (m)<<16 | (n)<<5 | (d))
#define SMAX_H(m, n, d) WORD $(0x4E606400 | (m)<<16 | (n)<<5 | (d))
#define SMAX_S(m, n, d) WORD $(0x4EA06400 | (m)<<16 | (n)<<5 | (d))

// CMHS sets the lanes of d where n >= m as unsigned numbers.
#define CMHS_B(m, n, d) WORD $(0x6E203C00 | (m)<<16 | (n)<<5 | (d))
#define CMHS_H(m, n, d) WORD $(0x6E603C00 | (m)<<16 | (n)<<5 | (d))
#define CMHS_S(m, n, d) WORD $(0x6EA03C00 | (m)<<16 | (n)<<5 | (d))

// SXTL widens the lower half of n, SXTL2 the upper one.
#define SXTL_B(n, d) WORD $(0x0F08A400 | (n)<<5 | (d))
#define SXTL2_B(n, d) WORD $(0x4F08A400 | (n)<<5 | (d))
#define SXTL_H(n, d) WORD $(0x0F10A400 | (n)<<5 | (d))
#define SXTL2_H(n, d) WORD $(0x4F10A400 | (n)<<5 | (d))
#define SXTL_S(n, d) WORD $(0x0F20A400 | (n)<<5 | (d))
#define SXTL2_S(n, d) WORD $(0x4F20A400 | (n)<<5 | (d))

// SADDW adds the lower half of m, widened, to d, SADDW2 the upper one.
#define SADDW_B(m, d) WORD $(0x0E201000 | (m)<<16 | (d)<<5 | (d))
#define SADDW2_B(m, d) WORD $(0x4E201000 | (m)<<16 | (d)<<5 | (d))
#define SADDW_H(m, d) WORD $(0x0E601000 | (m)<<16 | (d)<<5 | (d))
#define SADDW2_H(m, d) WORD $(0x4E601000 | (m)<<16 | (d)<<5 | (d))
#define SADDW_S(m, d) WORD $(0x0EA01000 | (m)<<16 | (d)<<5 | (d))
#define SADDW2_S(m, d) WORD $(0x4EA01000 | (m)<<16 | (d)<<5 | (d))

// EIGHT applies op to the eight registers of two strips, V0 to V7 and V8 to V15.
#define EIGHT(op, d) \
	op(8, 0, d); \
	op(9, 1, d+1); \
	op(10, 2, d+2); \
	op(11, 3, d+3); \
	op(12, 4, d+4); \
	op(13, 5, d+5); \
	op(14, 6, d+6); \
	op(15, 7, d+7)

// EXCHANGE walks through the list of pairs. An entry is two offsets of strips.
#define EXCHANGE(min, max) \
loop: \
	MOVWU.P 4(R1), R3; \
	MOVWU.P 4(R1), R4; \
	ADD R0, R3; \
	ADD R0, R4; \
	ADD $64, R3, R5; \
	ADD $64, R4, R6; \
	VLD1 (R3), [V0.B16, V1.B16, V2.B16, V3.B16]; \
	VLD1 (R5), [V4.B16, V5.B16, V6.B16, V7.B16]; \
	VLD1 (R4), [V8.B16, V9.B16, V10.B16, V11.B16]; \
	VLD1 (R6), [V12.B16, V13.B16, V14.B16, V15.B16]; \
	EIGHT(min, 16); \
	EIGHT(max, 24); \
	VST1 [V16.B16, V17.B16, V18.B16, V19.B16], (R3); \
	VST1 [V20.B16, V21.B16, V22.B16, V23.B16], (R5); \
	VST1 [V24.B16, V25.B16, V26.B16, V27.B16], (R4); \
	VST1 [V28.B16, V29.B16, V30.B16, V31.B16], (R6); \
	SUB $1, R2; \
	CBNZ R2, loop; \
	RET

// func exchange8(strips unsafe.Pointer, pairs *uint32, count int)
TEXT ·exchange8(SB), NOSPLIT, $0-24
	MOVD strips+0(FP), R0
	MOVD pairs+8(FP), R1
	MOVD count+16(FP), R2
	EXCHANGE(SMIN_B, SMAX_B)

// func exchange16(strips unsafe.Pointer, pairs *uint32, count int)
TEXT ·exchange16(SB), NOSPLIT, $0-24
	MOVD strips+0(FP), R0
	MOVD pairs+8(FP), R1
	MOVD count+16(FP), R2
	EXCHANGE(SMIN_H, SMAX_H)

// func exchange32(strips unsafe.Pointer, pairs *uint32, count int)
TEXT ·exchange32(SB), NOSPLIT, $0-24
	MOVD strips+0(FP), R0
	MOVD pairs+8(FP), R1
	MOVD count+16(FP), R2
	EXCHANGE(SMIN_S, SMAX_S)

// func spreadSame(strips unsafe.Pointer, rows *unsafe.Pointer, n, off int)
TEXT ·spreadSame(SB), NOSPLIT, $0-32
	MOVD strips+0(FP), R0
	MOVD rows+8(FP), R1
	MOVD n+16(FP), R2
	MOVD off+24(FP), R3
loop:
	MOVD.P 8(R1), R4
	ADD    R3, R4
	VLD1.P 64(R4), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1   (R4), [V4.B16, V5.B16, V6.B16, V7.B16]
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0)
	SUB    $1, R2
	CBNZ   R2, loop
	RET

// WIDEN writes each row's 64 bytes as lanes twice as wide.
#define WIDEN(low, high) \
loop: \
	MOVD.P 8(R1), R4; \
	ADD R3, R4; \
	VLD1 (R4), [V0.B16, V1.B16, V2.B16, V3.B16]; \
	low(0, 4); \
	high(0, 5); \
	low(1, 6); \
	high(1, 7); \
	low(2, 8); \
	high(2, 9); \
	low(3, 10); \
	high(3, 11); \
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0); \
	VST1.P [V8.B16, V9.B16, V10.B16, V11.B16], 64(R0); \
	SUB $1, R2; \
	CBNZ R2, loop; \
	RET

// func spread8to16(strips unsafe.Pointer, rows *unsafe.Pointer, n, off int)
TEXT ·spread8to16(SB), NOSPLIT, $0-32
	MOVD strips+0(FP), R0
	MOVD rows+8(FP), R1
	MOVD n+16(FP), R2
	MOVD off+24(FP), R3
	WIDEN(SXTL_B, SXTL2_B)

// func spread16to32(strips unsafe.Pointer, rows *unsafe.Pointer, n, off int)
TEXT ·spread16to32(SB), NOSPLIT, $0-32
	MOVD strips+0(FP), R0
	MOVD rows+8(FP), R1
	MOVD n+16(FP), R2
	MOVD off+24(FP), R3
	WIDEN(SXTL_H, SXTL2_H)

// COLUMNS adds up the lanes of the strips in V0 to V15, twice as wide.
#define COLUMNS(low, high) \
	VEOR V0.B16, V0.B16, V0.B16; \
	VEOR V1.B16, V1.B16, V1.B16; \
	VEOR V2.B16, V2.B16, V2.B16; \
	VEOR V3.B16, V3.B16, V3.B16; \
	VEOR V4.B16, V4.B16, V4.B16; \
	VEOR V5.B16, V5.B16, V5.B16; \
	VEOR V6.B16, V6.B16, V6.B16; \
	VEOR V7.B16, V7.B16, V7.B16; \
	VEOR V8.B16, V8.B16, V8.B16; \
	VEOR V9.B16, V9.B16, V9.B16; \
	VEOR V10.B16, V10.B16, V10.B16; \
	VEOR V11.B16, V11.B16, V11.B16; \
	VEOR V12.B16, V12.B16, V12.B16; \
	VEOR V13.B16, V13.B16, V13.B16; \
	VEOR V14.B16, V14.B16, V14.B16; \
	VEOR V15.B16, V15.B16, V15.B16; \
loop: \
	VLD1.P 64(R1), [V16.B16, V17.B16, V18.B16, V19.B16]; \
	VLD1.P 64(R1), [V20.B16, V21.B16, V22.B16, V23.B16]; \
	low(16, 0); \
	high(16, 1); \
	low(17, 2); \
	high(17, 3); \
	low(18, 4); \
	high(18, 5); \
	low(19, 6); \
	high(19, 7); \
	low(20, 8); \
	high(20, 9); \
	low(21, 10); \
	high(21, 11); \
	low(22, 12); \
	high(22, 13); \
	low(23, 14); \
	high(23, 15); \
	SUB $1, R2; \
	CBNZ R2, loop

// ADD64 adds the eight 64-bit lanes of V24 to V27 to the numbers.
#define ADD64 \
	VLD1 (R0), [V28.D2, V29.D2, V30.D2, V31.D2]; \
	VADD V28.D2, V24.D2, V24.D2; \
	VADD V29.D2, V25.D2, V25.D2; \
	VADD V30.D2, V26.D2, V26.D2; \
	VADD V31.D2, V27.D2, V27.D2; \
	VST1.P [V24.D2, V25.D2, V26.D2, V27.D2], 64(R0)

// ADD32 adds the lanes of two registers of 32-bit lanes to the numbers.
#define ADD32(a, b) \
	SXTL_S(a, 24); \
	SXTL2_S(a, 25); \
	SXTL_S(b, 26); \
	SXTL2_S(b, 27); \
	ADD64

// ADD16 adds the lanes of a register of 16-bit lanes to the numbers.
#define ADD16(a) \
	SXTL_H(a, 16); \
	SXTL2_H(a, 17); \
	ADD32(16, 17)

// func sum8(num *int64, strips unsafe.Pointer, count int)
TEXT ·sum8(SB), NOSPLIT, $0-24
	MOVD num+0(FP), R0
	MOVD strips+8(FP), R1
	MOVD count+16(FP), R2
	COLUMNS(SADDW_B, SADDW2_B)
	ADD16(0)
	ADD16(1)
	ADD16(2)
	ADD16(3)
	ADD16(4)
	ADD16(5)
	ADD16(6)
	ADD16(7)
	ADD16(8)
	ADD16(9)
	ADD16(10)
	ADD16(11)
	ADD16(12)
	ADD16(13)
	ADD16(14)
	ADD16(15)
	RET

// func sum16(num *int64, strips unsafe.Pointer, count int)
TEXT ·sum16(SB), NOSPLIT, $0-24
	MOVD num+0(FP), R0
	MOVD strips+8(FP), R1
	MOVD count+16(FP), R2
	COLUMNS(SADDW_H, SADDW2_H)
	ADD32(0, 1)
	ADD32(2, 3)
	ADD32(4, 5)
	ADD32(6, 7)
	ADD32(8, 9)
	ADD32(10, 11)
	ADD32(12, 13)
	ADD32(14, 15)
	RET

// func sum32(num *int64, strips unsafe.Pointer, count int)
TEXT ·sum32(SB), NOSPLIT, $0-24
	MOVD num+0(FP), R0
	MOVD strips+8(FP), R1
	MOVD count+16(FP), R2
	COLUMNS(SADDW_S, SADDW2_S)
	VMOV V0.B16, V24.B16
	VMOV V1.B16, V25.B16
	VMOV V2.B16, V26.B16
	VMOV V3.B16, V27.B16
	ADD64
	VMOV V4.B16, V24.B16
	VMOV V5.B16, V25.B16
	VMOV V6.B16, V26.B16
	VMOV V7.B16, V27.B16
	ADD64
	VMOV V8.B16, V24.B16
	VMOV V9.B16, V25.B16
	VMOV V10.B16, V26.B16
	VMOV V11.B16, V27.B16
	ADD64
	VMOV V12.B16, V24.B16
	VMOV V13.B16, V25.B16
	VMOV V14.B16, V26.B16
	VMOV V15.B16, V27.B16
	ADD64
	RET

// CHOOSE keeps the lanes of a whose distance below lo is at most that of b above hi, as unsigned
// numbers, and takes b's for the others.
#define CHOOSE(lanes, atLeast) \
	MOVD $8, R4; \
loop: \
	VLD1 (R0), [V0.B16]; \
	VLD1.P 16(R1), [V1.B16]; \
	VLD1.P 16(R2), [V2.B16]; \
	VLD1.P 16(R3), [V3.B16]; \
	VSUB V0.lanes, V2.lanes, V2.lanes; \
	VSUB V3.lanes, V1.lanes, V3.lanes; \
	atLeast(2, 3, 4); \
	VBSL V1.B16, V0.B16, V4.B16; \
	VST1.P [V4.B16], 16(R0); \
	SUB $1, R4; \
	CBNZ R4, loop; \
	RET

// func nearer8(a, b, lo, hi unsafe.Pointer)
TEXT ·nearer8(SB), NOSPLIT, $0-32
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	MOVD lo+16(FP), R2
	MOVD hi+24(FP), R3
	CHOOSE(B16, CMHS_B)

// func nearer16(a, b, lo, hi unsafe.Pointer)
TEXT ·nearer16(SB), NOSPLIT, $0-32
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	MOVD lo+16(FP), R2
	MOVD hi+24(FP), R3
	CHOOSE(H8, CMHS_H)

// func nearer32(a, b, lo, hi unsafe.Pointer)
TEXT ·nearer32(SB), NOSPLIT, $0-32
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	MOVD lo+16(FP), R2
	MOVD hi+24(FP), R3
	CHOOSE(S4, CMHS_S)

// FINISH negates the sum in V0 to V7 if sign is -1 rather than 0, adds the base and writes it.
#define FINISH(lanes) \
	VDUP R5, V16.D2; \
	VEOR V16.B16, V0.B16, V0.B16; \
	VSUB V16.lanes, V0.lanes, V0.lanes; \
	VEOR V16.B16, V1.B16, V1.B16; \
	VSUB V16.lanes, V1.lanes, V1.lanes; \
	VEOR V16.B16, V2.B16, V2.B16; \
	VSUB V16.lanes, V2.lanes, V2.lanes; \
	VEOR V16.B16, V3.B16, V3.B16; \
	VSUB V16.lanes, V3.lanes, V3.lanes; \
	VEOR V16.B16, V4.B16, V4.B16; \
	VSUB V16.lanes, V4.lanes, V4.lanes; \
	VEOR V16.B16, V5.B16, V5.B16; \
	VSUB V16.lanes, V5.lanes, V5.lanes; \
	VEOR V16.B16, V6.B16, V6.B16; \
	VSUB V16.lanes, V6.lanes, V6.lanes; \
	VEOR V16.B16, V7.B16, V7.B16; \
	VSUB V16.lanes, V7.lanes, V7.lanes; \
	VLD1.P 64(R1), [V8.B16, V9.B16, V10.B16, V11.B16]; \
	VLD1 (R1), [V12.B16, V13.B16, V14.B16, V15.B16]; \
	VADD V8.lanes, V0.lanes, V0.lanes; \
	VADD V9.lanes, V1.lanes, V1.lanes; \
	VADD V10.lanes, V2.lanes, V2.lanes; \
	VADD V11.lanes, V3.lanes, V3.lanes; \
	VADD V12.lanes, V4.lanes, V4.lanes; \
	VADD V13.lanes, V5.lanes, V5.lanes; \
	VADD V14.lanes, V6.lanes, V6.lanes; \
	VADD V15.lanes, V7.lanes, V7.lanes; \
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0); \
	VST1 [V4.B16, V5.B16, V6.B16, V7.B16], (R0); \
	RET

// MIX adds up the strips of the members.
#define MIX(lanes) \
	VEOR V0.B16, V0.B16, V0.B16; \
	VEOR V1.B16, V1.B16, V1.B16; \
	VEOR V2.B16, V2.B16, V2.B16; \
	VEOR V3.B16, V3.B16, V3.B16; \
	VEOR V4.B16, V4.B16, V4.B16; \
	VEOR V5.B16, V5.B16, V5.B16; \
	VEOR V6.B16, V6.B16, V6.B16; \
	VEOR V7.B16, V7.B16, V7.B16; \
	CBZ R4, done; \
loop: \
	MOVHU.P 2(R3), R6; \
	ADD R6<<7, R2, R6; \
	VLD1.P 64(R6), [V8.B16, V9.B16, V10.B16, V11.B16]; \
	VLD1 (R6), [V12.B16, V13.B16, V14.B16, V15.B16]; \
	VADD V8.lanes, V0.lanes, V0.lanes; \
	VADD V9.lanes, V1.lanes, V1.lanes; \
	VADD V10.lanes, V2.lanes, V2.lanes; \
	VADD V11.lanes, V3.lanes, V3.lanes; \
	VADD V12.lanes, V4.lanes, V4.lanes; \
	VADD V13.lanes, V5.lanes, V5.lanes; \
	VADD V14.lanes, V6.lanes, V6.lanes; \
	VADD V15.lanes, V7.lanes, V7.lanes; \
	SUB $1, R4; \
	CBNZ R4, loop; \
done: \
	FINISH(lanes)

// func mix16(dst, base, strips unsafe.Pointer, members *uint16, count, sign int)
TEXT ·mix16(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD base+8(FP), R1
	MOVD strips+16(FP), R2
	MOVD members+24(FP), R3
	MOVD count+32(FP), R4
	MOVD sign+40(FP), R5
	MIX(H8)

// func mix32(dst, base, strips unsafe.Pointer, members *uint16, count, sign int)
TEXT ·mix32(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD base+8(FP), R1
	MOVD strips+16(FP), R2
	MOVD members+24(FP), R3
	MOVD count+32(FP), R4
	MOVD sign+40(FP), R5
	MIX(S4)

// func mixHalf(dst, base, strips unsafe.Pointer, members *uint16, count, sign int)
TEXT ·mixHalf(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD base+8(FP), R1
	MOVD strips+16(FP), R2
	MOVD members+24(FP), R3
	MOVD count+32(FP), R4
	MOVD sign+40(FP), R5
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16
	CBZ  R4, done
loop:
	MOVHU.P 2(R3), R6
	ADD     R6<<7, R2, R6
	VLD1    (R6), [V8.B16, V9.B16, V10.B16, V11.B16]
	VADD    V8.H8, V20.H8, V20.H8
	VADD    V9.H8, V21.H8, V21.H8
	VADD    V10.H8, V22.H8, V22.H8
	VADD    V11.H8, V23.H8, V23.H8
	SUB     $1, R4
	CBNZ    R4, loop
done:
	SXTL_H(20, 0)
	SXTL2_H(20, 1)
	SXTL_H(21, 2)
	SXTL2_H(21, 3)
	SXTL_H(22, 4)
	SXTL2_H(22, 5)
	SXTL_H(23, 6)
	SXTL2_H(23, 7)
	FINISH(S4)
