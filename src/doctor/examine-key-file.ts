import { fingerprintOf, readKeyFile, type Secrets } from '../account/key-file.ts'
import { knownFingerprint, tryToOpen } from '../account/sealed-secrets.ts'
import { messageOf } from '../errors.ts'
import type { Database } from '../store/database.ts'
import { type Finding, sayOf } from './finding.ts'

/** What is found of the key file. */
export interface FoundKey {
  path: string
  /** Why it cannot be used; null where it can. */
  fault: string | null
  /** Whether it is the one that the database belongs to; null where that was never noted. */
  isKnown: boolean | null
  /** Stored secrets by whether they open with it. */
  secrets: { opened: number; shut: number }
}

/** Looks at the key file as it is now: a running server goes on with the one that it has read. */
export async function examineKeyFile(path: string, db: Pick<Database, 'report'>): Promise<Finding[]> {
  const reading = { read: db.report }
  const { secrets, fault } = readKey(path)
  const known = await knownFingerprint(reading)
  const isKnown = secrets === null || known === null ? null : fingerprintOf(secrets) === known
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
  const advice = `Bring back to ${path} the key file that this database was made with: the server does not start without it.`
  if (fault !== null) return say.failed(fault, advice)
  if (isKnown === false) return say.failed(`${path} is not the key file that the database was made with.`, advice)
  if (shut > 0) {
    const remedy =
      'Bring back the key file that they were sealed with, or make new ones: rotate the DKIM keys of domains whose mail is not signed.'
    return say.failed(`${shut} of ${opened + shut} stored secrets do not open with ${path}.`, remedy)
  }
  return say.ok(`${path} opens all ${opened} stored secrets.`)
}
