import type { AccountScope } from '../../senders/account/account-scope.ts'
import type { Clock } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Database } from '../../platform/store/database.ts'
import type { ErasedAddress } from './erased-address.ts'
import { readExport, type FileEntry } from './export-file.ts'
import type { ExportShape } from './export-shape.ts'
import { exportedSuppression } from './exported-suppression.ts'
import { insertSuppression, type NewSuppression } from './insert-suppression.ts'
import { listedForms } from './suppression-list.ts'
import type { SuppressionOrigin } from './suppression-origin.ts'

/** The result of an import. */
export interface ImportResult {
  imported: number
  /** Entries that were already on the list, or repeated. */
  known: number
  refused: number
  /** The first refused entries. */
  refusals: { line: number; reason: string }[]
  /** Why the rest of the file was not read. */
  broken: Error | null
}

interface ImportRequest {
  scope: AccountScope
  file: string
  shape: ExportShape
  /** Set if the user says what all entries are. */
  origin: SuppressionOrigin | null
  /** The topic that these people unsubscribed from, where the file does not say it; '' for mail without a topic. */
  topic: string
}

/** Entries per batch. A commit takes a few milliseconds, and others get their turn in between. */
const entriesAtOnce = 500
const maxRefusals = 100

/** Imports a service's export in batches. Entries already imported stay, whatever happens afterwards. */
export async function importSuppressions(
  { db, clock, erasedAddress }: { db: Database; clock: Clock; erasedAddress: ErasedAddress },
  request: ImportRequest,
): Promise<ImportResult> {
  const result: ImportResult = { imported: 0, known: 0, refused: 0, refusals: [], broken: null }
  let batch: NewSuppression[] = []
  const write = async (): Promise<void> => {
    const formOf = await listedForms(
      db,
      { ...request.scope, erasedAddress },
      batch.map(({ address }) => address),
    )
    const written = await db.write(batch.map((entry) => insertSuppression(request.scope, { ...entry, address: formOf(entry.address) })))
    const added = written.reduce((sum, { changes }) => sum + changes, 0)
    result.imported += added
    result.known += batch.length - added
    batch = []
  }
  for await (const entry of readable(request, result)) {
    const meant = meaningOf(entry, request, clock.now())
    if ('refused' in meant) refuse(result, entry.line, meant.refused)
    else batch.push({ ...meant.entry, topic: meant.entry.origin === 'unsubscribe' ? meant.entry.topic || request.topic : '' })
    if (batch.length === entriesAtOnce) await write()
  }
  if (batch.length > 0) await write()
  return result
}

/** The entries of the file, as far as it can be read. */
async function* readable({ file, shape }: ImportRequest, result: ImportResult): AsyncGenerator<FileEntry> {
  try {
    yield* readExport(file, shape)
  } catch (error) {
    if (!(error instanceof SternaError)) throw error
    result.broken = error
  }
}

const meaningOf = (entry: FileEntry, { shape, origin }: ImportRequest, now: number) =>
  'refused' in entry ? entry : exportedSuppression(entry.record, shape, { now, origin })

function refuse(result: ImportResult, line: number, reason: string): void {
  result.refused++
  if (result.refusals.length < maxRefusals) result.refusals.push({ line, reason })
}
