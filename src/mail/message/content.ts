import type { Loan } from '../../platform/memory-pool.ts'
import { sharedBytes } from '../../platform/shared-memory.ts'

/** The bytes of a message in chunks of `chunkSize`; the first chunks may already be stored. */
export interface Content {
  /** bytes, all chunks together */
  size: number
  /** Chunks not stored yet, in shared memory; all but the last are `chunkSize` long. */
  pending: Uint8Array[]
  /** How many chunks are already stored, and so the number of `pending[0]`. */
  stored: number
  /** What `pending[0]` is in, if it is the only chunk and its memory is to be used again. */
  loan?: Loan | null
  /** The message to copy the content from; nothing is then pending. */
  copyOf?: string
}

/** bytes */
export const chunkSize = 256 * 1024

/** Copies a complete message into chunks of shared memory, for `accept`. */
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
