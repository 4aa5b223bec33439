import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/platform/log.ts'
import { startFakeMx, type FakeMx, type FakeMxOptions, type MxHooks } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { testCertificate, type TestCertificate } from '../support/test-certificates.ts'

const host = '127.0.4.1'
let certificate: TestCertificate
let otherName: TestCertificate
beforeAll(async () => {
  ;[certificate, otherName] = await Promise.all([testCertificate(['smart.example']), testCertificate(['other.example'])])
})

/** A smarthost that takes mail after this login by PLAIN only. */
async function smarthost(options: FakeMxOptions = {}, on: MxHooks = {}): Promise<FakeMx> {
  const right = `AUTH PLAIN ${Buffer.from('\0relay@smart.example\0s3cret').toString('base64')}`
  const hooks: MxHooks = {
    auth: (line) => (line === right ? '235 2.7.0 Welcome' : '535 5.7.8 Wrong user or password'),
    mail: (_, __, { commands }) => (commands.includes(right) ? undefined : '530 5.7.0 Authentication required'),
  }
  const mx = await startFakeMx({
    host,
    extensions: ['PIPELINING', '8BITMIME', 'AUTH PLAIN LOGIN'],
    tls: certificate,
    on: { ...hooks, ...on },
    ...options,
  })
  onTestFinished(() => mx.close())
  return mx
}

interface Logged {
  relay: TestRelay
  /** What was logged of the fault. */
  told(): unknown[]
  faults(): Promise<string[]>
  setPassword(password: string): void
}

/** A relay whose mail goes by this smarthost; the password is in a file. */
async function relayBy(
  mx: FakeMx,
  { password = 's3cret', settings = {} }: { password?: string; settings?: Record<string, string> } = {},
): Promise<Logged> {
  const files = temporaryDirectory()
  const passwordFile = join(files.path, 'password')
  const setPassword = (text: string): void => writeFileSync(passwordFile, `${text}\n`)
  setPassword(password)
  writeFileSync(join(files.path, 'ca.pem'), `${certificate.cert}\n${otherName.cert}`)
  const lines: { fault?: string; level: string }[] = []
  const relay = await startTestRelay(
    {
      delivery_smarthost: `smart.example:${mx.port}`,
      delivery_smarthost_user: 'relay@smart.example',
      delivery_smarthost_password_file: passwordFile,
      delivery_smarthost_ca: join(files.path, 'ca.pem'),
      ...settings,
    },
    { 'smart.example': { a: [host] } },
    { log: createLog('info', (line) => lines.push(JSON.parse(line))) },
  )
  onTestFinished(async () => {
    await relay.stop()
    files.remove()
  })
  return {
    relay,
    told: () => lines.filter(({ fault, level }) => fault === 'smarthost_login' && level === 'error'),
    faults: async () =>
      ((await (await fetch(`${relay.baseUrl}/healthz`)).json()) as { faults: { name: string }[] }).faults.map(({ name }) => name),
    setPassword,
  }
}

const becomes = (relay: TestRelay, id: string, status: string): Promise<void> =>
  expect.poll(async () => Object.values(await relay.recipients(id)).map((each) => each.status)).toEqual([status])
const answerTo = async (relay: TestRelay, id: string): Promise<string> => Object.values(await relay.recipients(id))[0]?.last_response ?? ''
const isLogin = (command: string): boolean => command.startsWith('AUTH')
const loginsAt = (mx: FakeMx): string[] => mx.sessions.flatMap(({ commands }) => commands.filter(isLogin))

describe('mail leaves by a smarthost that wants a login', () => {
  test('over STARTTLS, and the password is shown nowhere', async () => {
    const mx = await smarthost()
    const { relay, faults } = await relayBy(mx, {
      settings: { delivery_smarthost_password_file: '', delivery_smarthost_password: 's3cret' },
    })
    const id = await relay.send('ann@rcpt.example')
    await becomes(relay, id, 'sent')
    expect(mx.messages).toMatchObject([{ tls: true, rcptTo: ['ann@rcpt.example'] }])
    const { body } = await relay.call('GET', `/api/emails/${id}/attempts`)
    expect(body.data[0].transcript.map(({ line }: { line: string }) => line)).toEqual(
      expect.arrayContaining(['AUTH PLAIN', '235 2.7.0 Welcome']),
    )
    const { accounts, apiKeys } = relay.relay.services
    const { token } = await apiKeys.create({ accountId: accounts.getAccount('test').id, name: 'operator', permission: 'operator' })
    const settings = await relay.call('GET', '/api/settings', undefined, { authorization: `Bearer ${token}` })
    const value = settings.body.data.find(({ name }: { name: string }) => name === 'delivery.smarthost_password').value
    expect(value).toBe('(not shown)')
    expect(JSON.stringify([body, settings.body])).not.toMatch(
      new RegExp(`s3cret|${Buffer.from('\0relay@smart.example\0s3cret').toString('base64')}`),
    )
    expect(await faults()).toEqual([])
  })

  test('with TLS from the first byte', async () => {
    const mx = await smarthost({ isImplicitTls: true })
    const { relay } = await relayBy(mx, { settings: { delivery_smarthost_tls: 'implicit' } })
    await becomes(relay, await relay.send('ann@rcpt.example'), 'sent')
    expect(mx.messages).toMatchObject([{ tls: true }])
    expect(mx.sessions[0]?.commands.slice(0, 2)).toEqual(['EHLO relay.example', expect.stringMatching(/^AUTH PLAIN/)])
  })
})

test('a wrong password makes all mail wait, is reported once, tried once, and cleared by the right one', async () => {
  const mx = await smarthost()
  const { relay, told, faults, setPassword } = await relayBy(mx, { password: 'wrong' })
  const ids = await Promise.all(Array.from({ length: 30 }, (_, i) => relay.send(`u${i}@d${i}.example`)))
  for (const id of ids) await becomes(relay, id, 'deferred')
  expect(await answerTo(relay, ids[0] as string)).toMatch(/535 5\.7\.8 Wrong user or password/)
  expect(loginsAt(mx)).toHaveLength(1)
  expect([await faults(), told()]).toEqual([
    ['smarthost_login'],
    [expect.objectContaining({ reason: expect.stringMatching(/535 5\.7\.8/) })],
  ])
  setPassword('s3cret')
  await relay.restart()
  relay.clock.advance(70_000)
  for (const id of ids) await becomes(relay, id, 'sent')
  expect(await faults()).toEqual([])
})

test('a login that cannot be judged now makes mail wait, and is no fault', async () => {
  let asked = 0
  const mx = await smarthost(
    {},
    { auth: () => (asked++ === 0 ? '454 4.7.0 Temporary authentication failure' : '235 2.7.0 Welcome'), mail: () => undefined },
  )
  const { relay, faults } = await relayBy(mx)
  const id = await relay.send('ann@rcpt.example')
  await becomes(relay, id, 'deferred')
  expect([await answerTo(relay, id), await faults()]).toEqual([expect.stringMatching(/454 4\.7\.0/), []])
  relay.clock.advance(70_000)
  await becomes(relay, id, 'sent')
})

test('a login that hangs holds up its own mail, and other mail only for seconds', async () => {
  let asked = 0
  const mx = await smarthost({}, { auth: () => (asked++ === 0 ? 'hang' : '235 2.7.0 Welcome'), mail: () => undefined })
  const { relay, faults } = await relayBy(mx)
  const held = await relay.send('held@rcpt.example')
  await expect.poll(() => asked).toBe(1)
  const ids = await Promise.all(Array.from({ length: 5 }, (_, i) => relay.send(`u${i}@d${i}.example`)))
  for (const id of ids) await becomes(relay, id, 'sent')
  await becomes(relay, held, 'queued')
  expect(await faults()).toEqual([])
})

describe('the password is told to nobody but the smarthost', () => {
  test.each<[string, () => FakeMxOptions, Record<string, string>, RegExp]>([
    ['no TLS', () => ({ tls: undefined }), {}, /does not offer STARTTLS/],
    ['TLS that fails', () => ({ tls: 'garbage' }), {}, /handshake failed/],
    ['a certificate for another name', () => ({ tls: otherName }), {}, /certificate is not valid/],
    [
      'TLS without a look at the certificate, and nothing but PLAIN and LOGIN',
      () => ({ tls: otherName }),
      { delivery_smarthost_verify: 'false' },
      /none of its login mechanisms/,
    ],
    [
      'no TLS that is demanded either',
      () => ({ tls: undefined }),
      { delivery_smarthost_tls: 'opportunistic' },
      /none of its login mechanisms/,
    ],
  ])('%s', async (_, options, settings, reason) => {
    const mx = await smarthost(options())
    const { relay } = await relayBy(mx, { settings })
    const id = await relay.send('ann@rcpt.example')
    await becomes(relay, id, 'deferred')
    expect([await answerTo(relay, id), loginsAt(mx)]).toEqual([expect.stringMatching(reason), []])
  })
})

test('a smarthost that wants a login where none is set makes mail wait, and is told', async () => {
  const mx = await smarthost()
  const { relay, faults } = await relayBy(mx, { settings: { delivery_smarthost_user: '', delivery_smarthost_password_file: '' } })
  const id = await relay.send('ann@rcpt.example')
  await becomes(relay, id, 'deferred')
  expect([await answerTo(relay, id), await faults()]).toEqual([expect.stringMatching(/530 5\.7\.0/), ['smarthost_login']])
  mx.on = {}
  relay.clock.advance(70_000)
  await becomes(relay, id, 'sent')
  await expect.poll(faults).toEqual([])
})
