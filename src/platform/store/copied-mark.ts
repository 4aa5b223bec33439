import { SternaError } from '../errors.ts'
import { isoTime } from '../iso-time.ts'
import type { Database, Row } from './database.ts'

/** Where `sterna store copy` has copied the data to, and when (epoch ms). */
export interface CopiedMark extends Row {
  target: string
  copied_at: number
}

export async function copiedMark(db: Pick<Database, 'read'>): Promise<CopiedMark | null> {
  const [mark] = await db.read<CopiedMark>('select target, copied_at from store_copy')
  return mark ?? null
}

/** @throws SternaError `configuration` if the data was copied elsewhere: two servers would send the same mail */
export async function requireNotCopied(db: Pick<Database, 'read'>): Promise<void> {
  requireNoMark(await copiedMark(db))
}

/** @throws SternaError `configuration` if there is one */
export function requireNoMark(mark: CopiedMark | null): void {
  if (mark === null) return
  throw new SternaError(
    'configuration',
    `This data was copied to ${mark.target} at ${isoTime(mark.copied_at)}, and is out of date since: a server that starts on it sends again ` +
      'what was sent from there. Start the server on the copy: store.url (STERNA_STORE_URL) names a database on a server, data_dir ' +
      '(STERNA_DATA_DIR) one in files. If the copy was broken off, or you want to go on here after all, run "sterna store reopen".',
  )
}
