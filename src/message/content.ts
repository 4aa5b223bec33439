import { sharedBytes } from '../shared-memory.ts'

/** The bytes of a message in chunks of `chunkSize`; the first of them may be stored already. */
export interface Content {
  /** bytes, all chunks together */
  size: number
  /** Chunks not stored yet, in shared memory; all but the very last one are `chunkSize` long. */
  pending: Uint8Array[]
  /** How many chunks are stored already, so the number of `pending[0]`. */
  stored: number
  /** The message whose content it is a copy of; then nothing is pending. */
  copyOf?: string
}

/** bytes */
export const chunkSize = 256 * 1024

/** Copies a complete message into chunks of shared memory, as `accept` takes it. */
export function toContent(message: Uint8Array): Content {
  const pending: Uint8Array[] = []
  for (let start = 0; start < message.length || start === 0; start += chunkSize) {
    const part = message.subarray(start, start + chunkSize)
    const chunk = sharedBytes(part.length)
    chunk.set(part)
    pending.push(chunk)
  }
  return { size: message.length, pending, stored: 0 }
}
