import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/** A host that takes a message only once it is let, and none for later@. */
interface GatedMx {
  mx: FakeMx
  /** Lets it take so many more, and waits until it has. */
  take(messages: number): Promise<void>
  takeAll(): void
  /** The local parts of those that it has taken, in order. */
  taken: string[]
}

async function startGatedMx(host: string): Promise<GatedMx> {
  const taken: string[] = []
  const waiting: (() => void)[] = []
  let allowed = 0
  const next = (): void => {
    while (allowed > 0 && waiting.length > 0) {
      allowed--
      waiting.shift()?.()
    }
  }
  const dot = ({ rcptTo: [to = ''] }: { rcptTo: string[] }) => ({
    reply: '250 2.0.0 Ok',
    after: new Promise<void>((let_) => waiting.push(let_)).then(() => taken.push(to.split('@')[0] ?? '')),
  })
  const mx = await startFakeMx({
    host,
    on: {
      rcpt: (address) => (address.startsWith('later@') ? '451 4.2.1 Later' : undefined),
      dot(message) {
        const action = dot(message)
        next()
        return action
      },
    },
  })
  onTestFinished(() => mx.close())
  return {
    mx,
    taken,
    async take(messages) {
      const end = taken.length + messages
      allowed += messages
      next()
      await expect.poll(() => taken.length).toBe(end)
    },
    takeAll() {
      allowed = Infinity
      next()
    },
  }
}

interface Sender {
  name: string
  token: string
  send(to: string, fields?: object): Promise<{ status: number; body: any }>
}

/** Accounts that may all send from domains of their own. */
async function sendersOf(relay: TestRelay, ...names: string[]): Promise<Sender[]> {
  const { accounts, apiKeys, sendingDomains } = relay.relay.services
  return Promise.all(
    names.map(async (name) => {
      const account = await accounts.create(name, 'enterprise')
      const domain = await sendingDomains.add(account.id, `${name}.example`)
      await sendingDomains.verifyManually(domain.id)
      const { token } = await apiKeys.create({ accountId: account.id, name: 'test', permission: 'full_access' })
      const send = (to: string, fields: object = {}) => {
        const email = { from: `app@${name}.example`, to, subject: 'Hello', text: 'Hello', ...fields }
        return relay.call('POST', '/api/emails', email, { authorization: `Bearer ${token}` })
      }
      return { name, token, send }
    }),
  )
}

const inHandOf = async (relay: TestRelay, ...names: string[]): Promise<number> => {
  const rows = await relay.relay.services.db.read<{ forward_path: string }>('select forward_path from recipient where owner is not null')
  return rows.filter(({ forward_path: path }) => names.some((name) => path.startsWith(`${name}@`))).length
}

const waitingOf = async (relay: TestRelay): Promise<number> =>
  (await relay.relay.services.db.read('select id from recipient where due_at is not null and owner is null')).length

test('single mails go beside the many of another account, urgent ones ahead of all; more is not urgent', async () => {
  const gated = await startGatedMx('127.0.2.71')
  const relay = await startTestRelay(
    { delivery_port: String(gated.mx.port), quotas_urgent_per_minute: '2', delivery_threads: '1' },
    { 'rcpt.example': { a: ['127.0.2.71'] } },
  )
  onTestFinished(() => relay.stop())
  const [bulk, shop, codes] = (await sendersOf(relay, 'bulk', 'shop', 'codes')) as [Sender, Sender, Sender]
  // A destination that has not answered has little in hand; submitters wait for one that takes mail.
  await bulk.send('later@rcpt.example')
  await expect.poll(async () => (await relay.relay.services.db.read("select id from recipient where state = 'deferred'")).length).toBe(1)
  const many = 150
  for (let i = 0; i < many; i += 50) {
    const batch = Array.from({ length: 50 }, (_, place) => ({
      from: 'app@bulk.example',
      subject: 'News',
      text: 'News',
      to: `bulk${String(i + place).padStart(3, '0')}@rcpt.example`,
    }))
    const { status } = await relay.call('POST', '/api/emails/batch', batch, { authorization: `Bearer ${bulk.token}` })
    expect(status).toBe(200)
    relay.clock.advance(1)
  }
  // The queue has as much in hand as it may for one destination, the host has a message on each connection.
  await expect.poll(() => waitingOf(relay)).toBeLessThan(100)
  for (const name of ['shop1', 'shop2', 'shop3']) {
    await shop.send(`${name}@rcpt.example`)
    relay.clock.advance(1)
  }
  const codeAnswers = []
  for (const name of ['code1', 'code2', 'code3']) codeAnswers.push(await codes.send(`${name}@rcpt.example`, { priority: 'high' }))
  expect(codeAnswers.map(({ body }) => body.priority)).toEqual(['high', 'high', 'normal'])
  const shown = await relay.call('GET', `/api/emails/${codeAnswers[2]?.body.id}`, undefined, { authorization: `Bearer ${codes.token}` })
  expect(shown.body.priority).toBe('normal')

  const client = await SmtpClient.logIn(relay.submissionPort, codes.token)
  await client.command('MAIL FROM:<app@codes.example> MT-PRIORITY=3')
  await client.command('RCPT TO:<code4@rcpt.example>')
  await client.command('DATA')
  client.write('From: app@codes.example\r\nTo: code4@rcpt.example\r\nSubject: x\r\n\r\nHello\r\n.\r\n')
  expect((await client.reply()).last).toMatch(/^250 2\.3\.6 0 is the new priority: .*; queued as em_/)
  client.close()

  // Ahead of them are those that the host has begun with, one on each connection.
  await expect.poll(async () => inHandOf(relay, 'code1', 'code2')).toBe(2)
  const connections = gated.mx.sessions.length
  await gated.take(connections + 20)
  // A connection may have had its next message already, and every other one is for the rest.
  for (const name of ['code1', 'code2']) expect(gated.taken).toContain(name)
  gated.takeAll()
  await expect.poll(() => gated.taken.length, { timeout: 90_000 }).toBe(many + 7)
  const placeOf = (name: string) => gated.taken.indexOf(name)
  // Of the 64 in hand each that leaves makes room for one: by turns of the accounts.
  for (const name of ['shop1', 'shop2', 'shop3', 'code3', 'code4']) expect(placeOf(name)).toBeLessThan(64 + connections + 20)
  const attempts = await relay.relay.services.db.read('select distinct attempts from recipient where delivered_at is not null')
  expect(attempts).toEqual([{ attempts: 1 }])
})
