import type { Checksum } from '../../platform/store/file-copies.ts'

/** Where the continuous copies of all data directories are, at a target. */
export const copiesPrefix = 'copy/'
/** Says which server writes there. */
export const claimName = `${copiesPrefix}writer.json`

export const generationPrefix = (origin: string, generation: string): string => `${copiesPrefix}${origin}/${generation}/`

/** The name of a generation that begins now; later ones sort behind. */
export const newGeneration = (at: number, random: string): string => `${new Date(at).toISOString().replace(/[-:.]/g, '')}-${random}`

/** Commits of the log, in one file. */
export interface SegmentName {
  kind: 'segment'
  /** From 1 on, without gaps within a generation. */
  number: number
  /** When it was read, epoch, ms: every commit in it is older. */
  at: number
  salts: string
  /** Where its frames begin and end in the log, bytes. */
  from: number
  to: number
  /** The checksum of its last frame. */
  checksum: Checksum
}

/** The database as it was at one moment, in one file. */
export interface SnapshotName {
  kind: 'snapshot'
  /** The first segment to add. */
  number: number
  /** The last segment that has to be added: only with it the database is whole. */
  until: number
  /** When that segment was read, epoch, ms. */
  at: number
}

export type CopyName = (SegmentName | SnapshotName) & { name: string; origin: string; generation: string }

const segmentForm = /^(\d{10})-(\d{13})-([0-9a-f]{16})-(\d+)-(\d+)-([0-9a-f]{8})([0-9a-f]{8})\.wal\.zst(?:\.age)?$/
const snapshotForm = /^snapshot-(\d{10})-(\d{10})-(\d{13})\.db\.zst(?:\.age)?$/
const placeForm = /^copy\/([0-9a-f]{8})\/(\d{8}T\d{9}Z-[0-9a-f]{4})\/([^/]+)$/

const padded = (number: number): string => String(number).padStart(10, '0')
const hex = (number: number): string => number.toString(16).padStart(8, '0')

export const segmentFile = ({ number, at, salts, from, to, checksum: [one, other] }: Omit<SegmentName, 'kind'>): string =>
  `${padded(number)}-${at}-${salts}-${from}-${to}-${hex(one)}${hex(other)}.wal`

export const snapshotFile = ({ number, until, at }: Omit<SnapshotName, 'kind'>): string =>
  `snapshot-${padded(number)}-${padded(until)}-${at}.db`

/** Null for what is not part of a copy. */
export function parseCopyName(name: string): CopyName | null {
  const [, origin, generation, file] = placeForm.exec(name) ?? []
  if (origin === undefined || generation === undefined || file === undefined) return null
  const place = { name, origin, generation }
  const segment = segmentForm.exec(file)
  if (segment !== null) {
    const [, number, at, salts = '', from, to, one = '', other = ''] = segment
    const checksum: Checksum = [parseInt(one, 16), parseInt(other, 16)]
    return { ...place, kind: 'segment', number: Number(number), at: Number(at), salts, from: Number(from), to: Number(to), checksum }
  }
  const [, number, until, at] = snapshotForm.exec(file) ?? []
  return number === undefined ? null : { ...place, kind: 'snapshot', number: Number(number), until: Number(until), at: Number(at) }
}
