import { describe, expect, test, vi } from 'vitest'
import { restMs } from '../../../src/platform/connection/connection-slots.ts'
import { keptOfReport } from '../../../src/mail-back/feedback/receive-returned-mail.ts'
import { StorageFullError } from '../../../src/platform/store/database.ts'
import { claimedReturnedMail } from '../../support/claimed-returned-mail.ts'
import { startTestReturnPath, tokenHolder } from '../../support/return-path.ts'
import type { SmtpClient } from '../../support/smtp-client.ts'
import { cutsAround, inboundSequences, smuggle, toleratedOutcome } from '../../support/smuggling-attempt.ts'

const message = 'From: mailer-daemon@mx.example\r\nTo: someone@relay.example\r\nSubject: hi\r\n\r\nhello'
const postmaster = 'postmaster@relay.example'
/** Twice the largest message, and a mebibyte. */
const maxReportBytes = 2 * 2_000_000 + 1024 * 1024

describe('a session', async () => {
  const relay = await startTestReturnPath()

  test('offers no login and accepts none', async () => {
    const client = await relay.connect()
    const { lines } = await client.command('EHLO client.example')
    expect(lines).toEqual([
      'relay.example',
      'PIPELINING',
      '8BITMIME',
      'SMTPUTF8',
      'ENHANCEDSTATUSCODES',
      'DSN',
      'STARTTLS',
      `SIZE ${maxReportBytes}`,
    ])
    for (const line of ['AUTH PLAIN AGEAYg==', 'AUTH LOGIN', 'AUTH']) expect((await client.command(line)).last).toMatch(/^500 5\.5\.2 /)
    await client.command('STARTTLS')
    await client.startTls()
    expect((await client.command('EHLO client.example')).lines.join()).not.toContain('AUTH')
    expect((await client.command('AUTH PLAIN AGEAYg==')).last).toMatch(/^500 5\.5\.2 /)
  })

  test('stores a bounce with its envelope before the 250', async () => {
    const client = await relay.greet()
    await client.command('STARTTLS')
    await client.startTls()
    await client.command('EHLO mx.example')
    const to = `${relay.token('bounce').toUpperCase()}@Send.Customer.Example`
    expect((await client.send(message, { from: '', to: [to] })).last).toMatch(/^250 2\.0\.0 Ok: accepted as rep_[0-9a-z]{26}$/)
    const [mail] = await claimedReturnedMail(relay.db, 'bounce', { by: 'network', name: '127.0.0.1' })
    expect(mail).toMatchObject({
      purpose: 'bounce',
      recipientId: tokenHolder,
      reversePath: null,
      forwardPath: `${relay.token('bounce').toUpperCase()}@send.customer.example`,
      remoteAddress: '127.0.0.1',
    })
    const [row] = await relay.db.read('select ehlo_name, tls, state from returned_mail where id = :id', { id: mail?.id ?? '' })
    expect(row).toEqual({ ehlo_name: 'mx.example', tls: 1, state: 'received' })
    expect((await relay.kept())[0]).toMatch(
      /^Received: from mx\.example \(\[127\.0\.0\.1\]\)\r\n by relay\.example with ESMTPS id rep_[0-9a-z]{26};\r\n .*\r\nFrom: mailer-daemon@mx\.example\r\n.*\r\n\r\nhello\r\n$/s,
    )
  })

  test('accepts malformed mail if its lines are not too long', async () => {
    const client = await relay.greet()
    for (const text of [
      'no header',
      '',
      ' folded\r\n\r\nbody',
      ': x\r\n\r\n',
      `${'x'.repeat(5_000)}\r\n\r\n`,
      '\r\nbody alone',
      'Sübject: ä\r\n\r\nö',
    ]) {
      expect((await client.send(text, { to: [postmaster] })).code, text).toBe(250)
    }
  })

  test('takes a report with any bytes in it', async () => {
    const client = await relay.greet()
    for (const report of [
      'A: b\n\nline\nline',
      'A: b\r\n\r\none\rtwo\nthree\r\r\n',
      'A: b\r\n\r\n\0\xff\0\r\n',
      `A: ${'x'.repeat(300_000)}`,
    ]) {
      expect((await client.send(report, { from: '', to: [`${relay.token('bounce')}@relay.example`] })).code, report).toBe(250)
    }
  })

  test('discards plaintext sent ahead of the TLS handshake', async () => {
    const client = await relay.greet()
    client.write(`STARTTLS\r\nEHLO injected.example\r\nMAIL FROM:<injected@example.com>\r\nRCPT TO:<${postmaster}>\r\n`)
    expect((await client.reply()).code).toBe(220)
    await client.startTls()
    expect((await client.command('NOOP')).code).toBe(250)
    expect((await client.command(`RCPT TO:<${postmaster}>`)).last).toMatch(/^503 5\.5\.1 /)
    expect((await client.command('MAIL FROM:<me@example.com>')).last).toMatch(/^503 5\.5\.1 /)
  })

  test('supports pipelining, and continues after a message', async () => {
    const client = await relay.greet()
    const replies = await client.pipeline(['MAIL FROM:<>', 'RCPT TO:<nobody@relay.example>', `RCPT TO:<${postmaster}>`, 'DATA'])
    expect(replies.map((reply) => reply.slice(0, 9))).toEqual(['250 2.1.0', '550 5.1.1', '250 2.1.5', '354 End d'])
    client.write(`${message}\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<abuse@relay.example>\r\n`)
    for (const code of [250, 250, 250]) expect((await client.reply()).code).toBe(code)
  })
})

describe('relays for nobody', async () => {
  const relay = await startTestReturnPath()
  const token = relay.token('bounce')
  const late = relay.token('bounce', relay.clock.now() - 40 * 86_400_000)

  const refused: [path: string, reply: RegExp][] = [
    ...[
      '<user@example.net>',
      'user@example.net',
      '<postmaster@example.net>',
      '<"postmaster"@example.net>',
      '<abuse@sub.relay.example>',
      '<postmaster@relay.example.example.net>',
      '<user@relay.exampl>',
      '<user@com>',
      `<${token}@example.net>`,
      '<user@xn--relay-example-9y7f.net>',
    ].map((path): [string, RegExp] => [path, /^550 5\.7\.1 Relaying denied/]),
    ...[
      '<user%example.net@relay.example>',
      '<"user%example.net"@relay.example>',
      '<postmaster%example.net@relay.example>',
      '<example.net!user@relay.example>',
      '<relay.example!example.net!user@relay.example>',
      '<user=example.net@relay.example>',
      '<user+postmaster@relay.example>',
      '<postmaster+user@relay.example>',
      '<|sh@relay.example>',
      '<*@relay.example>',
      '<mailer-daemon@relay.example>',
      `<${token}+x@relay.example>`,
      `<${token}%example.net@relay.example>`,
      `<${relay.token('reference')}@relay.example>`,
    ].map((path): [string, RegExp] => [path, /^550 5\.1\.1 /]),
    [`<${late}@relay.example>`, /^550 5\.2\.1 .* has expired/],
    ...[
      '<>',
      '<user>',
      '<postmaster@>',
      '<@relay.example>',
      '<example.net!user>',
      '<"user@example.net"@relay.example>',
      '<"user@example.net">',
      '<"postmaster\\@example.net"@relay.example>',
      '<@relay.example:user@example.net>',
      '<@relay.example,@example.org:user@example.net>',
      '<@example.net:postmaster@relay.example>',
      '<user@example.net@relay.example>',
      '<postmaster@relay.example@example.net>',
      '<user@[203.0.113.1]>',
      '<user%example.net@[127.0.0.1]>',
      '<user@[IPv6:2001:db8::1]>',
      '<postmaster@relay.example.>',
      '<postmaster@relay.example,user@example.net>',
      '<postmaster@relay.example user@example.net>',
      '<postmaster(comment)@relay.example>',
      '<postmaster@(comment)relay.example>',
      '<undisclosed:user@example.net;@relay.example>',
      '<postmaster@relay.example%example.net>',
      '<../../../etc/passwd@relay.example>',
      '<роstmaster@relay.example>',
    ].map((path): [string, RegExp] => [path, /^553 5\.(1\.3|6\.7) /]),
    ...[
      'postmaster@relay.example>',
      '<postmaster@relay.example',
      '<postmaster@relay.example> <user@example.net>',
      '<postmaster@relay.example>,<user@example.net>',
    ].map((path): [string, RegExp] => [path, /^501 5\.(1\.3|5\.4) /]),
  ]

  test.each(refused)('RCPT TO:%s', async (path, reply) => {
    const client = await relay.greet()
    for (const from of ['<spammer@example.org>', '<postmaster@relay.example>', '<>', '<> AUTH=<>']) {
      await client.command('RSET')
      expect((await client.command(`MAIL FROM:${from}`)).code).toBe(250)
      expect((await client.command(`RCPT TO:${path}`)).last, from).toMatch(reply)
      expect((await client.command('DATA')).code).toBe(503)
    }
    client.close()
  })

  test('nor over TLS, nor after an accepted recipient, nor for a sender of ours', async () => {
    const client = await relay.greet()
    await client.command('STARTTLS')
    await client.startTls()
    await client.command('EHLO relay.example')
    await client.command(`MAIL FROM:<${token}@relay.example>`)
    expect((await client.command(`RCPT TO:<${postmaster}>`)).code).toBe(250)
    expect((await client.command('RCPT TO:<user@example.net>')).last).toMatch(/^550 5\.7\.1 /)
    await client.command('DATA')
    client.write(`To: user@example.net\r\nBcc: other@example.net\r\n\r\n.\r\n`)
    expect((await client.reply()).code).toBe(250)
    expect((await relay.waiting()).map(({ forward_path: forwardPath }) => forwardPath)).toEqual([postmaster])
  })

  test('and each of these is one of our addresses', async () => {
    const client = await relay.greet()
    const localParts = ['postmaster', 'Abuse', 'fbl', 'dmarc-reports', 'tls-reports', '"postmaster"', token, relay.token('unsubscribe')]
    await client.command('MAIL FROM:<>')
    for (const localPart of localParts) {
      for (const domain of ['relay.example', 'SEND.customer.example']) {
        expect((await client.command(`RCPT TO:<${localPart}@${domain}>`)).code, localPart).toBe(250)
      }
    }
    expect((await client.command('RCPT TO:<PostMaster>')).code).toBe(250)
    await client.command('DATA')
    client.write(`${message}\r\n.\r\n`)
    expect((await client.reply()).code).toBe(250)
    const purposes = (await relay.waiting())
      .filter(({ forward_path: forwardPath }) => forwardPath !== postmaster)
      .map(({ purpose }) => purpose)
    expect(new Set(purposes)).toEqual(new Set(['postmaster', 'abuse', 'complaint', 'dmarc_report', 'tls_report', 'bounce', 'unsubscribe']))
  })
})

describe('smuggled commands in a message', async () => {
  const relay = await startTestReturnPath()

  test.each(inboundSequences.map((sequence) => [JSON.stringify(sequence), sequence] as const))('%s', async (_, sequence) => {
    for (const place of ['body', 'header'] as const) {
      for (const cut of [null, 'bytewise', ...(place === 'body' ? cutsAround({ sequence, to: postmaster }) : [])] as const) {
        await relay.db.write([{ sql: 'delete from returned_mail_content' }])
        const client = await relay.greet()
        const codes = await smuggle(client, { sequence, place, cut, to: postmaster })
        const wanted = toleratedOutcome(sequence)
        expect(codes.slice(0, wanted.codes.length), `${place} ${cut}`).toEqual(wanted.codes)
        const subjects = (await relay.kept()).map((text) => /^Subject: (\w+)/m.exec(text)?.[1])
        expect(subjects, `${place} ${cut}`).toEqual(wanted.taken)
      }
    }
  })
})

describe('limits', () => {
  const flooded = async (client: SmtpClient, line: string, times = 10_000): Promise<string> => {
    client.write(`${line}\r\n`.repeat(times))
    return client.untilClosed()
  }

  test('on commands, syntax errors and guessed addresses', async () => {
    const relay = await startTestReturnPath()
    for (const line of [
      'NOOP',
      'RSET',
      'VRFY postmaster',
      'EHLO x',
      'MAIL FROM:<',
      'RCPT TO:<guess@relay.example>',
      'RCPT TO:<user@example.net>',
    ]) {
      const client = await relay.greet()
      await client.command('MAIL FROM:<>')
      const replies = await flooded(client, line)
      expect(replies, line).toMatch(/\r\n421 4\.7\.0 Too many commands without a message\r\n$/)
      expect(replies.split('\r\n').length, line).toBeLessThan(1_000)
    }
    expect(await flooded(await relay.greet(), 'XYZZY')).toMatch(/421 4\.7\.0 too many unrecognized commands\r\n$/)
    const again = await relay.greet()
    await again.command('MAIL FROM:<>')
    expect(await flooded(again, 'RCPT TO:<postmaster>', 20_000), 'the same recipient').toMatch(/Too many commands without a message\r\n$/)
    const endless = await relay.connect()
    endless.write('x'.repeat(100_000))
    expect(await endless.untilClosed()).toMatch(/^421 4\.7\.0 Command line too long\r\n$/)
  })

  test('on size, declared or not', async () => {
    const relay = await startTestReturnPath()
    const client = await relay.greet()
    expect((await client.command(`MAIL FROM:<> SIZE=${maxReportBytes + 1}`)).last).toMatch(/^552 5\.3\.4 /)
    const sent = async (to: string, lines: number) => (await client.send(head + line.repeat(lines), { from: '', to: [to] })).last
    const line = `${'x'.repeat(998)}\r\n`
    const head = 'Subject: large\r\n\r\n'
    expect(await sent(`${relay.token('bounce')}@relay.example`, 5_100)).toMatch(/^552 5\.3\.4 /)
    for (const whole of ['postmaster', 'abuse', 'dmarc-reports', 'tls-reports'])
      expect(await sent(`${whole}@relay.example`, 2_200), whole).toMatch(/^552 5\.3\.4 /)
    expect(await sent(postmaster, 2_000)).toMatch(/^250 /)
    expect((await relay.kept()).map(({ length }) => length > 2_000_000)).toEqual([true])
  })

  test('on what is kept: of a report the beginning, and that is what its box counts', async () => {
    // A source may use a sixteenth: twice what is kept, and not once what comes.
    const relay = await startTestReturnPath({ storageLimit: 33 * keptOfReport })
    const client = await relay.greet()
    const report = `Subject: large\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(4_500)}`
    for (const to of [`${relay.token('bounce')}@relay.example`, `${relay.token('unsubscribe')}@relay.example`, 'fbl@relay.example'])
      expect((await client.send(report, { from: '', to: [to] })).code, to).toBe(250)
    for (const kept of await relay.kept()) {
      expect(kept.length).toBeGreaterThan(keptOfReport)
      expect(kept.length).toBeLessThan(keptOfReport + 1_000)
      expect(report.startsWith(kept.slice(kept.indexOf('Subject: large')))).toBe(true)
    }
  })

  test('on recipients: the first hundred are accepted, the rest deferred', async () => {
    const relay = await startTestReturnPath()
    const client = await relay.greet()
    const many = Array.from({ length: 102 }, (_, i) => `RCPT TO:<${caseOf(relay.token('bounce'), i)}@relay.example>`)
    const replies = (await client.pipeline(['MAIL FROM:<>', ...many])).slice(1)
    expect(replies.slice(0, 100).every((reply) => reply.startsWith('250 '))).toBe(true)
    expect(replies.slice(100).every((reply) => reply.startsWith('452 4.5.3 '))).toBe(true)
    await client.command('DATA')
    client.write(`${message}\r\n.\r\n`)
    expect((await client.reply()).code).toBe(250)
    // All of them were the same.
    expect((await relay.waiting()).length).toBe(1)
  })

  test('on messages per minute from one address', async () => {
    const relay = await startTestReturnPath({ messagesPerMinute: 2 })
    const client = await relay.greet()
    for (const code of [250, 250, 451]) expect((await client.send(message, { to: [postmaster] })).code).toBe(code)
    expect((await (await relay.greet()).command('MAIL FROM:<>')).last).toMatch(/^451 4\.7\.1 /)
    relay.clock.advance(60_000)
    expect((await client.send(message, { to: [postmaster] })).code).toBe(250)
  })

  test('on connections, per address and in all', async () => {
    for (const [limits, text] of [
      [{ maxConnectionsPerAddress: 1 }, 'Too many connections from your address'],
      [{ maxConnections: 1 }, 'Too many connections, try again later'],
    ] as const) {
      const relay = await startTestReturnPath(limits)
      const first = await relay.greet()
      await first.command('STARTTLS')
      await first.startTls()
      expect((await (await relay.connect({ greeting: false })).reply()).last).toBe(`421 4.7.0 ${text}`)
      first.close()
      await vi.waitFor(async () => expect((await (await relay.connect({ greeting: false })).reply()).code).toBe(220), { timeout: 90_000 })
    }
  })

  test('on slow connections: the address with the most loses one to newcomers, and idle ones go first', async () => {
    const relay = await startTestReturnPath({ maxConnections: 4, maxConnectionsPerAddress: 2 })
    const slow: SmtpClient[] = []
    for (const localAddress of ['127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.3']) {
      const client = await relay.connect({ localAddress })
      await client.pipeline(['EHLO slow.example', 'MAIL FROM:<>', `RCPT TO:<${postmaster}>`, 'DATA'])
      client.write('Subject: slow')
      slow.push(client)
    }
    const first = await relay.greet()
    expect(await slow[0]!.untilClosed()).toMatch(/^421 4\.7\.0 Too many connections, and yours was idle/)
    relay.clock.advance(restMs)
    const second = await relay.greet()
    expect((await (await relay.connect({ greeting: false })).reply()).code, 'one that has rested gives way').toBe(220)
    await first.untilClosed()
    expect((await (await relay.connect({ greeting: false })).reply()).last).toBe('421 4.7.0 Too many connections from your address')
    expect((await second.send(message, { to: [postmaster] })).code).toBe(250)
  })

  test('on messages that arrive too slowly', async () => {
    const relay = await startTestReturnPath()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const client = await relay.greet()
      await client.pipeline(['MAIL FROM:<>', `RCPT TO:<${postmaster}>`, 'DATA'])
      for (let i = 0; i < 31; i++) {
        client.write('x')
        relay.clock.advance(2_000)
        vi.advanceTimersByTime(2_000)
      }
      expect((await client.reply()).last).toMatch(/^421 4\.4\.2 The message came in too slowly/)
    } finally {
      vi.useRealTimers()
    }
    expect(await relay.kept()).toEqual([])
  })

  test('on time: a client without a message within ten minutes is disconnected, however busy it is', async () => {
    const relay = await startTestReturnPath()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const busy = await relay.greet()
      vi.advanceTimersByTime(300_000)
      const [idle, served] = [await relay.greet(), await relay.greet()]
      vi.advanceTimersByTime(299_999)
      expect((await busy.command('NOOP')).code).toBe(250)
      expect((await served.send(message, { to: [postmaster] })).code).toBe(250)
      vi.advanceTimersByTime(1)
      expect((await busy.reply()).last).toMatch(/^421 4\.4\.2 No message in time/)
      vi.advanceTimersByTime(300_000)
      expect((await idle.reply()).last).toMatch(/^421 4\.4\.2 No message in time/)
      expect((await served.command('NOOP')).code).toBe(250)
    } finally {
      vi.useRealTimers()
    }
  })

  test('on storage: a full box refuses, the other accepts, and nothing stored is deleted', async () => {
    const relay = await startTestReturnPath({ storageLimit: 4_096 })
    const client = await relay.greet()
    const bounce = `${relay.token('bounce')}@relay.example`
    expect((await client.send(message, { to: [postmaster] })).code).toBe(250)
    expect((await client.send(message, { to: [postmaster] })).last).toMatch(/^452 4\.2\.2 /)
    expect((await client.send(message, { from: '', to: [bounce] })).code).toBe(250)
    expect((await client.send(message, { from: '', to: [bounce] })).last).toMatch(/^452 4\.2\.2 /)
    expect((await relay.kept()).length).toBe(2)
  })

  test('on disk space: a full disk defers mail and stores nothing', async () => {
    const relay = await startTestReturnPath()
    relay.space.require = () => {
      throw new StorageFullError()
    }
    const client = await relay.greet()
    expect((await client.send(message, { to: [postmaster] })).last).toMatch(/^452 4\.3\.1 /)
    expect(await relay.kept()).toEqual([])
  })
})

describe('failures', () => {
  test('a client that disconnects in the middle leaves nothing behind', async () => {
    const relay = await startTestReturnPath()
    const client = await relay.greet()
    for (const line of ['MAIL FROM:<>', `RCPT TO:<${postmaster}>`, 'DATA']) await client.command(line)
    client.write(message)
    client.close()
    expect((await (await relay.greet()).send(message, { to: ['abuse@relay.example'] })).code).toBe(250)
    expect((await relay.waiting()).map(({ purpose }) => purpose)).toEqual(['abuse'])
  })

  test('if the store fails, the sender is asked to retry', async () => {
    const relay = await startTestReturnPath()
    const client = await relay.greet()
    await relay.db.write([{ sql: 'drop table returned_mail' }])
    expect((await client.send(message, { to: [postmaster] })).last).toMatch(/^451 4\.3\.0 /)
  })

  test('a token that expires between RCPT and the end of data is refused', async () => {
    const relay = await startTestReturnPath()
    const client = await relay.greet()
    for (const line of ['MAIL FROM:<>', `RCPT TO:<${relay.token('bounce')}@relay.example>`, 'DATA']) await client.command(line)
    relay.clock.advance(40 * 86_400_000)
    client.write(`${message}\r\n.\r\n`)
    expect((await client.reply()).last).toMatch(/^550 5\.2\.1 /)
  })

  test('a port in use is reported with its setting', async () => {
    const relay = await startTestReturnPath()
    await expect(startTestReturnPath({ listen: [{ host: '127.0.0.1', port: relay.port }] })).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('return_path.listen'),
    })
  })
})

/** The same token in another mixture of capitals. */
const caseOf = (token: string, mixture: number): string =>
  Array.from(token, (letter, place) => (mixture & (1 << (place % 8)) ? letter.toUpperCase() : letter)).join('')
