/** What the name of a backup says. */
export interface BackupName {
  /** Of the backup without the ends of its files: `sterna-20261123T100000000Z-1a2b3c4d`. */
  stem: string
  /** When it was begun, epoch, ms. */
  at: number
  /** Which data directory made it. */
  origin: string
}

const stemForm = /^sterna-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-([0-9a-f]{8})$/

/** The name of a backup that begins now. */
export const newStem = (at: number, origin: string): string => `sterna-${new Date(at).toISOString().replace(/[-:.]/g, '')}-${origin}`

/** Null for a name that no backup of ours has. */
export function parseStem(stem: string): BackupName | null {
  const [, year, month, day, hour, minute, second, ms, origin] = stemForm.exec(stem) ?? []
  if (origin === undefined) return null
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`)
  return Number.isNaN(at) ? null : { stem, at, origin }
}

/** The file that describes a backup, and is written last: without it, the backup is not complete. */
export const manifestName = (stem: string): string => `${stem}.json`

/** The stem in the name of a manifest; undefined for any other file. */
export const stemOfManifest = (name: string): string | undefined => /^(.*)\.json$/.exec(name)?.[1]
