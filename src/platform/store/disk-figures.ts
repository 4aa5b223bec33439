import { stat, statfs } from 'node:fs/promises'
import { codeOf } from '../durable-file.ts'
import type { Gauges } from '../metrics/metrics-page.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { StoreFiles } from './store.ts'

/** How large the database files are, and how much space is left. Looking does not open them. */
export const diskFigures = (
  { directory, paths }: Pick<StoreFiles, 'directory' | 'paths'>,
  { databaseBytes, walBytes, diskFree, diskSize }: Metrics,
): Gauges => ({
  part: 'disk',
  gauges: [databaseBytes, walBytes, diskFree, diskSize],
  goodForMs: 0,
  async read() {
    const [database, wal, { bavail, blocks, bsize }] = await Promise.all([stat(paths.database), sizeOf(paths.log), statfs(directory)])
    databaseBytes.set(database.size)
    walBytes.set(wal)
    diskFree.set(bavail * bsize)
    diskSize.set(blocks * bsize)
  },
})

/** Where the database is on a server there are none: they are left out, not 0. */
export function leaveOutDisk({ databaseBytes, walBytes, diskFree, diskSize, partUp }: Metrics): void {
  for (const gauge of [databaseBytes, walBytes, diskFree, diskSize, partUp.disk]) gauge.set(Number.NaN)
}

/** It is missing for a moment while it is created again. */
async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0
    throw error
  }
}
