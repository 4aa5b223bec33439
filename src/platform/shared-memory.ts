import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** bytes; smaller pieces come with enough ordinary objects for V8 to collect garbage by itself */
const smallest = 64 * 1024
/** Bytes after which this thread collects garbage. */
const betweenCollections = 64 * 1024 * 1024

let noted = 0
let collect: (() => void) | undefined

/**
 * Call it for every piece of shared memory that this thread creates or receives. V8 does not count it, so after a few messages of 25 MB it
 * would hold a gigabyte without collecting garbage.
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

/** New shared memory. */
export function sharedBytes(size: number): Uint8Array<SharedArrayBuffer> {
  noteShared(size)
  return new Uint8Array(new SharedArrayBuffer(size))
}

/** Joins the pieces in new shared memory. */
export function joinShared(pieces: readonly Uint8Array[]): Uint8Array<SharedArrayBuffer> {
  const whole = sharedBytes(pieces.reduce((size, { length }) => size + length, 0))
  joinInto(whole, pieces)
  return whole
}

/**
 * Fills all of the memory with the pieces.
 * @throws RangeError if they have fewer bytes, or more
 */
export function joinInto(whole: Uint8Array, pieces: readonly Uint8Array[]): void {
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  if (at !== whole.length) throw new RangeError(`${at} bytes do not fill ${whole.length}`)
}
