import { hasKey, readKeyFile, type Secrets } from '../../senders/account/key-file.ts'
import { knownFingerprint, tryToOpen } from '../../senders/account/sealed-secrets.ts'
import type { Database } from '../../platform/store/database.ts'
import { type Finding, sayOf } from './finding.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/** The state of the key file. */
interface FoundKey {
  path: string
  /** Why it cannot be used; null if it can. */
  fault: string | null
  /** Whether it belongs to the database; null if the database never recorded its key. */
  isKnown: boolean | null
  /** Stored secrets, by whether it opens them. */
  secrets: { opened: number; shut: number }
}

/** Examines the key file as it is now; a running server takes over what is added to it, and nothing else. */
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
    return { secrets: null, fault: reasonOf(error) }
  }
}

function judgeKeyFile({ path, fault, isKnown, secrets: { opened, shut } }: FoundKey): Finding {
  const say = sayOf('key_file')
  if (fault !== null) return say.failed('key_file_unusable', { fault, path })
  if (isKnown === false) return say.failed('key_file_of_another', { path })
  if (shut > 0) return say.failed('key_file_does_not_open', { path, unopened: shut, all: opened + shut })
  return say.ok('key_file_fine', { path, all: opened })
}
