import { connect } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import { restMs } from '../../../src/platform/connection/connection-slots.ts'
import { SmtpClient, type ClientReply } from '../../support/smtp-client.ts'
import { startTestSubmissionServer } from '../../support/submission-server.ts'

/** The beginning of a TLS handshake. */
const clientHello = Buffer.from('16030100c8010000c40303', 'hex')
const message = 'From: me@example.com\r\nTo: you@example.net\r\nSubject: hi\r\n\r\nhello'
const plainLogin = (key: string): string => `AUTH PLAIN ${Buffer.from(`\0user\0${key}`).toString('base64')}`
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const transaction = ['MAIL FROM:<me@example.com>', 'RCPT TO:<you@example.net>', 'DATA']

describe('a session', async () => {
  const relay = await startTestSubmissionServer()

  test('is greeted at once: no timer has to run', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    try {
      const client = await relay.connect({ greeting: false })
      expect((await client.reply()).last).toBe('220 relay.example.com ESMTP')
    } finally {
      vi.useRealTimers()
    }
  })

  test('stands on these inner parts of smtp-server', () => {
    const parts = [
      '_setListeners',
      '_createParser',
      '_onCommand',
      '_armTimeout',
      '_onTimeout',
      '_resetSession',
      'connectionReady',
      'upgrade',
      'send',
    ]
    for (const part of [...parts, 'handler_AUTH', 'handler_MAIL', 'handler_RCPT']) {
      expect(SMTPConnection.prototype, part).toHaveProperty(part)
    }
  })

  test('offers what it does, and a login only where it takes one', async () => {
    const client = await relay.connect()
    const always = ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES', 'DSN', 'AUTH PLAIN LOGIN', 'STARTTLS', 'SIZE 10000000']
    const futureRelease = expect.stringMatching(/^FUTURERELEASE 2592000 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/) as string
    const offered = [...always, futureRelease, 'DELIVERBY 60', 'MT-PRIORITY']
    expect((await client.command('EHLO client.example')).lines).toEqual(['relay.example.com', ...offered])
    await client.command('STARTTLS')
    await client.startTls()
    const secure = await client.command('EHLO client.example')
    expect(secure.lines).toEqual(['relay.example.com', ...offered.with(offered.indexOf('STARTTLS'), 'REQUIRETLS')])
  })

  test('takes pipelined commands in order, up to and with a second message', async () => {
    const client = await relay.connect()
    const before = relay.taken.length
    expect(await client.pipeline(['EHLO client.example', plainLogin('good'), ...transaction])).toEqual([
      '250 MT-PRIORITY',
      '235 2.7.0 Authentication successful',
      '250 2.1.0 Ok',
      '250 2.1.5 Ok',
      '354 End data with <CR><LF>.<CR><LF>',
    ])
    client.write(`${message}\r\n.\r\n${transaction.join('\r\n')}\r\n`)
    expect((await client.reply()).last).toMatch(/^250 2\.0\.0 Ok: queued as em_[0-9a-z]{26}$/)
    for (const code of [250, 250, 354]) expect((await client.reply()).code).toBe(code)
    client.write(`${message}\r\n.\r\nQUIT\r\n`)
    expect((await client.reply()).code).toBe(250)
    expect((await client.reply()).code).toBe(221)
    expect(relay.taken.length).toBe(before + 2)
  })

  test('answers commands out of order and addresses it cannot use', async () => {
    const client = await relay.connect()
    expect((await client.command('MAIL FROM:<me@example.com>')).last).toMatch(/^503 5\.5\.1 /)
    await client.login('good')
    expect((await client.command('RCPT TO:<you@example.net>')).last).toMatch(/^503 5\.5\.1 /)
    expect((await client.command('DATA')).last).toMatch(/^503 5\.5\.1 /)
    expect((await client.command('MAIL FROM:<me@[127.0.0.1]>')).last).toMatch(/^553 5\.1\.7 /)
    expect((await client.command('MAIL FROM:<me@example.com> SIZE=10000001')).last).toMatch(/^552 5\.3\.4 /)
    relay.door.room = 1000
    expect((await client.command('MAIL FROM:<me@example.com> SIZE=1001')).last).toMatch(/^452 4\.3\.1 /)
    expect((await client.command('MAIL FROM:<me@example.com> SIZE=1000')).code).toBe(250)
    relay.door.room = Infinity
    expect((await client.command('MAIL FROM:<me@example.com>')).last).toMatch(/^503 5\.5\.1 /)
    expect((await client.command('RCPT TO:<you>')).last).toMatch(/^553 5\.1\.3 /)
    expect((await client.command('DATA')).last).toMatch(/^503 5\.5\.1 /)
    expect((await client.command('BDAT 3 LAST')).last).toMatch(/^500 5\.5\.2 /)
  })

  test('discards what was sent in the clear after STARTTLS', async () => {
    const client = await relay.connect()
    await client.command('EHLO client.example')
    client.write(`STARTTLS\r\n${plainLogin('good')}\r\nMAIL FROM:<injected@example.com>\r\n`)
    expect((await client.reply()).code).toBe(220)
    await client.startTls()
    expect((await client.command('NOOP')).code).toBe(250)
    expect((await client.command('MAIL FROM:<me@example.com>')).last).toMatch(/^503 5\.5\.1 /)
    await client.command('EHLO client.example')
    expect((await client.command('MAIL FROM:<me@example.com>')).last).toMatch(/^530 5\.7\.0 /)
    expect((await client.command('STARTTLS')).code).toBe(503)
  })

  test('forgets a login made before STARTTLS, and refuses parameters to it', async () => {
    const client = await relay.connect()
    expect((await client.login('good')).code).toBe(235)
    expect((await client.command('STARTTLS now')).last).toMatch(/^501 5\.5\.4 /)
    await client.command('STARTTLS')
    await client.startTls()
    await client.command('EHLO client.example')
    expect((await client.command('MAIL FROM:<me@example.com>')).last).toMatch(/^530 5\.7\.0 /)
  })
})

describe('a login', async () => {
  const relay = await startTestSubmissionServer({ allowPlaintextAuthOnLoopback: false })

  test('is not taken without TLS', async () => {
    const client = await relay.connect()
    expect((await client.command('EHLO client.example')).lines.join()).not.toContain('AUTH')
    for (const line of [plainLogin('good'), 'AUTH LOGIN', 'AUTH PLAIN', 'MAIL FROM:<me@example.com>']) {
      expect((await client.command(line)).last).toMatch(/^530 5\.7\.0 Must issue a STARTTLS command first/)
    }
  })

  test('is taken with PLAIN and LOGIN over TLS, whatever the user name', async () => {
    for (const tls of [true, false]) {
      const client = await relay.connect({ tls })
      if (!tls) {
        await client.command('EHLO client.example')
        await client.command('STARTTLS')
        await client.startTls()
      }
      expect((await client.login('good')).last).toBe('235 2.7.0 Authentication successful')
      expect((await client.send(message)).code).toBe(250)
    }
    const client = await relay.connect({ tls: true })
    await client.command('EHLO client.example')
    expect((await client.command('AUTH LOGIN')).last).toBe('334 VXNlcm5hbWU6')
    expect((await client.command(base64('anyone'))).last).toBe('334 UGFzc3dvcmQ6')
    expect((await client.command(base64('good'))).code).toBe(235)
    expect((await client.command(plainLogin('good'))).code).toBe(503)
  })

  test.each(['', '=', 'a', base64('tab\t'), base64('user@example.com')])(
    'with LOGIN takes %j for a user name, before or behind',
    async (name) => {
      for (const first of [['AUTH LOGIN', name], [`AUTH LOGIN ${name}`.trimEnd()]]) {
        const client = await relay.connect({ tls: true })
        await client.command('EHLO client.example')
        // All of it at once, as clients that do not wait send it.
        const lines = first.length === 1 && name === '' ? ['AUTH LOGIN', ''] : first
        const replies = await client.pipeline([...lines, base64('good')])
        expect(replies.slice(-2)).toEqual(['334 UGFzc3dvcmQ6', '235 2.7.0 Authentication successful'])
      }
    },
  )

  test('with LOGIN can be broken off at the user name and at the password', async () => {
    const client = await relay.connect({ tls: true })
    await client.command('EHLO client.example')
    for (const lines of [
      ['AUTH LOGIN', '*'],
      ['AUTH LOGIN', '', '*'],
    ]) {
      expect((await client.pipeline(lines)).at(-1)).toMatch(/^501 /)
    }
    expect((await client.pipeline(['AUTH LOGIN', '', base64('bad')])).at(-1)).toMatch(/^535 5\.7\.8 /)
    expect((await client.command(plainLogin('good'))).code).toBe(235)
  })

  test('tells apart a bad key, a key that cannot send, and a suspended account', async () => {
    relay.addKey('reader', { permission: 'read_access' })
    relay.addKey('suspended', { accountStatus: 'suspended' })
    relay.addKey('full', { permission: 'full_access' })
    const client = await relay.connect({ tls: true })
    expect((await client.login('wrong')).last).toMatch(/^535 5\.7\.8 The API key is not valid/)
    expect((await client.command(plainLogin('reader'))).last).toMatch(/^535 5\.7\.8 This API key cannot send/)
    expect((await client.command(plainLogin('suspended'))).last).toMatch(/^535 5\.7\.13 The account is suspended/)
    expect((await client.command('AUTH CRAM-MD5')).code).toBe(504)
    expect((await client.command(plainLogin('full'))).code).toBe(235)
  })

  test('ends with its key: the next message of the open session is refused', async () => {
    relay.addKey('brief')
    const client = await relay.connect({ tls: true })
    await client.login('brief')
    expect((await client.send(message)).code).toBe(250)
    await client.command('MAIL FROM:<me@example.com>')
    await client.command('RCPT TO:<you@example.net>')
    await client.command('DATA')
    relay.keys.delete('brief')
    client.write(`${message}\r\n.\r\n`)
    expect((await client.reply()).last).toMatch(/^535 5\.7\.8 /)
    expect((await client.command('MAIL FROM:<me@example.com>')).last).toMatch(/^535 5\.7\.8 /)
    relay.addKey('brief', { accountStatus: 'suspended' })
    expect((await client.command('MAIL FROM:<me@example.com>')).last).toMatch(/^550 5\.7\.1 /)
  })

  test('that fails too often is cut off, and a good key gets in still', async () => {
    const guesser = await startTestSubmissionServer()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const greeted = async (): Promise<SmtpClient> => {
      const client = await guesser.connect()
      await client.command('EHLO client.example')
      return client
    }
    const client = await greeted()
    for (let i = 0; i < 3; i++) expect((await client.command(plainLogin(`guess${i}`))).code).toBe(535)
    for (const delayMs of [500, 1_000, 2_000, 4_000, 4_000, 4_000, 4_000]) expect((await waited(client, delayMs)).code).toBe(535)
    expect((await waited(client, 4_000)).last).toMatch(/^421 4\.7\.0 Too many failed logins/)
    await client.untilClosed()
    expect((await waited(await greeted(), 4_000)).code).toBe(421)
    expect((await (await guesser.connect()).login('good')).code).toBe(235)
    guesser.clock.advance(10 * 60_000)
    expect((await (await guesser.connect()).login('guess')).code).toBe(535)
  })

  /** The answer to a wrong key, which does not come before so many milliseconds have gone by. */
  async function waited(client: SmtpClient, delayMs: number): Promise<ClientReply> {
    const timers = vi.getTimerCount()
    let isAnswered = false
    const answer = client.command(plainLogin('guess')).finally(() => (isAnswered = true))
    // expect.poll would advance the fake timers.
    while (vi.getTimerCount() === timers) await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(delayMs - 1)
    // Another client's good key is answered meanwhile.
    expect((await (await relay.connect({ tls: true })).login('good')).code).toBe(235)
    expect(isAnswered).toBe(false)
    vi.advanceTimersByTime(1)
    return answer
  }

  test('that waits for its answer ends with the connection', async () => {
    const guesser = await startTestSubmissionServer()
    const client = await guesser.connect()
    await client.command('EHLO client.example')
    for (let i = 0; i < 3; i++) await client.command(plainLogin(`guess${i}`))
    client.write(`${plainLogin('guess')}\r\n`)
    await guesser.server.stop(0)
    expect(await client.untilClosed()).not.toContain('535')
  })
})

describe('limits', async () => {
  const relay = await startTestSubmissionServer({ maxRecipients: 3, messagesPerMinute: 2 })

  test('on commands: a flood ends the session', async () => {
    for (const flood of ['NOOP', 'RSET', 'HELP', 'VRFY me', 'EHLO client.example', 'MAIL FROM:<', 'RCPT TO:<']) {
      const client = await relay.login()
      client.write(`${flood}\r\n`.repeat(10_000))
      const replies = await client.untilClosed()
      expect(replies.match(/^\d{3} /gm)?.length, flood).toBeLessThan(111)
      expect(replies, flood).toMatch(/\r\n421 4\.7\.0 Too many commands without a message\r\n$/)
    }
    const stranger = await relay.connect()
    stranger.write('NOOP\r\n'.repeat(10_000))
    expect(await stranger.untilClosed()).toMatch(/\r\n421 4\.7\.0 [^\n]*\r\n$/)
    const aborting = await relay.connect()
    aborting.write(`EHLO client.example\r\n${'AUTH LOGIN\r\n*\r\n'.repeat(10_000)}`)
    expect(await aborting.untilClosed()).toMatch(/\r\n421 4\.7\.0 too many unauthenticated commands\r\n$/)
    const endless = await relay.connect()
    endless.write('x'.repeat(100_000))
    expect(await endless.untilClosed()).toMatch(/^421 4\.7\.0 Command line too long\r\n$/)
  })

  test('on the time before a login, however busy the client looks', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const busy = await relay.connect()
      const known = await relay.login()
      vi.advanceTimersByTime(119_999)
      expect((await busy.command('EHLO client.example')).code).toBe(250)
      vi.advanceTimersByTime(1)
      expect((await busy.reply()).last).toMatch(/^421 4\.4\.2 No login in time/)
      expect((await known.command('NOOP')).code).toBe(250)
    } finally {
      vi.useRealTimers()
    }
  })

  test('on recipients: the ones above are put off, the others get the message', async () => {
    const client = await relay.login()
    const rcpt = (name: string): string => `RCPT TO:<${name}@example.net>`
    const replies = await client.pipeline(['MAIL FROM:<me@example.com>', ...['a', 'b', 'c', 'd', 'a', 'e'].map(rcpt), 'DATA'])
    expect(replies.map((reply) => reply.slice(0, 9))).toEqual([
      '250 2.1.0',
      '250 2.1.5',
      '250 2.1.5',
      '250 2.1.5',
      '452 4.5.3',
      '250 2.1.5',
      '452 4.5.3',
      '354 End d',
    ])
    client.write(`${message}\r\n.\r\n`)
    expect((await client.reply()).code).toBe(250)
    expect(relay.taken.at(-1)?.envelope.recipients.map(({ forwardPath }) => forwardPath)).toEqual([
      'a@example.net',
      'b@example.net',
      'c@example.net',
    ])
  })

  test('on messages a minute, of one account', async () => {
    relay.clock.advance(60_000)
    relay.addKey('other', { accountId: 'acc_2' })
    const client = await relay.login()
    expect((await client.send(message)).code).toBe(250)
    expect((await client.send(message)).code).toBe(250)
    expect((await client.send(message)).last).toMatch(/^451 4\.7\.1 /)
    const other = await relay.connect()
    await other.login('other')
    expect((await other.send(message)).code).toBe(250)
    relay.clock.advance(60_000)
    expect((await client.send(message)).code).toBe(250)
    client.close()
    other.close()
  })

  test('on connections of one address, with and without TLS together; a seat is free when its holder leaves', async () => {
    const crowded = await startTestSubmissionServer({ maxConnectionsPerAddress: 3 })
    const first = await crowded.connect()
    await first.command('EHLO client.example')
    await first.command('STARTTLS')
    await first.startTls()
    for (const client of [first, await crowded.connect({ tls: true }), await crowded.connect()]) await client.login('good')
    const refused = await crowded.connect({ greeting: false })
    expect((await refused.reply()).last).toBe('421 4.7.0 Too many connections from your address')
    await expect(crowded.connect({ tls: true })).rejects.toThrow()
    first.close()
    await vi.waitFor(async () => expect((await crowded.connect({ greeting: false }).then((client) => client.reply())).code).toBe(220), {
      timeout: 90_000,
    })
  })

  test('on all connections', async () => {
    const full = await startTestSubmissionServer({ maxConnections: 1 })
    await full.login()
    const refused = await full.connect({ greeting: false })
    expect((await refused.reply()).last).toBe('421 4.7.0 Too many connections, try again later')
  })

  test('on connections of one account: another gets in, and one of its own only for one that is idle', async () => {
    const half = await startTestSubmissionServer({ maxConnections: 4 })
    half.addKey('other', { accountId: 'acc_2' })
    const idle = await half.login()
    const busy = await half.login()
    const third = await half.connect()
    await third.command('EHLO client.example')
    expect((await third.login('good')).last).toBe('421 4.7.0 Too many connections of your account, try again later')
    await third.untilClosed()
    const other = await half.login('other')
    half.clock.advance(restMs)
    for (const client of [busy, other]) expect((await client.command('NOOP')).code).toBe(250)
    const fourth = await half.login()
    expect(await idle.untilClosed()).toMatch(/^421 4\.7\.0 Too many connections, and yours was idle/)
    for (const client of [fourth, busy, other]) expect((await client.send(message)).code).toBe(250)
  })

  test('on those who wait for a reply to their message: it comes before they give way', async () => {
    const full = await startTestSubmissionServer({ maxConnections: 1 })
    const stored = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    full.door.before = () => {
      begun.resolve()
      return stored.promise
    }
    const waiting = await full.login()
    const reply = waiting.send(message)
    await begun.promise
    full.clock.advance(restMs)
    await full.connect()
    stored.resolve()
    expect((await reply).code).toBe(250)
    expect(await waiting.untilClosed()).toMatch(/^421 4\.7\.0 Too many connections, and yours was idle/)
  })

  test('on clients that were turned away and go on talking', async () => {
    const full = await startTestSubmissionServer({ maxConnections: 1 })
    await full.login()
    const refused = connect({ host: '127.0.0.1', port: full.ports.plain, allowHalfOpen: true })
    const talking = setInterval(() => refused.write('x'), 50)
    await new Promise((closed) =>
      refused
        .on('error', () => {})
        .resume()
        .once('close', closed),
    )
    clearInterval(talking)
  })

  test.each<[state: string, port: 'plain' | 'secure' | 'tls', lines: string[], begun: string | Buffer]>([
    ['before it has said anything', 'plain', [], ''],
    ['in a command', 'plain', ['EHLO client.example'], 'NOO'],
    ['in a login', 'plain', ['EHLO client.example', 'AUTH LOGIN'], 'dXNl'],
    ['with TLS', 'secure', [], ''],
    ['before its handshake', 'plain', ['EHLO client.example', 'STARTTLS'], ''],
    ['in its handshake', 'plain', ['EHLO client.example', 'STARTTLS'], clientHello],
    ['before the handshake that comes first', 'tls', [], ''],
    ['in the handshake that comes first', 'tls', [], clientHello],
  ])('on idle strangers: one gives way to a newcomer %s, and who has logged in does not', async (state, port, lines, begun) => {
    const crowded = await startTestSubmissionServer({ maxConnectionsPerAddress: 2 })
    const known = await crowded.login()
    const greeting = port !== 'tls'
    const idle = await SmtpClient.connect(crowded.ports[port === 'plain' ? 'plain' : 'tls'], { tls: port === 'secure', greeting })
    for (const line of lines) await idle.command(line)
    idle.write(begun)
    await expect.poll(() => crowded.server.connections().open).toBe(2)
    crowded.clock.advance(restMs)
    const newcomer = await crowded.login()
    const last = await idle.untilClosed()
    if (!state.includes('handshake')) expect(last).toMatch(/^421 4\.7\.0 Too many connections, and yours was idle/)
    for (const client of [newcomer, known]) expect((await client.send(message)).code).toBe(250)
  })

  test.each([false, true])('not on messages that come in slowly, but steadily; with TLS: %s', async (tls) => {
    const relay = await startTestSubmissionServer()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const [slow, other] = [await relay.connect({ tls }), await relay.login()]
      await slow.login('good')
      for (const line of transaction) await slow.command(line)
      slow.write(`${message}\r\n`)
      for (let i = 0; i < 50; i++) {
        slow.write(`${'x'.repeat(498)}\r\n`.repeat(5))
        // Its answer comes when what was sent before is read.
        await other.command('NOOP')
        relay.clock.advance(2_000)
        vi.advanceTimersByTime(2_000)
      }
      slow.write('.\r\n')
      expect((await slow.reply()).code).toBe(250)
    } finally {
      vi.useRealTimers()
    }
  })

  test('on messages that come in too slowly, but not while they wait for us', async () => {
    const relay = await startTestSubmissionServer()
    const stored = Promise.withResolvers<void>()
    let storeCalls = 0
    relay.door.store = () => {
      storeCalls++
      return stored.promise
    }
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const [slow, held] = [await relay.login(), await relay.login()]
      for (const client of [slow, held]) for (const line of transaction) await client.command(line)
      held.write(`${message}\r\n${`${'x'.repeat(998)}\r\n`.repeat(6_000)}`)
      await vi.waitFor(() => expect(storeCalls).toBeGreaterThan(0), { timeout: 90_000 })
      for (let i = 0; i < 31; i++) {
        slow.write('x')
        relay.clock.advance(2_000)
        vi.advanceTimersByTime(2_000)
      }
      expect((await slow.reply()).last).toMatch(/^421 4\.4\.2 The message came in too slowly/)
      stored.resolve()
      held.write('\r\n.\r\n')
      expect((await held.reply()).code).toBe(250)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('stopping', () => {
  test('sends idle clients away, lets a message that is arriving finish, and then everybody is gone', async () => {
    const relay = await startTestSubmissionServer()
    const idle = await relay.login()
    const sending = await relay.login()
    for (const line of transaction) await sending.command(line)
    sending.write(message)
    const stopped = relay.server.stop(10_000)
    expect((await idle.reply()).last).toMatch(/^421 4\.3\.2 /)
    sending.write('\r\n.\r\n')
    expect((await sending.reply()).last).toMatch(/^250 2\.0\.0 Ok: queued as /)
    expect((await sending.reply()).last).toMatch(/^421 4\.3\.2 /)
    await stopped
    expect(relay.taken).toHaveLength(1)
    await expect(relay.connect()).rejects.toThrow('ECONNREFUSED')
  })

  test('cuts off a message that does not end in time', async () => {
    const relay = await startTestSubmissionServer()
    const sending = await relay.login()
    for (const line of transaction) await sending.command(line)
    sending.write(message)
    await relay.server.stop(1)
    await sending.untilClosed()
    expect(relay.taken).toHaveLength(0)
  })

  test('a port that is taken is told with its setting, and leaves no other port open', async () => {
    const relay = await startTestSubmissionServer()
    const taken = { host: '127.0.0.1', port: relay.ports.plain }
    await expect(startTestSubmissionServer({ tlsListen: [taken] })).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('submission.tls_listen'),
    })
  })
})
