import { expect, onTestFinished, test } from 'vitest'
import { compactDatabase } from '../../src/clients/command/compact-database.ts'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { restoreBackup } from '../../src/clients/command/restore.ts'
import { closedStore } from '../../src/platform/store/closed-store.ts'
import { openStore } from '../../src/platform/store/open-store.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'

/** The store as it is where the database is on a server: everything but files. */
const open: typeof openStore = async (options) => ({ ...(await openStore(options)), files: null })

test('without files of its own a relay delivers, and refuses what needs them with what to do instead', async () => {
  const host = '127.0.3.7'
  const mx = await startFakeMx({ host })
  onTestFinished(() => mx.close())
  const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } } as const
  const relay = await startTestRelay({ delivery_port: String(mx.port) }, zone as never, { open })
  onTestFinished(() => relay.stop())
  const id = await relay.send('bob@rcpt.example')
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('delivered')

  const { services } = relay.relay
  const run = (...argv: string[]) => runCommand({ argv, cwd: testDirectory() }, services)
  expect(await run('backup', 'copy.db')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('use pg_dump') })
  expect(await run('backup', 'copies/')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('use pg_dump') })
  const erasure = await relay.call('POST', '/api/erasures', { email: 'bob@rcpt.example' })
  expect(erasure).toMatchObject({ status: 202, body: { left: expect.stringContaining('vacuum full') } })
  expect(await run('erase', 'bob@rcpt.example')).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('vacuum full') })
  const erased = Object.entries(await relay.recipients(id))
  expect(erased).toEqual([[expect.stringMatching(/@erased\.invalid$/), expect.objectContaining({ status: 'delivered' })]])
  const { stdout } = await run('doctor')
  expect(stdout).toContain('data_directory')
  expect(stdout).not.toMatch(/^\w+ +database:/m)
  expect(await services.metricsPage.text('test')).not.toMatch(
    /^sterna_(?:store_(?:database|wal)|disk)_|^sterna_scrape_part_up\{part="disk"/m,
  )
  await relay.restart()
  expect(Object.entries(await relay.recipients(id))).toEqual(erased)
})

test.each([
  [{ backup_schedule: '0 3 * * *', backup_target: '/tmp' }, /backup\.schedule .*pg_dump/],
  [{ backup_continuous: 'true', backup_target: '/tmp' }, /backup\.continuous .*WAL/],
])('a setting that needs files keeps a relay without them from starting: %o', async (settings, words) => {
  await expect(startTestRelay(settings, {}, { open })).rejects.toThrow(words)
})

test('commands that work on the files of a closed database refuse one that has none', async () => {
  const store = { ...closedStore({ dataDir: testDirectory(), store: { url: null } }), files: null }
  expect(() => compactDatabase({ dataDir: '/nowhere', store: { url: null } }, () => {}, store)).toThrow('vacuum full')
  const config = { dataDir: '/nowhere', store: { url: null }, backup: { target: null } } as never
  await expect(restoreBackup({ args: ['copy.db'], options: {}, cwd: '/' }, config, store)).rejects.toThrow('pg_restore')
})
