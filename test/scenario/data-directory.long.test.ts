import { renameSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDirectory } from '../support/temporary-directory.ts'
import { inOtherProcess } from '../support/other-process.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

let relay: TestRelay
beforeAll(async () => {
  relay = await startTestRelay()
})
afterAll(() => relay.stop())

const inData = (name: string): string => join(relay.relay.services.config.dataDir, name)
const health = async (): Promise<unknown> => {
  const { status, body } = await relay.call('GET', '/healthz')
  return [status, ...body.faults.map(({ name }: { name: string }) => name)]
}
const email = { from: 'app@sender.example', to: 'delivered@simulator.test', subject: 'Hello', text: 'Hello' }
const sendStatus = async (): Promise<number> => (await relay.call('POST', '/api/send', email)).status

async function smtpReply(): Promise<number> {
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  const { code } = await client.send('From: app@sender.example\r\nSubject: x\r\n\r\nx\r\n', {
    from: 'app@sender.example',
    to: ['delivered@simulator.test'],
  })
  client.close()
  return code
}

test('mail is refused for a while, and /healthz says so, while what is written would have no place on the disk', async () => {
  expect([await sendStatus(), await smtpReply()]).toEqual([200, 250])
  expect(await health()).toEqual([200])
  renameSync(inData('sterna.db'), inData('aside.db'))
  await expect.poll(health).toEqual([503, 'database_gone'])
  expect([await sendStatus(), await smtpReply()]).toEqual([503, 451])
  expect((await relay.call('POST', '/api/emails/batch', [email, email])).status).toBe(503)
  renameSync(inData('aside.db'), inData('sterna.db'))
  await expect.poll(health).toEqual([200])
  expect([await sendStatus(), await smtpReply()]).toEqual([200, 250])
})

test('/healthz is not ok while nothing can be written, and ok again by itself', async () => {
  const shell = new Sqlite(inData('sterna.db'))
  shell.exec('begin immediate')
  expect(await sendStatus()).toBe(503)
  expect(await health()).toEqual([503, 'writing'])
  shell.exec('rollback')
  shell.close()
  expect(await sendStatus()).toBe(200)
  expect(await health()).toEqual([200])
})

test('/healthz tells that the server would not start again for want of its key file', async () => {
  renameSync(inData('secret.key'), inData('aside.key'))
  await expect.poll(health).toEqual([503, 'key_file'])
  expect(await sendStatus()).toBe(200)
  renameSync(inData('aside.key'), inData('secret.key'))
  await expect.poll(health).toEqual([200])
})

test('lists are answered when no file can be opened any more', () => {
  const script = `
    import { openSync } from 'node:fs'
    const { startRelay } = await source('server/relay/relay.ts')
    const { loadConfig } = await source('platform/config/load-config.ts')
    const { silentLog } = await source('platform/log.ts')
    const { systemClock } = await source('platform/clock.ts')
    const names = ['HTTP_LISTEN', 'SUBMISSION_LISTEN', 'SUBMISSION_TLS_LISTEN', 'RETURN_PATH_LISTEN']
    const listen = Object.fromEntries(names.map((name) => ['STERNA_' + name, '127.0.0.1:0']))
    const config = loadConfig({ env: { STERNA_DATA_DIR: given, STERNA_HOSTNAME: 'relay.example', STERNA_DNS_SERVERS: '127.0.0.1:1', ...listen } })
    const relay = await startRelay(config, { clock: systemClock, log: silentLog, onFatal: () => console.log('fatal'), version: 'test' })
    try { for (;;) openSync(given) } catch {}
    console.log((await relay.services.db.slowRead('select count(*) as accounts from account')).length)
    await relay.stop()`
  const { stdout, stderr } = inOtherProcess(script, testDirectory(), { files: 256 })
  expect({ stdout, stderr }).toEqual({ stdout: '1\n', stderr: '' })
})
