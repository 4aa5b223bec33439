import { copyFileSync, cpSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { restoreBackup } from '../../src/clients/command/restore.ts'
import { compact } from '../../src/platform/store/sqlite/compact.ts'
import { databaseFile } from '../../src/platform/store/sqlite/data-directory.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'

const hour = 3_600_000

const command = (relay: TestRelay, ...argv: string[]) => runCommand({ argv, cwd: '/' }, relay.relay.services)

const restore = (relay: TestRelay, file: string) =>
  restoreBackup({ args: [file], options: { force: true }, cwd: '/' }, relay.relay.services.config)

/** As somebody does who does not know that there is a command for it. */
function copyIntoPlace(relay: TestRelay, file: string): void {
  copyFileSync(file, join(relay.dataDir, 'sterna.db'))
}

/** A relay whose backup, and the copy of whose files, have two recipients in the queue, who have got their mail since. */
async function delivered() {
  const mx = await startFakeMx({ host: '127.0.0.2', on: { rcpt: () => '451 4.7.1 Later' } })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port) },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: ['127.0.0.2'] } },
  )
  onTestFinished(() => relay.stop())
  const statusOf = async (id: string): Promise<string> => (await relay.call('GET', `/api/emails/${id}`)).body.status
  const deferred = await relay.send('deferred@rcpt.example')
  const scheduled = await relay.send('scheduled@rcpt.example', { scheduled_at: new Date(relay.clock.now() + hour).toISOString() })
  await expect.poll(async () => (await relay.recipients(deferred))['deferred@rcpt.example']?.status).toBe('deferred')

  const file = join(testDirectory(), 'backup.db')
  expect(await command(relay, 'backup', file)).toMatchObject({ exitCode: 0 })
  const copied = join(testDirectory(), 'copied')
  const copyFiles = (): void =>
    cpSync(relay.dataDir, copied, { recursive: true, preserveTimestamps: true, filter: (path) => !path.endsWith('.sock') })
  copyFiles()
  mx.on = {}
  relay.clock.advance(2 * hour)
  for (const id of [deferred, scheduled]) await expect.poll(() => statusOf(id)).toBe('delivered')
  const got = (): string[] => mx.messages.flatMap(({ rcptTo }) => rcptTo).toSorted()
  expect(got()).toEqual(['deferred@rcpt.example', 'scheduled@rcpt.example'])
  return { relay, file, copied, deferred, scheduled, statusOf, got }
}

const faultsOf = async ({ baseUrl }: TestRelay) => {
  const response = await fetch(`${baseUrl}/healthz`)
  return { status: response.status, faults: ((await response.json()) as { faults: { name: string; message: string }[] }).faults }
}

test.each([
  ['by sterna restore', restore],
  ['by hand', copyIntoPlace],
])('a backup restored %s sends nothing twice; new mail flows, and what is held is sent once it is released', async (_, putInPlace) => {
  const { relay, file, deferred, scheduled, statusOf, got } = await delivered()
  await relay.restart(() => putInPlace(relay, file))
  expect(await faultsOf(relay)).toMatchObject({ status: 200, faults: [{ name: 'restored' }] })
  expect((await faultsOf(relay)).faults[0]?.message).toMatch(/is a backup of 2\d{3}-.*Z: .*\(recipients at the start: 2\)/)

  // It stays held over a restart, for hours, and when somebody asks for another attempt.
  await relay.restart()
  relay.clock.advance(3 * hour)
  expect((await command(relay, 'queue', 'retry', 'rcpt.example')).stderr).toContain('held')
  const fresh = await relay.send('fresh@rcpt.example')
  await expect.poll(() => statusOf(fresh)).toBe('delivered')
  expect(got()).toEqual(['deferred@rcpt.example', 'fresh@rcpt.example', 'scheduled@rcpt.example'])
  expect(await Promise.all([deferred, scheduled].map(statusOf))).toEqual(['processing', 'scheduled'])

  expect(await command(relay, 'queue', 'release', '--restored')).toMatchObject({ exitCode: 0, stderr: '2 recipients released.\n' })
  for (const id of [deferred, scheduled]) await expect.poll(() => statusOf(id)).toBe('delivered')
  expect(await faultsOf(relay)).toEqual({ status: 200, faults: [] })
  expect((await command(relay, 'queue', 'release', '--restored')).stderr).toContain('No mail is held')
  await relay.restart()
  expect(await faultsOf(relay)).toEqual({ status: 200, faults: [] })
})

test('what a restored backup holds can be canceled over the API, and a backup of it is still one', async () => {
  const { relay, file, deferred, scheduled, statusOf, got } = await delivered()
  await relay.restart(() => restore(relay, file))
  const again = join(testDirectory(), 'again.db')
  expect(await command(relay, 'backup', again)).toMatchObject({ exitCode: 0 })
  const before = (await faultsOf(relay)).faults[0]?.message
  await relay.restart(() => restore(relay, again))
  expect((await faultsOf(relay)).faults[0]?.message).toBe(before)

  const { accounts, apiKeys } = relay.relay.services
  const { token } = await apiKeys.create({ accountId: accounts.getAccount('test').id, name: 'operator', permission: 'operator' })
  const authorization = `Bearer ${token}`
  const cancel = () => relay.call('POST', '/api/queue/restored/cancel', undefined, { authorization })
  expect(await cancel()).toEqual({ status: 200, body: { object: 'restored_mail', recipients: 2 } })
  expect((await cancel()).status).toBe(409)
  expect(await Promise.all([deferred, scheduled].map(statusOf))).toEqual(['canceled', 'canceled'])
  expect((await relay.events(deferred))[0]).toBe('email.canceled')
  relay.clock.advance(6 * hour)
  expect(got()).toHaveLength(2)
  expect(await faultsOf(relay)).toEqual({ status: 200, faults: [] })
})

/** The copy takes the place of the original: the same path, other files. */
function replaceBy(relay: TestRelay, copied: string): void {
  renameSync(relay.dataDir, `${copied}.original`)
  renameSync(copied, relay.dataDir)
}

test('a copied data directory sends nothing twice, and is told once', async () => {
  const { relay, copied, deferred, scheduled, statusOf, got } = await delivered()
  await relay.restart(() => replaceBy(relay, copied))
  const { status, faults } = await faultsOf(relay)
  expect({ status, names: faults.map(({ name }) => name) }).toEqual({ status: 200, names: ['moved'] })
  expect(faults[0]?.message).toMatch(/copied or moved\. .*\(recipients at the start: 2\).*sterna queue release --restored/)

  await relay.restart()
  relay.clock.advance(3 * hour)
  const fresh = await relay.send('fresh@rcpt.example')
  await expect.poll(() => statusOf(fresh)).toBe('delivered')
  expect(got()).toEqual(['deferred@rcpt.example', 'fresh@rcpt.example', 'scheduled@rcpt.example'])
  expect(await Promise.all([deferred, scheduled].map(statusOf))).toEqual(['processing', 'scheduled'])

  expect(await command(relay, 'queue', 'release', '--restored')).toMatchObject({ exitCode: 0, stderr: '2 recipients released.\n' })
  for (const id of [deferred, scheduled]) await expect.poll(() => statusOf(id)).toBe('delivered')
  await relay.restart()
  expect(await faultsOf(relay)).toEqual({ status: 200, faults: [] })
})

test('a copy without its lock and the note of its database is known too', async () => {
  const { relay, copied, got } = await delivered()
  for (const name of ['lock', 'database.json']) rmSync(join(copied, name))
  await relay.restart(() => replaceBy(relay, copied))
  expect((await faultsOf(relay)).faults).toMatchObject([{ name: 'moved' }])
  relay.clock.advance(3 * hour)
  expect(got()).toHaveLength(2)
})

test.each([
  ['moved on its disk', (relay: TestRelay, place: string) => [renameSync(relay.dataDir, place), renameSync(place, relay.dataDir)]],
  ['whose lock somebody removed', (relay: TestRelay) => rmSync(join(relay.dataDir, 'lock'))],
  ['whose database was compacted', async (relay: TestRelay) => compact(databaseFile(relay.dataDir), () => {})],
])('a data directory %s is the same', async (_, change) => {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  const at = new Date(relay.clock.now() + hour).toISOString()
  await relay.send('scheduled@rcpt.example', { scheduled_at: at })
  await relay.restart(() => change(relay, `${relay.dataDir}.aside`))
  expect(await faultsOf(relay)).toEqual({ status: 200, faults: [] })
  // What is noted by now holds for the next change as well.
  await relay.restart(() => change(relay, `${relay.dataDir}.aside`))
  expect(await faultsOf(relay)).toEqual({ status: 200, faults: [] })
})

test('a copy in which nothing is queued starts without a word, and a copy of it is known again', async () => {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  const replace = (): void => {
    const copied = join(testDirectory(), 'copied')
    cpSync(relay.dataDir, copied, { recursive: true })
    replaceBy(relay, copied)
  }
  await relay.restart(replace)
  expect(await faultsOf(relay)).toEqual({ status: 200, faults: [] })
  await relay.send('scheduled@rcpt.example', { scheduled_at: new Date(relay.clock.now() + hour).toISOString() })
  await relay.restart(replace)
  expect((await faultsOf(relay)).faults).toMatchObject([{ name: 'moved' }])
  // Another copy of it, before anybody has dealt with the first.
  await relay.send('another@rcpt.example', { scheduled_at: new Date(relay.clock.now() + hour).toISOString() })
  await relay.restart(replace)
  expect((await command(relay, 'queue', 'release', '--restored')).stderr).toBe('2 recipients released.\n')
})
