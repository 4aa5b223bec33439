import { closeSync, openSync, readSync } from 'node:fs'

/**
 * Reads a whole file; null if it has more than `most` bytes. The size that the system tells says nothing about a device or a pipe.
 * @throws Error of the file system
 */
export function readAtMost(path: string, most: number): Buffer | null {
  const file = openSync(path, 'r')
  try {
    const chunks: Buffer[] = []
    for (let bytes = 0; bytes <= most;) {
      const chunk = Buffer.allocUnsafe(64 * 1024)
      const read = readSync(file, chunk)
      if (read === 0) return Buffer.concat(chunks)
      chunks.push(chunk.subarray(0, read))
      bytes += read
    }
    return null
  } finally {
    closeSync(file)
  }
}
