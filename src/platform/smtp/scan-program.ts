/**
 * The WebAssembly of `scan-bytes`, assembled here, because sixteen bytes a step need SIMD, which JavaScript lacks. The encoding is that
 * of the WebAssembly core specification, chapter 5. In the text format:
 *
 *   (memory (export "memory") 2)
 *   (func (export "find") (param $at i32) (param $end i32) (param $odd i32) (param $loose i32) (result i32) …)
 *
 * `find` goes in steps of sixteen from `at` to `end`, and returns the place of the first byte that is wanted, or `end` or more. `odd` and
 * `loose` are masks: all bits set for what is wanted, else 0. The byte at place 0 is in memory at `scanStart`; the one before it and the two
 * behind the last one count as well.
 */
export const scanStart = 16

const [tab, lf, cr, sp] = [9, 10, 13, 32]
const [i32, v128] = [0x7f, 0x7b]
/** Parameters, then variables. */
const [at, end, odd, loose, isLf, isCr, isTab, isSp, here, next, found] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

const get = (variable: number): number[] => [0x20, variable]
const set = (variable: number): number[] => [0x21, variable]
const number = (value: number): number[] => [0x41, value]
const simd = (operation: number): number[] => [0xfd, operation]
const [equal, and, or, xor, bits] = [simd(0x23), simd(0x4e), simd(0x50), simd(0x51), simd(0x64)]
const [i32And, i32Or, i32Add, trailingZeros, atOrAfter] = [[0x71], [0x72], [0x6a], [0x68], [0x4f]]
const [block, loop, ifTrue, noResult, close, branch, branchIf, leave] = [0x02, 0x03, 0x04, 0x40, 0x0b, 0x0c, 0x0d, 0x0f]

/** Sixteen bytes of memory at `at` + offset. */
const load = (offset: number): number[] => [get(at), simd(0x00), 0, offset].flat()
/** Sixteen times this byte. */
const splat = (byte: number): number[] => [number(byte), simd(0x0f)].flat()
const setToSplat = (variable: number, byte: number): number[] => [splat(byte), set(variable)].flat()
const is = (bytes: number[], kind: number[]): number[] => [bytes, kind, equal].flat()

/** LF without CR before it, or something else behind a CR: the byte is LF or the one before it is CR, but not both. Or NUL. */
const isOdd = [is(get(here), get(isLf)), is(load(scanStart - 1), get(isCr)), xor, is(get(here), splat(0)), or].flat()

/** TAB, or SP before SP, TAB or CR. */
const isLooseNext = [is(get(next), get(isSp)), is(get(next), get(isTab)), or, is(get(next), get(isCr)), or].flat()
const isLoose = [is(get(here), get(isTab)), is(get(here), get(isSp)), isLooseNext, and, or].flat()

const hits = [isOdd, bits, get(odd), i32And, isLoose, bits, get(loose), i32And, i32Or].flat()
const returnPlace = [get(at), get(found), trailingZeros, i32Add, leave].flat()
const find = [
  [setToSplat(isLf, lf), setToSplat(isCr, cr), setToSplat(isTab, tab), setToSplat(isSp, sp)].flat(),
  [block, noResult, loop, noResult],
  [get(at), get(end), atOrAfter, branchIf, 1].flat(),
  [load(scanStart), set(here), load(scanStart + 1), set(next)].flat(),
  [hits, set(found), get(found), ifTrue, noResult, returnPlace, close].flat(),
  [get(at), number(16), i32Add, set(at), branch, 0].flat(),
  [close, close, get(end), close].flat(),
].flat()

/** An unsigned LEB128 number. */
const size = (value: number): number[] => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...size(value >> 7)])
const sized = (bytes: number[]): number[] => [...size(bytes.length), ...bytes]
const text = (word: string): number[] => sized([...Buffer.from(word)])

export function scanProgram(): Uint8Array<ArrayBuffer> {
  const variables = [2, 6, v128, 1, i32]
  const start = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
  const types = sized([1, 0x60, 4, i32, i32, i32, i32, 1, i32])
  const exported = sized([2, ...text('memory'), 2, 0, ...text('find'), 0, 0])
  const code = sized([1, ...sized([...variables, ...find])])
  return Uint8Array.from([start, 1, types, 3, sized([1, 0]), 5, sized([1, 0, 2]), 7, exported, 10, code].flat())
}
