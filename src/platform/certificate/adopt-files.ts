import { X509Certificate } from 'node:crypto'
import { readFile, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Database, Statement } from '../store/database.ts'
import type { AcmeState, StoredAccount } from './acme-state.ts'
import { certificateRows, issuedId, keepCertificate, openRow, type CertificateRow } from './certificate-rows.ts'
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
 * Earlier versions kept the account, the certificates and the attempts in files. What is there of this authority goes into the database, where
 * that has none that can be used. The files stay for those who go back to such a version: a certificate until it was renewed or has expired, the
 * rest until no certificate is left and the database has it. A file that cannot be used stays, and what it was for is ordered again.
 * @param directory of all authorities
 */
export async function adoptFiles({ db, secrets, log, now }: AdoptServices, state: AcmeState, directory: string): Promise<void> {
  const { authority } = state
  const own = join(directory, authority)
  const inUse = new Map((await certificateRows(db, { authority })).map((row) => [row.name, usable(row, secrets)]))
  const account = await state.account()
  const isKnown = await state.isKept()
  const batch: Statement[] = []
  await eachFile(own, log, async (file, text) => {
    const name = certificateFile.exec(file)?.[1]
    if (name !== undefined && !inUse.get(name) && !isOver(text, { now })) {
      batch.push(keepCertificate({ id: issuedId(authority, name), authority, name }, { ...pairIn(name, text), now: 0 }, secrets))
    }
    if (file === accountFile && !account) batch.push(state.accountStatement(accountIn(text)))
    if (file === attemptsFile && !isKnown) batch.push(state.attemptsStatement(text))
  })
  if (batch.length > 0) {
    await db.write(batch)
    log.info({ directory: own, adopted: batch.length }, 'certificates and account were taken from files into the database')
  }
  await eachFile(own, null, async (file, text) => {
    const name = certificateFile.exec(file)?.[1]
    if (name !== undefined && isOver(text, { now, inUse: inUse.get(name) })) await rm(join(own, file))
  })
  await removeRest(own, state)
}

/** Removes what the database has of the account, and the directory, when no certificate is left there. */
async function removeRest(own: string, state: AcmeState): Promise<void> {
  if ((await namesIn(own)).some((file) => certificateFile.test(file))) return
  const account = await state.account()
  const isKept = await state.isKept()
  await eachFile(own, null, async (file, text) => {
    const isTakenOver = file === accountFile ? accountIn(text).key === account?.key : file === attemptsFile && isKept
    if (isTakenOver) await rm(join(own, file))
  })
  await rmdir(own).catch(() => {})
}

/** Whether a certificate has expired, or another one is in use in its place. */
function isOver(text: string, { now, inUse }: { now: number; inUse?: X509Certificate | null | undefined }): boolean {
  const found = parsed(text)
  if (!found) return false
  return Date.parse(found.validTo) <= now || (inUse?.fingerprint256 ?? found.fingerprint256) !== found.fingerprint256
}

/** Null if the row cannot be used: a file may be the only good copy. */
function usable(row: CertificateRow, sealer: Pick<Sealer, 'open'>): X509Certificate | null {
  try {
    const { cert, key } = openRow(row, sealer)
    return parsed(pairIn(row.name, `${cert}\n${key}`).cert)
  } catch {
    return null
  }
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
    const account = JSON.parse(text) as StoredAccount
    if (typeof account.key === 'string') return account
  } catch {
    // The message would have a part of it.
  }
  throw new Error('it has no account')
}
