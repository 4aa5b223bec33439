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
}

const certificateFile = /^([a-z0-9.-]{1,240})\.pem$/

/**
 * Earlier versions kept the account, the certificates and the attempts in files. What is there goes into the database, where that knows nothing
 * of it yet, and the files are removed. A file that cannot be used stays, and what it was for is ordered again.
 * @param directory of the authority
 */
export async function adoptFiles({ db, secrets, log }: AdoptServices, state: AcmeState, directory: string): Promise<void> {
  const files = await readdir(directory).catch(() => [])
  const { authority } = state
  const known = new Set((await certificateRows(db, { authority })).map(({ name }) => name))
  const isKnown = await state.isKept()
  const adopted: { file: string; batch: Statement[] }[] = []
  for (const file of files) {
    const name = certificateFile.exec(file)?.[1]
    try {
      const text = await readFile(join(directory, file), 'utf8')
      const batch: Statement[] = []
      if (name !== undefined && !known.has(name)) {
        batch.push(keepCertificate({ id: issuedId(authority, name), authority, name }, { ...pairIn(name, text), now: 0 }, secrets))
      }
      const account = file === 'account.json' ? accountIn(text) : null
      if (account && !isKnown) batch.push(state.accountStatement(account))
      if (file === 'attempts.json' && !isKnown) batch.push(state.attemptsStatement(text))
      if (name !== undefined || file === 'account.json' || file === 'attempts.json') adopted.push({ file, batch })
    } catch (error) {
      log.warn({ file: join(directory, file), problem: messageOf(error) }, 'a file of the certificate authority cannot be used')
    }
  }
  if (adopted.length === 0) return
  await db.write(adopted.flatMap(({ batch }) => batch))
  for (const { file } of adopted) await rm(join(directory, file), { force: true })
  await rmdir(directory).catch(() => {})
  log.info({ directory, files: adopted.length }, 'certificates and account were taken from files into the database')
}

/** @throws Error without a word of the text, which has a key */
function accountIn(text: string): StoredAccount {
  try {
    return JSON.parse(text) as StoredAccount
  } catch {
    throw new Error('it is not JSON')
  }
}
