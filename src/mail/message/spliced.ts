/** Bytes that replace others; an insertion has no length. */
export interface Splice {
  start: number
  end: number
  bytes: Uint8Array
}

/** The bytes with these changes, which must be in order and must not overlap. */
export function spliced(bytes: Uint8Array, changes: readonly Splice[]): Buffer {
  const pieces: Uint8Array[] = []
  let copied = 0
  for (const change of changes) {
    pieces.push(bytes.subarray(copied, change.start), change.bytes)
    copied = change.end
  }
  return Buffer.concat([...pieces, bytes.subarray(copied)])
}
