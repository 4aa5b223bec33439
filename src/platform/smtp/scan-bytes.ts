import { scanProgram, scanStart } from './scan-program.ts'

/** What to look for. */
interface Wanted {
  /** NUL, an LF without CR before it, and what follows a CR and is not LF: if a CR comes last, the place behind it. */
  odd: boolean
  /** White space that is not a single SP within a line: TAB, and SP before SP, TAB or CR. */
  loose: boolean
}

interface Range {
  from: number
  to: number
  /** Whether the first byte follows a CR. */
  followsCr?: boolean
}

/** Where the first of what is wanted is; -1 if there is none. The byte behind the range, if there is one, says what the last ones are. */
export type ScanBytes = (bytes: Uint8Array, wanted: Wanted, range?: Range) => number

const [tab, lf, cr, sp] = [9, 10, 13, 32]
const other = 65
/** bytes scanned at once; a page of WebAssembly's memory, and another for what is around them */
const windowSize = 65_536

/** For machines without WebAssembly's SIMD, and to test the other by. */
export const scanInLoop: ScanBytes = (bytes, { odd, loose }, { from, to, followsCr = false } = { from: 0, to: bytes.length }) => {
  let before = followsCr ? cr : other
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? other
    if (odd && ((byte === lf) !== (before === cr) || byte === 0)) return at
    if (loose && (byte === tab || (byte === sp && isLooseBefore(bytes[at + 1])))) return at
    before = byte
  }
  return odd && before === cr && bytes[to] !== lf ? to : -1
}

const isLooseBefore = (next: number | undefined): boolean => next === sp || next === tab || next === cr

/** Node's types have no WebAssembly. */
interface WithWebAssembly {
  WebAssembly: {
    Module: new (program: Uint8Array) => object
    Instance: new (module: object) => {
      exports: { memory: { buffer: ArrayBuffer }; find(at: number, end: number, odd: number, loose: number): number }
    }
  }
}

/** Null where WebAssembly, its SIMD or its memory is unavailable. */
export function simdScan(): ScanBytes | null {
  try {
    const { Instance, Module } = (globalThis as unknown as WithWebAssembly).WebAssembly
    const { memory: pages, find } = new Instance(new Module(scanProgram())).exports
    const memory = new Uint8Array(pages.buffer)
    return (bytes, { odd, loose }, { from, to, followsCr = false } = { from: 0, to: bytes.length }) => {
      let start = from
      memory[scanStart - 1] = followsCr ? cr : other
      do {
        const size = Math.min(to - start, windowSize)
        memory.set(bytes.subarray(start, start + size), scanStart)
        memory[scanStart + size] = bytes[start + size] ?? other
        const at = find(0, size + 1, odd ? -1 : 0, loose ? -1 : 0)
        // What follows the place behind the window is known in the next one.
        if (at < size || (at === size && start + size === to && odd && memory[scanStart + size - 1] === cr)) return start + at
        memory[scanStart - 1] = memory[scanStart + size - 1] ?? other
        start += size
      } while (start < to)
      return -1
    }
  } catch {
    return null
  }
}

let scan: ScanBytes | null = null

export const scanBytes: ScanBytes = (bytes, wanted, range) => (scan ??= simdScan() ?? scanInLoop)(bytes, wanted, range)
