import { hasKey, readKeyFile, type Secrets } from '../account/key-file.ts'
import { knownFingerprint, tryToOpen } from '../account/sealed-secrets.ts'
import { messageOf } from '../errors.ts'
import type { Database } from '../store/database.ts'
import { type Finding, sayOf } from './finding.ts'

/** The state of the key file. */
export interface FoundKey {
  path: string
  /** Why it cannot be used; null if it can. */
  fault: string | null
  /** Whether it belongs to the database; null if the database never recorded its key. */
  isKnown: boolean | null
  /** Stored secrets, by whether it opens them. */
  secrets: { opened: number; shut: number }
}

/** Examines the key file as it is now; a running server keeps using the one that it has loaded. */
export async function examineKeyFile(path: string, db: Pick<Database, 'slowRead'>): Promise<Finding[]> {
  const reading = { read: db.slowRead }
  const { secrets, fault } = readKey(path)
  const known = await knownFingerprint(reading)
  const isKnown = secrets === null || known === null ? null : hasKey(secrets, known)
  return [judgeKeyFile({ path, fault, isKnown, secrets: await tryToOpen(reading, secrets) })]
}

function readKey(path: string): { secrets: Secrets | null; fault: string | null } {
  try {
    return { secrets: readKeyFile(path), fault: null }
  } catch (error) {
    return { secrets: null, fault: messageOf(error) }
  }
}

export function judgeKeyFile({ path, fault, isKnown, secrets: { opened, shut } }: FoundKey): Finding {
  const say = sayOf('key_file')
  const advice = `Put the key file of this database back at ${path}: the server does not start without it.`
  if (fault !== null) return say.failed(fault, advice)
  if (isKnown === false) return say.failed(`${path} is not the key file of this database.`, advice)
  if (shut > 0) {
    const remedy = 'Put back the key file that sealed them, or replace them: rotate the DKIM keys of domains whose mail is not signed.'
    return say.failed(`${path} does not open ${shut} of ${opened + shut} stored secrets.`, remedy)
  }
  return say.ok(
    `${path} opens all ${opened} stored secrets, and only its owner can read it. Keep a copy apart from the backups: without it they cannot be restored.`,
  )
}
