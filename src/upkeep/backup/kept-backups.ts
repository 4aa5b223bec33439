import type { BackupName } from './backup-name.ts'

/** How many backups to keep: the last ones, and the newest of each of so many days, weeks and months. */
export interface Keep {
  last: number
  daily: number
  weekly: number
  monthly: number
}

const dayMs = 24 * 3_600_000
/** Epoch day 4 was a Monday. */
const mondayOffset = 3

const periodOf: Record<'daily' | 'weekly' | 'monthly', (at: number) => string> = {
  daily: (at) => String(Math.floor(at / dayMs)),
  weekly: (at) => String(Math.floor((Math.floor(at / dayMs) + mondayOffset) / 7)),
  monthly: (at) => new Date(at).toISOString().slice(0, 7),
}

/** Which of these backups are no longer kept. The newest one always is. Periods are those of UTC in which there is a backup. */
export function backupsToRemove(backups: readonly BackupName[], keep: Keep): BackupName[] {
  const newestFirst = [...backups].sort((one, other) => other.at - one.at)
  const kept = new Set(newestFirst.slice(0, Math.max(1, keep.last)))
  for (const [name, period] of Object.entries(periodOf) as [keyof typeof periodOf, (at: number) => string][]) {
    const seen = new Set<string>()
    for (const backup of newestFirst) {
      const its = period(backup.at)
      if (seen.has(its)) continue
      if (seen.size === keep[name]) break
      seen.add(its)
      kept.add(backup)
    }
  }
  return newestFirst.filter((backup) => !kept.has(backup))
}
