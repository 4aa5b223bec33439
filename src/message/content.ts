import { sharedBytes } from '../shared-memory.ts'
import { chunkSize, type Content } from './submission.ts'

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
