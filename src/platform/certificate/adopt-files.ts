import { X509Certificate } from 'node:crypto'
import { readFile, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Database, Statement } from '../store/database.ts'
import type { AcmeState, StoredAccount } from './acme-state.ts'
import { certificateRows, issuedId, keepCertificate } from './certificate-rows.ts'
import { pairIn } from './issued-certificates.ts'
import type { Sealer } from './sealer.ts'

interface AdoptServices {
  db: Pick<Database, 'read' | 'write'>
  secrets: Sealer
  log: Log
  /** Epoch, ms. */
  now: number
}

const certificateFile = /^([a-z0-9.-]{1,240})\.pem$/
const accountFile = 'account.json'
const attemptsFile = 'attempts.json'

/**
 * Earlier versions kept the account, the certificates and the attempts in files. What is there goes into the database, where that knows nothing
 * of it yet. The files stay for those who go back to such a version: a certificate until it was renewed or has expired, the rest until no
 * certificate is left and the database has it. A file that cannot be used stays, and what it was for is ordered again. What is of another
 * authority than this one stays for that, but for what has expired.
 * @param directory of all authorities
 */
export async function adoptFiles({ db, secrets, log, now }: AdoptServices, state: AcmeState, directory: string): Promise<void> {
  const { authority } = state
  const own = join(directory, authority)
  const rows = await certificateRows(db, { authority })
  const isKnown = await state.isKept()
  const batch: Statement[] = []
  await eachFile(own, log, async (file, text) => {
    const name = certificateFile.exec(file)?.[1]
    if (name !== undefined && rows.every((row) => row.name !== name) && !isOver(text, { now })) {
      batch.push(keepCertificate({ id: issuedId(authority, name), authority, name }, { ...pairIn(name, text), now: 0 }, secrets))
    }
    if (file === accountFile && !isKnown) batch.push(state.accountStatement(accountIn(text)))
    if (file === attemptsFile && !isKnown) batch.push(state.attemptsStatement(text))
  })
  if (batch.length > 0) {
    await db.write(batch)
    log.info({ directory: own, adopted: batch.length }, 'certificates and account were taken from files into the database')
  }
  const chains = new Map(rows.map(({ name, chain }) => [name, chain]))
  for (const each of await namesIn(directory)) {
    await removeOver(join(directory, each), (name, text) => isOver(text, { now, inUse: each === authority ? chains.get(name) : undefined }))
  }
}

/** Removes the certificates that are over, and the rest of the directory when none is left. */
async function removeOver(directory: string, isIt: (name: string, text: string) => boolean): Promise<void> {
  await eachFile(directory, null, async (file, text) => {
    const name = certificateFile.exec(file)?.[1]
    if (name !== undefined && isIt(name, text)) await rm(join(directory, file))
  })
  if ((await namesIn(directory)).some((file) => certificateFile.test(file))) return
  for (const file of [accountFile, attemptsFile]) await rm(join(directory, file), { force: true })
  await rmdir(directory).catch(() => {})
}

/** Whether a certificate has expired, or another one is in use in its place. */
function isOver(text: string, { now, inUse }: { now: number; inUse?: string | undefined }): boolean {
  const found = parsed(text)
  if (inUse !== undefined && found?.fingerprint256 !== parsed(inUse)?.fingerprint256) return true
  return found !== null && Date.parse(found.validTo) <= now
}

function parsed(text: string): X509Certificate | null {
  try {
    return new X509Certificate(text)
  } catch {
    return null
  }
}

const namesIn = (directory: string): Promise<string[]> => readdir(directory).catch(() => [])

async function eachFile(directory: string, log: Log | null, use: (file: string, text: string) => Promise<void>): Promise<void> {
  for (const file of await namesIn(directory)) {
    try {
      await use(file, await readFile(join(directory, file), 'utf8'))
    } catch (error) {
      log?.warn({ file: join(directory, file), problem: messageOf(error) }, 'a file of the certificate authority cannot be used')
    }
  }
}

/** @throws Error without a word of the text, which has a key */
function accountIn(text: string): StoredAccount {
  try {
    return JSON.parse(text) as StoredAccount
  } catch {
    throw new Error('it is not JSON')
  }
}
