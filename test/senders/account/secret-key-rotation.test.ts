import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Database, Row, Statement } from '../../../src/platform/store/database.ts'
import { aloneAs } from '../../../src/platform/store/only-node.ts'
import { addGeneration, openKeyFile, readKeyFile, secretsFrom, type Secrets } from '../../../src/senders/account/key-file.ts'
import { KeyRing } from '../../../src/senders/account/key-ring.ts'
import { knownFingerprint, noteFingerprint, tryToOpen } from '../../../src/senders/account/sealed-secrets.ts'
import { SecretKeyRotation } from '../../../src/senders/account/secret-key-rotation.ts'
import { testDirectory } from '../../support/temporary-directory.ts'
import { testCore, type TestCore } from '../../support/test-core.ts'

const secretCount = 1_700

const ticketKey = (number: number, secrets: Secrets): Statement => {
  const id = `tk_${String(number).padStart(5, '0')}`
  const key = secrets.seal(Buffer.from(id), `ticket_key ${id}`)
  return { sql: 'insert into ticket_key (id, key, made_at) values (:id, :key, 0)', params: { id, key } }
}

/** A database with many secrets, and a key file with a key that is not in use yet. */
async function startWithNewKey() {
  const core = await testCore()
  const secretKeyFile = join(testDirectory(), 'secret.key')
  const earlier = openKeyFile(secretKeyFile)
  const used = new KeyRing(earlier, null).used
  await core.db.write([noteFingerprint(used), ...Array.from({ length: secretCount }, (_, number) => ticketKey(number, earlier))])
  addGeneration(secretKeyFile)
  return { core, earlier, secretKeyFile, newest: new KeyRing(readKeyFile(secretKeyFile), null).used }
}

/** What a start does, over this database. */
async function rotationAt(core: TestCore, secretKeyFile: string, db: Database = core.db) {
  const file = readKeyFile(secretKeyFile)
  const secrets = new KeyRing(file, await knownFingerprint(core.db))
  const rotation = new SecretKeyRotation({ ...core, db, secrets, nodes: aloneAs('node_1'), config: { secretKeyFile } })
  onTestFinished(() => rotation.stop())
  return { rotation, secrets }
}

/** How many secrets the key in use does not open. */
async function leftOf({ db }: TestCore, secrets: Secrets): Promise<number> {
  const rows = await db.read<Row & { id: string; key: Uint8Array }>('select id, key from ticket_key')
  return rows.filter(({ id, key }) => !secrets.isCurrent(key, `ticket_key ${id}`)).length
}

test('a rotation of many secrets is written in pieces, and a start goes on with one that was interrupted', async () => {
  const { core, earlier, secretKeyFile, newest } = await startWithNewKey()
  const batches: number[] = []
  let stopped: Promise<void> | undefined
  const stopsAfterOne = {
    read: (sql: string, params: Row) => core.db.read(sql, params),
    write: async (batch: Statement[]) => {
      const isSealing = batch.some(({ sql }) => sql.startsWith('update ticket_key'))
      if (isSealing) batches.push(batch.length)
      if (isSealing) stopped = first.rotation.stop()
      return core.db.write(batch)
    },
  } as unknown as Database
  const first = await rotationAt(core, secretKeyFile, stopsAfterOne)
  await first.rotation.start()
  await expect.poll(() => batches.length).toBe(1)
  await stopped
  expect(await knownFingerprint(core.db)).toBe(newest)
  expect(batches).toEqual([500])
  expect(await leftOf(core, first.secrets)).toBe(secretCount - 500)
  expect(await tryToOpen(core.db, first.secrets)).toMatchObject({ opened: secretCount, shut: 0 })

  // One that no key of the file opens stays as it is.
  await core.db.write([ticketKey(secretCount, secretsFrom(Buffer.alloc(32, 9)))])
  const second = await rotationAt(core, secretKeyFile)
  await second.rotation.start()
  await expect.poll(() => leftOf(core, second.secrets)).toBe(1)
  expect(await tryToOpen(core.db, earlier)).toMatchObject({ opened: 0, shut: secretCount + 1 })
  await expect.poll(() => core.logged.join('')).toContain('all stored secrets are sealed with the secret key in use')
})

test('a second rotation while the server runs seals anew what the first one sealed', async () => {
  const { core, secretKeyFile, newest } = await startWithNewKey()
  const { rotation, secrets } = await rotationAt(core, secretKeyFile)
  await rotation.start()
  await expect.poll(() => leftOf(core, secrets)).toBe(0)
  expect(secrets.used).toBe(newest)
  addGeneration(secretKeyFile)
  expect(secrets.takeOver(readKeyFile(secretKeyFile))).toBe(true)
  await rotation.look()
  expect(secrets.used).not.toBe(newest)
  await expect.poll(() => leftOf(core, secrets)).toBe(0)
})

test('what a node has sealed with the key before, and stored late, is sealed anew without a start', async () => {
  const { core, earlier, secretKeyFile } = await startWithNewKey()
  const { rotation, secrets } = await rotationAt(core, secretKeyFile)
  await rotation.start()
  const isOver = async () => {
    await rotation.look()
    return core.logged.join('').includes('all stored secrets are sealed')
  }
  await expect.poll(isOver).toBe(true)
  await core.db.write([ticketKey(secretCount, earlier)])
  expect(await leftOf(core, secrets)).toBe(1)
  core.clock.advance(60_000)
  await rotation.look()
  await expect.poll(() => leftOf(core, secrets)).toBe(0)
})
