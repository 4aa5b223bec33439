import { noteCopied } from '../../mail-out/queue/restored-hold.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Config } from '../../platform/config/settings.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { copiedMark, type CopiedMark } from '../../platform/store/copied-mark.ts'
import { copyStore, type CopyDirection } from '../../platform/store/copy-store.ts'
import { isEqual, type CopiedTable } from '../../platform/store/copy-tables.ts'
import { openStore } from '../../platform/store/open-store.ts'
import type { Store } from '../../platform/store/store.ts'
import { requireKeyFile } from '../../senders/account/open-secrets.ts'
import { table, textOption, usageFault, type CommandInput, type CommandOutput } from './command.ts'
import { ofSettings } from './store-commands.ts'

type CopyConfig = Pick<Config, 'dataDir' | 'store' | 'secretKeyFile'>

/**
 * Copies all data from one engine to the other.
 * @param tell writes a line for the person who waits
 * @throws SternaError as `copyStore`, and `configuration` if the key file is missing or another one
 */
export async function runStoreCopy(
  input: CommandInput,
  config: CopyConfig,
  { clock, tell }: { clock: Pick<Clock, 'now'>; tell(line: string): void },
): Promise<CommandOutput> {
  const { url, direction } = wanted(input, config)
  const { dataDir } = config
  const requireKey = (fingerprint: string | null): void => {
    if (fingerprint !== null) requireKeyFile(fingerprint, config)
  }
  const copied = await copyStore({ dataDir, url, direction, now: clock.now(), requireKey, tell })
  const { tables, isSame, from, to, replaced } = copied
  return {
    stdout: tableOf(tables),
    json: { object: 'store_copy', from, to, is_same: isSame, replaced_nul: replaced, tables: tables.map(tableObject) },
    stderr: `${replaced > 0 ? nulReplaced(replaced) : ''}${isSame ? done(direction, from) : different(tables)}\n`,
    exitCode: isSame ? 0 : 1,
  }
}

function wanted(input: CommandInput, { store }: CopyConfig): { url: string; direction: CopyDirection } {
  const [to, from] = [textOption(input, 'to'), textOption(input, 'from')]
  const given = to ?? from
  if (given === undefined || (to !== undefined && from !== undefined)) {
    throw usageFault('Say where to copy: either --to URL, from the data directory, or --from URL, into the data directory.')
  }
  const direction = to === undefined ? 'from server' : 'to server'
  if (given !== ofSettings) return { url: given, direction }
  if (store.url !== null) return { url: store.url.reveal(), direction }
  throw usageFault('store.url is not set, so there is no URL. Set it (STERNA_STORE_URL), or give the URL itself.')
}

const shownHash = 16

const tableOf = (tables: readonly CopiedTable[]): string =>
  table([
    ['TABLE', 'ROWS', 'COPIED', 'SHA-256', 'OF THE COPY', ''],
    ...tables.map((each) => [
      each.table,
      String(each.source.rows),
      String(each.target.rows),
      each.source.sha256.slice(0, shownHash),
      each.target.sha256.slice(0, shownHash),
      isEqual(each) ? 'same' : 'DIFFERENT',
    ]),
  ])

const tableObject = ({ table: name, source, target }: CopiedTable): object => ({
  table: name,
  rows: source.rows,
  sha256: source.sha256,
  copied_rows: target.rows,
  copied_sha256: target.sha256,
})

const done = (direction: CopyDirection, from: string): string =>
  `Copied, and every row is the same. No server starts on ${from} any more. ` +
  (direction === 'to server'
    ? 'Set store.url to the database, if it is not set yet, and start the server: it goes on where it stopped.'
    : 'Remove store.url from the settings, and start the server: it goes on where it stopped.')

const different = (tables: readonly CopiedTable[]): string =>
  `The copy is not the same in ${tables.flatMap((each) => (isEqual(each) ? [] : [each.table])).join(', ')}. Nothing was kept of it, and ` +
  'the data is as it was. If it happens again, report it with this table.'

const nulReplaced = (values: number): string =>
  `${values} ${values === 1 ? 'value has a character' : 'values have characters'} that the database cannot hold (U+0000), replaced by U+FFFD.\n`

/**
 * Lifts the mark of a copy.
 * @throws SternaError `invalid_state` if there is none, and as `openStore`
 */
export async function reopenStore(config: Pick<Config, 'dataDir' | 'store'>, clock: Clock): Promise<CommandOutput> {
  const store = await openStore({ place: config, clock, olderSchema: 'refuse', opensCopied: true })
  try {
    const mark = await liftMark(store)
    const copied_at = isoTime(mark.copied_at)
    return {
      stdout: '',
      json: { object: 'store_reopening', copied_to: mark.target, copied_at },
      stderr:
        `A server may start on this data again. It has nothing from after ${copied_at}. Do not start one on ${mark.target} too. Mail that is ` +
        'queued here is held: see sterna queue release --help.\n',
    }
  } finally {
    await store.db.close()
  }
}

/** Whoever opens the data next holds the mail that is queued in it: it may have been sent from the copy. */
export async function liftMark({ db, clock }: Pick<Store, 'db' | 'clock'>): Promise<CopiedMark> {
  const mark = await copiedMark(db)
  if (mark === null) throw new SternaError('invalid_state', 'This data was not copied elsewhere. A server may start on it.')
  await noteCopied({ db, clock })
  await db.write([{ sql: 'delete from store_copy' }])
  return mark
}
