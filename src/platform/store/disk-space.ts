import { statfsSync } from 'node:fs'

/** Free space on the disk of a directory that this user may fill, bytes. */
export function freeIn(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

export const megabytes = (bytes: number): number => Math.ceil(bytes / 1_000_000)
