import { generate } from 'selfsigned'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { FakeEntry } from '../support/fake-dns.ts'
import { startFakeMx, type FakeMx, type FakeMxOptions, type MxAction, type MxHooks } from '../support/fake-mx.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const hour = 3_600_000
/** What is asked of the DNS a second time is asked by then. */
const secondLook = 1_000_000
const hosts: FakeMx[] = []
let relay: TestRelay
let port = 0

beforeAll(async () => {
  const first = await startFakeMx({ host: '127.0.0.2' })
  hosts.push(first)
  port = first.port
  relay = await startTestRelay({ delivery_port: String(port) })
})

afterAll(async () => {
  await relay.stop()
  await Promise.all(hosts.map((host) => host.close()))
})

/** An MX host on a loopback address of its own, known to the DNS as `mxN.hosts.example`. */
async function mxHost(options: Omit<FakeMxOptions, 'host' | 'port'> = {}): Promise<FakeMx & { name: string }> {
  const host = `127.0.1.${hosts.length}`
  const name = `mx${hosts.length}.hosts.example`
  const mx = await startFakeMx({ ...options, host, port })
  hosts.push(mx)
  relay.dns.zone[name] = { a: [host] }
  return Object.assign(mx, { name })
}

const isSecond = (verb: string, commands: string[]): boolean => commands.filter((command) => command.startsWith(verb)).length > 1

let lastDomain = 0
function domainWith(entry: FakeEntry): string {
  const name = `d${++lastDomain}.example`
  relay.dns.zone[name] = entry
  return name
}

const domainAt = (...names: string[]): string => domainWith({ mx: names.map((name, place) => [10 * (place + 1), name]) })

const sendTo = async (address: string, fields: Record<string, unknown> = {}): Promise<Life> =>
  new Life(await relay.send(address, fields), address)

/** What becomes of the one recipient of an email. */
class Life {
  readonly id: string
  readonly address: string

  constructor(id: string, address: string) {
    this.id = id
    this.address = address
  }

  async state(): Promise<string> {
    return (await relay.recipients(this.id))[this.address]?.status ?? 'none'
  }

  async reaches(state: string): Promise<this> {
    await expect.poll(() => this.state()).toBe(state)
    return this
  }

  async bounce(): Promise<Record<string, unknown>> {
    const { body } = await relay.call('GET', `/api/emails/${this.id}/events`)
    return body.data.find(({ type }: { type: string }) => type === 'email.bounced').data
  }

  async attempts(): Promise<{ mx_host: string | null; outcome: string; tls?: unknown }[]> {
    return (await relay.call('GET', `/api/emails/${this.id}/attempts`)).body.data
  }

  /** Every life ends once, and was sent before it ended. */
  async endsOnce(): Promise<void> {
    const types = (await relay.events(this.id)).toReversed()
    const order = types.includes('email.queued') && types.indexOf('email.queued') > types.indexOf('email.sent') ? types.toReversed() : types
    expect(order.filter((type) => ['email.delivered', 'email.bounced'].includes(type))).toHaveLength(1)
    expect(order.filter((type) => type === 'email.sent')).toHaveLength(1)
    expect(order.indexOf('email.sent')).toBeLessThan(order.findIndex((type) => ['email.delivered', 'email.bounced'].includes(type)))
  }
}

test('mail is delivered signed, under a reverse-path of its own, with the attempt on record', async () => {
  const mx = await mxHost()
  const life = await sendTo(`ann@${domainAt(mx.name)}`)
  const [message] = await mx.waitForMessages(1)
  await life.reaches('delivered')
  await life.endsOnce()
  expect(message?.mailFrom).toMatch(/^b[0-9a-z]{46}@relay\.example$/)
  expect(message?.data.toString()).toMatch(/^X-Sterna-Ref: .*\r\nDKIM-Signature: v=1; a=rsa-sha256/)
  expect(message?.data.toString()).toContain('a=ed25519-sha256')
  expect(message?.rcptParams[0]).toContain('NOTIFY=FAILURE')
  const [attempt] = await life.attempts()
  expect(attempt).toMatchObject({ mx_host: mx.name, outcome: 'delivered' })
})

describe('a later attempt succeeds', () => {
  test('greylisting: the second time, from the same reverse-path', async () => {
    const mx = await mxHost()
    const seen = new Set<string>()
    mx.on = {
      rcpt: (address, _, session) => {
        const triplet = `${address} ${session.commands.find((command) => /^MAIL/i.test(command))?.split(' ')[1]}`
        if (seen.has(triplet)) return undefined
        seen.add(triplet)
        return '451 4.7.1 Greylisted, try again in a minute'
      },
    }
    const life = await (await sendTo(`ann@${domainAt(mx.name)}`)).reaches('deferred')
    relay.clock.advance(70_000)
    await (await life.reaches('delivered')).endsOnce()
    expect(seen.size).toBe(1)
  })

  const once = (reply: MxAction): (() => MxAction | undefined) => {
    let asked = 0
    return () => (asked++ === 0 ? reply : undefined)
  }
  const busy = '421 4.3.2 Too busy'
  test.each<[string, () => MxHooks]>([
    ['421 as greeting', () => ({ banner: once(busy) })],
    ['421 to EHLO', () => ({ ehlo: once(busy) })],
    ['421 to MAIL', () => ({ mail: once(busy) })],
    ['421 to RCPT', () => ({ rcpt: once(busy) })],
    ['421 to DATA', () => ({ data: once(busy) })],
    ['421 to the end of data', () => ({ dot: once(busy) })],
    ['reset while data flows', () => ({ content: once('reset') })],
    ['end of the connection instead of a greeting', () => ({ banner: once('close') })],
    ['a greeting that is not SMTP', () => ({ banner: once({ reply: 'HTTP/1.1 400 Bad Request\r\n', end: 'close' }) })],
    ['452 to RCPT', () => ({ rcpt: once('452 4.2.2 Over quota') })],
    ['an unknown answer to the end of data', () => ({ dot: once({ reply: '799 What?', end: 'close' }) })],
  ])('%s', async (_, hooks) => {
    const mx = await mxHost({ on: hooks() })
    const life = await (await sendTo(`ann@${domainAt(mx.name)}`)).reaches('deferred')
    relay.clock.advance(70_000)
    await (await life.reaches('delivered')).endsOnce()
    expect(mx.messages.length).toBeGreaterThan(0)
  })

  test('SERVFAIL is no bounce', async () => {
    const domain = domainWith('servfail')
    const life = await (await sendTo(`ann@${domain}`)).reaches('deferred')
    const mx = await mxHost()
    relay.dns.zone[domain] = { mx: [[10, mx.name]] }
    // The resolver remembers a SERVFAIL for some seconds, a new one knows nothing of it.
    await relay.restart()
    await relay.relay.services.queueAdmin.retry(life.id)
    await (await life.reaches('delivered')).endsOnce()
  })
})

describe('a permanent answer ends it', () => {
  test.each<[string, MxHooks, 'hard' | 'soft', string]>([
    ['550 to MAIL', { mail: () => '550 5.7.1 Sender refused' }, 'soft', 'policy'],
    ['unknown user', { rcpt: () => '550 5.1.1 No such user' }, 'hard', 'invalid_recipient'],
    ['full mailbox', { rcpt: () => '550 5.2.2 Mailbox full' }, 'soft', 'mailbox_full'],
    ['refused for policy', { rcpt: () => '550 5.7.1 Not from you' }, 'soft', 'policy'],
    ['554 to DATA', { data: () => '554 5.7.1 No' }, 'soft', 'policy'],
    ['spam, after the data', { dot: () => '554 5.6.0 Message looks like spam' }, 'soft', 'content_rejected'],
    ['a host that takes no mail', { banner: () => '521 5.3.2 No mail here' }, 'hard', 'invalid_recipient'],
  ])('%s', async (_, on, bounceType, category) => {
    const mx = await mxHost({ on })
    const life = await (await sendTo(`ann@${domainAt(mx.name)}`)).reaches('bounced')
    await life.endsOnce()
    expect(await life.bounce()).toMatchObject({ bounce_type: bounceType, bounce_category: category })
  })

  test('null MX', async () => {
    const life = await (await sendTo(`ann@${domainWith({ mx: [[0, '.']] })}`)).reaches('bounced')
    await life.endsOnce()
    expect(await life.bounce()).toMatchObject({ bounce_type: 'hard', enhanced_status: '5.1.10' })
    expect(
      await relay.relay.services.db.read('select address from suppression where address = :address', { address: life.address }),
    ).toEqual([])
  })

  test.each<[string, FakeEntry, Record<string, unknown>]>([
    ['no such domain', 'nxdomain', { bounce_type: 'hard', bounce_category: 'domain_not_found', enhanced_status: '5.1.2' }],
    [
      'a domain without a mail server',
      { txt: ['x'] },
      { bounce_type: 'soft', bounce_category: 'domain_not_found', enhanced_status: '5.4.4' },
    ],
    ['one whose mail server does not exist', { mx: [[10, 'gone.hosts.example']] }, { bounce_type: 'soft', enhanced_status: '5.4.4' }],
  ])('%s, said twice', async (_, entry, bounce) => {
    const life = await (await sendTo(`ann@${domainWith(entry)}`)).reaches('deferred')
    relay.clock.advance(secondLook)
    await (await life.reaches('bounced')).endsOnce()
    expect(await life.bounce()).toMatchObject(bounce)
  })
})

describe('a host that breaks the protocol', () => {
  test('at the end of the message gets one more copy at most, and the bounce says that the first may have arrived', async () => {
    let copies = 0
    const mx = await mxHost({ on: { dot: () => (copies++, { reply: '354 go on', end: 'close' }) } })
    const life = await (await sendTo(`ann@${domainAt(mx.name)}`)).reaches('deferred')
    // What fails in between does not make it forgotten.
    const { dot } = mx.on
    mx.on = { banner: () => '421 4.3.2 Too busy' }
    relay.clock.advance(70_000)
    await expect.poll(async () => (await life.attempts()).length).toBe(2)
    mx.on = dot ? { dot } : {}
    relay.clock.advance(hour)
    await (await life.reaches('bounced')).endsOnce()
    expect(copies).toBe(2)
    const { bounce_type: type, enhanced_status: status, reason } = await life.bounce()
    expect([type, status]).toEqual(['soft', '5.5.0'])
    expect(reason).toMatch(
      /broke the SMTP protocol: its answer to the message is neither yes nor no, but "354 go on"\. It may have the message/,
    )
  })

  test.each<[string, MxHooks]>([
    [
      '503 to a second MAIL',
      { mail: (_, __, { commands }) => (isSecond('MAIL', commands) ? '503 5.5.1 Sender already given' : undefined) },
    ],
    ['500 to a second MAIL', { mail: (_, __, { commands }) => (isSecond('MAIL', commands) ? '500 5.5.1 What?' : undefined) }],
    ['503 to a second RCPT', { rcpt: (_, __, { commands }) => (isSecond('RCPT', commands) ? '503 5.5.1 Not now' : undefined) }],
    ['554 to a second DATA', { data: ({ commands }) => (isSecond('DATA', commands) ? '554 5.5.0 One message only' : undefined) }],
  ])('%s on a connection loses no mail', async (_, on) => {
    const mx = await mxHost({ on })
    const domain = domainAt(mx.name)
    const to = ['ann', 'bob', 'cid', 'dan', 'eve'].map((name) => `${name}@${domain}`)
    const id = await relay.send(to)
    await expect.poll(async () => Object.values(await relay.recipients(id)).map(({ status }) => status)).toEqual(to.map(() => 'delivered'))
    expect(mx.messages).toHaveLength(to.length)
  })

  test('EHLO and HELO refused are about the host: the mail waits, and is delivered once it is let in', async () => {
    const mx = await mxHost({ on: { ehlo: () => '550 5.7.1 I do not know you' } })
    const life = await (await sendTo(`ann@${domainAt(mx.name)}`)).reaches('deferred')
    mx.on = {}
    relay.clock.advance(70_000)
    await (await life.reaches('delivered')).endsOnce()
  })
})

describe('several hosts', () => {
  test('the next one is tried where the first is down, and where it says 421', async () => {
    const good = await mxHost()
    const busy = await mxHost({ on: { banner: () => '421 4.3.2 Closed' } })
    relay.dns.zone['down.hosts.example'] = { a: ['127.0.1.250'] }
    const life = await sendTo(`ann@${domainAt('down.hosts.example', busy.name, good.name)}`)
    await (await life.reaches('delivered')).endsOnce()
    expect(await life.attempts()).toHaveLength(1)
  })

  test('all down: deferred, and given up softly at the end of its time', async () => {
    relay.dns.zone['down.hosts.example'] = { a: ['127.0.1.250'] }
    const life = await (await sendTo(`ann@${domainAt('down.hosts.example')}`)).reaches('deferred')
    relay.clock.advance(49 * hour)
    await (await life.reaches('bounced')).endsOnce()
    expect(await life.bounce()).toMatchObject({ bounce_type: 'soft', bounce_category: 'expired' })
  })

  test('a domain without MX record is its own host', async () => {
    const mx = await mxHost()
    const life = await sendTo(`ann@${domainWith({ a: [mx.host] })}`)
    await (await life.reaches('delivered')).endsOnce()
  })
})

describe('TLS', () => {
  const certificate = (notAfterDate: Date) =>
    generate([{ name: 'commonName', value: 'mx.example' }], { keySize: 2048, notBeforeDate: new Date('2020-01-01'), notAfterDate })

  test('is used where it is offered, also with an expired certificate that nobody signed', async () => {
    const { private: key, cert } = await certificate(new Date('2021-01-01'))
    const mx = await mxHost({ tls: { key, cert } })
    const life = await sendTo(`ann@${domainAt(mx.name)}`)
    await (await life.reaches('delivered')).endsOnce()
    expect(mx.messages[0]?.tls).toBe(true)
    expect((await life.attempts())[0]).toMatchObject({ tls: { verified: false } })
  })

  test('a handshake that fails is followed by plain text, because no policy forbids it', async () => {
    const mx = await mxHost({ tls: 'garbage' })
    const life = await sendTo(`ann@${domainAt(mx.name)}`)
    await (await life.reaches('delivered')).endsOnce()
    expect(mx.messages[0]?.tls).toBe(false)
  })

  const own = async () => {
    const { private: key, cert } = await certificate(new Date('2030-01-01'))
    return { key, cert }
  }

  test('a host that demands a certificate of us gets the mail in plain text, and the attempt says so', async () => {
    const mx = await mxHost({ tls: { ...(await own()), demandsCertificate: true } })
    const life = await sendTo(`ann@${domainAt(mx.name)}`)
    await (await life.reaches('delivered')).endsOnce()
    const attempts = await life.attempts()
    expect(attempts).toMatchObject([{ tls: null, outcome: 'delivered' }])
    expect(JSON.stringify(attempts)).toMatch(/in plain text: TLS failed at .*certificate required/)
  })

  test('TLS that breaks off after the handshake is tried for five minutes, and then given up for plain text', async () => {
    const mx = await mxHost({ tls: { ...(await own()), afterHandshake: 'reset' } })
    const life = await (await sendTo(`ann@${domainAt(mx.name)}`)).reaches('deferred')
    relay.clock.advance(70_000)
    await expect.poll(async () => (await life.attempts()).length).toBe(2)
    expect(await life.state()).toBe('deferred')
    relay.clock.advance(400_000)
    await (await life.reaches('delivered')).endsOnce()
    expect(mx.messages.map(({ tls }) => tls)).toEqual([false])
  })

  test('the next connection to a host resumes the session, and the attempt says so', async () => {
    const mx = await mxHost({ tls: await own(), on: { dot: () => ({ reply: '250 2.0.0 Ok', end: 'close' }) } })
    const tls: unknown[] = []
    for (const name of ['ann', 'bob']) {
      const life = await sendTo(`${name}@${domainAt(mx.name)}`)
      await (await life.reaches('delivered')).endsOnce()
      const [attempt] = await life.attempts()
      expect(JSON.stringify(attempt).includes('session resumed')).toBe(name === 'bob')
      tls.push(attempt?.tls)
    }
    expect(mx.sessions.map(({ isResumed }) => isResumed)).toEqual([false, true])
    expect(tls).toMatchObject(
      [false, true].map((resumed) => ({ version: 'TLSv1.3', group: 'X25519MLKEM768', resumed, classical_only: false })),
    )
  })

  test('mail that demands TLS waits where TLS breaks off, however long', async () => {
    const { sendingDomains } = relay.relay.services
    const [domain] = sendingDomains.find('sender.example')
    const id = domain?.id ?? ''
    await sendingDomains.update(id, { tls: 'enforced' })
    onTestFinished(async () => void (await sendingDomains.update(id, { tls: 'opportunistic' })))
    const mx = await mxHost({ tls: { ...(await own()), demandsCertificate: true } })
    const life = await (await sendTo(`ann@${domainAt(mx.name)}`)).reaches('deferred')
    relay.clock.advance(400_000)
    await expect.poll(async () => (await life.attempts()).length).toBe(2)
    expect(mx.sessions.flatMap(({ commands }) => commands).filter((command) => command.startsWith('MAIL'))).toEqual([])
  })
})

describe('a host that refuses us at its greeting', () => {
  const refusing = (): Promise<FakeMx & { name: string }> => mxHost({ on: { banner: () => '554 5.7.1 Your address is on a blocklist' } })

  /** Another host of the same owner. */
  function alias(mx: FakeMx, name: string): string {
    relay.dns.zone[name] = { a: [mx.host] }
    return name
  }

  test('is asked again, and the mail does not bounce before its time is over', async () => {
    const mx = await refusing()
    const life = await (await sendTo(`ann@${domainAt(mx.name)}`)).reaches('deferred')
    mx.on = {}
    relay.clock.advance(70_000)
    await (await life.reaches('delivered')).endsOnce()
  })

  test('stands for all hosts of its owner, and a host of another one is tried', async () => {
    const [first, second, other] = [await refusing(), await mxHost(), await mxHost()]
    const domain = domainAt(alias(first, 'mx1.strict.example'), alias(second, 'mx2.strict.example'), alias(other, 'mx.backup.example'))
    await (await (await sendTo(`ann@${domain}`)).reaches('delivered')).endsOnce()
    expect([first.sessions.length, second.sessions.length, other.messages.length]).toEqual([1, 0, 1])
  })

  test('with 521 takes no mail: others are tried, and where all say so that is hard', async () => {
    const noMail = { banner: () => '521 mx.example does not accept mail' }
    const [first, second] = [await mxHost({ on: noMail }), await mxHost({ on: noMail })]
    const life = await (await sendTo(`ann@${domainAt(first.name, second.name)}`)).reaches('bounced')
    expect(await life.bounce()).toMatchObject({ bounce_type: 'hard', smtp_code: 521 })
    second.on = { banner: () => '554 5.7.1 No' }
    await (await sendTo(`ann@${domainAt(first.name, second.name)}`)).reaches('deferred')
    second.on = {}
    await (await sendTo(`ann@${domainAt(first.name, second.name)}`)).reaches('delivered')
  })
})

test('what a submitter hands in under the null reverse-path leaves under it, and so does the retry', async () => {
  const mx = await mxHost({ on: { banner: ({ number }) => (number === 1 ? '421 4.3.2 Too busy' : undefined) } })
  const address = `ann@${domainAt(mx.name)}`
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  const { last } = await client.send('From: app@sender.example\r\nSubject: Out of office\r\n\r\nI am away.\r\n', {
    from: '',
    to: [address],
  })
  client.close()
  const life = await new Life(/em_[0-9a-z]{26}/.exec(last)?.[0] ?? last, address).reaches('deferred')
  relay.clock.advance(70_000)
  await (await life.reaches('delivered')).endsOnce()
  const [message] = mx.messages
  expect([message?.mailFrom, message?.rcptParams]).toEqual(['', ['NOTIFY=NEVER']])
})

test('an address that needs SMTPUTF8 is not sent to a host without it; its domain alone never needs it', async () => {
  const mx = await mxHost({ extensions: ['PIPELINING', '8BITMIME'] })
  const domain = domainAt(mx.name)
  const life = await (await sendTo(`jürgen@${domain}`)).reaches('bounced')
  await life.endsOnce()
  expect(mx.messages).toHaveLength(0)
  relay.dns.zone['xn--mnchen-3ya.example'] = { mx: [[10, mx.name]] }
  await new Life(await relay.send('ann@münchen.example'), 'ann@xn--mnchen-3ya.example').reaches('delivered')
})

test('an accepted and a refused recipient of one message end each in their own way', async () => {
  const mx = await mxHost({ on: { rcpt: (address) => (address.startsWith('bob') ? '550 5.1.1 No such user' : undefined) } })
  const domain = domainAt(mx.name)
  const id = await relay.send([`ann@${domain}`, `bob@${domain}`, `cat@${domain}`])
  await expect
    .poll(async () => Object.entries(await relay.recipients(id)).map(([address, { status }]) => [address.slice(0, 3), status]))
    .toEqual([
      ['ann', 'delivered'],
      ['bob', 'bounced'],
      ['cat', 'delivered'],
    ])
  expect(mx.messages.map(({ rcptTo }) => rcptTo)).toEqual([[`ann@${domain}`], [`cat@${domain}`]])
  expect(new Set(mx.messages.map(({ mailFrom }) => mailFrom)).size).toBe(2)
})

describe('with private addresses forbidden', () => {
  let strict: TestRelay

  beforeAll(async () => {
    strict = await startTestRelay({ delivery_port: String(port), delivery_allow_private_addresses: 'false' })
  })
  afterAll(() => strict.stop())

  test.each([
    ['loopback', ['127.0.0.2'], []],
    ['private', ['10.1.2.3', '192.168.0.1', '172.16.0.1'], []],
    ['link-local, carrier and reserved', ['169.254.169.254', '100.64.0.1', '198.18.0.1', '0.0.0.0'], []],
    ['IPv6', [], ['::1', 'fc00::1', 'fe80::1', '::ffff:127.0.0.2', '64:ff9b::7f00:2']],
  ])('an MX at a %s address is never connected to', async (_, a, aaaa) => {
    const [host] = hosts as [FakeMx]
    const before = host.sessions.length
    strict.dns.zone['mx.inside.example'] = { a, aaaa }
    strict.dns.zone['inside.example'] = { mx: [[10, 'mx.inside.example']] }
    const id = await strict.send('ann@inside.example')
    await expect.poll(async () => (await strict.recipients(id))['ann@inside.example']?.status).toBe('deferred')
    strict.clock.advance(secondLook)
    await expect.poll(async () => (await strict.recipients(id))['ann@inside.example']?.status).toBe('bounced')
    const types = await strict.events(id)
    expect(types.filter((type) => type === 'email.bounced')).toHaveLength(1)
    expect(host.sessions.length).toBe(before)
  })
})

test('an MX that is this server itself is never connected to, even where private addresses are allowed', async () => {
  const own = await startTestRelay({ delivery_port: '2599', submission_listen: '127.0.0.1:2599' })
  try {
    own.dns.zone['loop.example'] = { mx: [[10, 'mx.loop.example']] }
    own.dns.zone['mx.loop.example'] = { a: ['127.0.0.1'] }
    const id = await own.send('ann@loop.example')
    await expect.poll(async () => (await own.recipients(id))['ann@loop.example']?.status).toBe('deferred')
    own.clock.advance(secondLook)
    await expect.poll(async () => (await own.recipients(id))['ann@loop.example']?.status).toBe('bounced')
    expect((await own.call('GET', `/api/emails/${id}/attempts`)).body.data).toMatchObject([{ transcript: [] }, { transcript: [] }])
  } finally {
    await own.stop()
  }
})
