import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** bytes; what is smaller comes with enough objects of its own for V8 to look for garbage by itself */
const smallest = 64 * 1024
/** Bytes after which this thread looks for garbage. */
const betweenCollections = 64 * 1024 * 1024

let noted = 0
let collect: (() => void) | undefined

/**
 * To be told of every piece of shared memory that this thread makes or is handed. V8 counts none of it, so after some
 * messages of 25 MB it would hold a gigabyte without seeing a reason to look for garbage.
 */
export function noteShared(bytes: number): void {
  if (bytes < smallest) return
  noted += bytes
  if (noted < betweenCollections) return
  noted = 0
  setFlagsFromString('--expose-gc')
  collect ??= runInNewContext('gc') as () => void
  collect()
}

/** Fresh shared memory. */
export function sharedBytes(size: number): Uint8Array<SharedArrayBuffer> {
  noteShared(size)
  return new Uint8Array(new SharedArrayBuffer(size))
}

/** The pieces one after the other, in fresh shared memory. */
export function joinShared(pieces: readonly Uint8Array[]): Uint8Array<SharedArrayBuffer> {
  const whole = sharedBytes(pieces.reduce((size, { length }) => size + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
