import { chmodSync, statSync, type BigIntStats } from 'node:fs'

/**
 * What tells a file from every copy of it, as text: its inode, and when it was made and last changed, which copying does not preserve. Null
 * if there is none. The device is left out: its number may be another after a restart.
 */
export function witnessOf(path: string): string | null {
  const found = statOf(path)
  if (found === undefined) return null
  // Where a file system keeps no time of birth, it is given as zero or as the time of the last change. In a new file the two are equal.
  const { ino, birthtimeNs, ctimeNs } = found.birthtimeNs === found.ctimeNs ? changed(path, found) : found
  return `${ino}:${birthtimeNs === ctimeNs ? 0 : birthtimeNs}:${ctimeNs}`
}

/** Whether two witnesses are of one file. Some file systems give it another inode with each mount, but not another time of its last change. */
export function isSameFile(one: string, other: string): boolean {
  const [inode, born, changedAt] = one.split(':')
  const [otherInode, otherBorn, otherChangedAt] = other.split(':')
  return changedAt === otherChangedAt || (inode === otherInode && (born === otherBorn || born === '0' || otherBorn === '0'))
}

/** The same file, once the time of its last change is another. */
function changed(path: string, found: BigIntStats): BigIntStats {
  try {
    chmodSync(path, Number(found.mode & 0o777n))
  } catch {
    // It belongs to somebody else.
  }
  return statOf(path) ?? found
}

const statOf = (path: string): BigIntStats | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })
