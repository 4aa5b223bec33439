import { createHash } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import { SternaError, type ErrorCode } from '../../../src/platform/errors.ts'
import { chunkSize } from '../../../src/mail/message/content.ts'
import { StorageFullError } from '../../../src/platform/store/database.ts'
import { startTestSubmissionServer } from '../../support/submission-server.ts'

const relay = await startTestSubmissionServer()

/** Sends this message on a connection of its own; the last line of the reply, and what was taken. */
async function send(header: string[], body = 'hello', envelope: { from?: string; to?: string[] } = {}) {
  const before = relay.taken.length
  const client = await relay.login()
  const reply = await client.send([...header, '', body].join('\r\n'), envelope)
  client.close()
  return { reply: reply.last, taken: relay.taken[before] }
}

const from = 'From: Me <me@example.com>'

describe('a message that is taken', () => {
  test('gets what RFC 6409 8 asks for, loses Bcc and our own fields, and keeps every other byte', async () => {
    const { reply, taken } = await send(
      [
        from,
        'To: You <you@example.net>',
        'Bcc: secret@example.org',
        'X-Tags: campaign=spring, kind=receipt',
        'X-Metadata: {"order":"7"}',
        'X-Expires-In: 3600',
        'X-Odd:   spaced\r\n\tand folded ',
        'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
      ],
      ' a\r\n\r\n\tb ',
    )
    expect(reply).toBe(`250 2.0.0 Ok: queued as ${taken?.id}`)
    const [header, ...body] = taken?.text.split('\r\n\r\n') ?? []
    expect(body.join('\r\n\r\n')).toBe(' a\r\n\r\n\tb \r\n')
    expect(header).toContain('X-Odd:   spaced\r\n\tand folded \r\n')
    expect(header).toMatch(
      new RegExp(
        `^Received: from client\\.example \\(\\[127\\.0\\.0\\.1\\]\\)\\r\\n by relay\\.example\\.com with ESMTPA id ${taken?.id};\\r\\n Sat, 21 Nov 2026 06:00:00 \\+0000\\r\\n`,
      ),
    )
    expect(header).toMatch(/\r\nDate: Sat, 21 Nov 2026 06:00:00 \+0000\r\n/)
    expect(header).toContain(`\r\nMessage-ID: ${taken?.header.messageIdHeader}\r\n`)
    expect(header).not.toMatch(/^(?:bcc|x-tags|x-metadata|x-expires)|secret/im)
    expect(taken).toMatchObject({
      source: 'smtp',
      submitter: { accountId: 'acc_1', domainId: null, sandbox: false },
      envelope: { reversePath: 'me@example.com', bodyType: '7bit', smtputf8: false },
      header: { from: [{ address: 'me@example.com', name: 'Me' }], subject: 'Grüße' },
      options: {
        tags: [
          { name: 'campaign', value: 'spring' },
          { name: 'kind', value: 'receipt' },
        ],
        metadata: { order: '7' },
        expiresIn: 3600,
        scheduledAt: null,
      },
      idempotency: null,
    })
  })

  test('goes to its envelope, whatever its header says, with the DSN parameters of each', async () => {
    const client = await relay.login()
    const replies = await client.pipeline([
      'MAIL FROM:<> RET=HDRS ENVID=job+2B7',
      'RCPT TO:<To@Example.NET> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;to@example.net',
      'RCPT TO:<cc@example.net> NOTIFY=NEVER',
      'RCPT TO:<hidden@example.net>',
      'DATA',
    ])
    expect(replies.map((reply) => reply.slice(0, 3))).toEqual(['250', '250', '250', '250', '354'])
    client.write([from, 'To: <to@example.net>, not@example.net', 'Cc: Group: cc@example.net;', '', 'hello', '.', ''].join('\r\n'))
    expect((await client.reply()).code).toBe(250)
    const taken = relay.taken.at(-1)?.envelope
    expect(taken).toMatchObject({ reversePath: null, ret: 'hdrs', envid: 'job+2B7' })
    expect(taken?.recipients).toEqual([
      { forwardPath: 'To@example.net', type: 'to', notify: 'SUCCESS,FAILURE', orcpt: 'rfc822;to@example.net' },
      { forwardPath: 'cc@example.net', type: 'cc', notify: 'NEVER', orcpt: null },
      { forwardPath: 'hidden@example.net', type: 'bcc', notify: null, orcpt: null },
    ])
  })

  test('tells what it needs of the hosts to come', async () => {
    expect((await send([from], 'grün')).taken?.envelope).toMatchObject({ bodyType: '8bitmime', smtputf8: false })
    const client = await relay.login()
    await client.pipeline(['MAIL FROM:<mé@example.com> SMTPUTF8', 'RCPT TO:<yöu@bücher.example>', 'DATA'])
    client.write(`${from}\r\n\r\nhello\r\n.\r\n`)
    await client.reply()
    expect(relay.taken.at(-1)?.envelope).toMatchObject({ smtputf8: true, reversePath: 'mé@example.com', bodyType: '7bit' })
    expect(relay.taken.at(-1)?.envelope.recipients[0]?.forwardPath).toBe('yöu@xn--bcher-kva.example')
    expect(relay.taken.at(-1)?.text).toContain(' with UTF8SMTPA id ')
    // Of a recipient's address the other recipients need nothing.
    await client.pipeline(['MAIL FROM:<me@example.com> SMTPUTF8', 'RCPT TO:<yöu@example.net>', 'RCPT TO:<you@example.net>', 'DATA'])
    client.write(`${from}\r\n\r\nhello\r\n.\r\n`)
    await client.reply()
    expect(relay.taken.at(-1)?.envelope).toMatchObject({ smtputf8: false })
  })

  test('tells nothing in Received that a client wrote into its EHLO', async () => {
    const client = await relay.connect()
    await client.command('EHLO x(by.mail.bank.example)')
    await client.command(`AUTH PLAIN ${Buffer.from('\0user\0good').toString('base64')}`)
    await client.send(`${from}\r\n\r\nhello`)
    expect(relay.taken.at(-1)?.text).toMatch(/^Received: from unknown \(\[127\.0\.0\.1\]\)\r\n/)
  })

  test('carries an idempotency key that a retry with a new date and recipients in another order matches', async () => {
    const to = ['b@example.net', 'a@example.net']
    const first = await send([from, 'Subject: s', 'Idempotency-Key: k1', 'Date: Sat, 21 Nov 2026 05:00:00 +0000'], 'x', { to })
    const retry = await send([from, 'Subject: s', 'Idempotency-Key: k1', 'Message-ID: <new@example.com>'], 'y', { to: to.toReversed() })
    const other = await send([from, 'Subject: t', 'Idempotency-Key: k1'], 'x', { to })
    expect(first.taken?.text).not.toContain('Idempotency-Key')
    expect(first.taken?.idempotency).toEqual({ operation: 'smtp', key: 'k1', fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(retry.taken?.idempotency).toEqual(first.taken?.idempotency)
    expect(other.taken?.idempotency?.fingerprint).not.toBe(first.taken?.idempotency?.fingerprint)
  })
})

describe('a message that is refused', () => {
  test.each([
    ['without From', ['To: you@example.net'], /^550 5\.6\.0 .*From/],
    ['with two From fields', [from, from], /^550 5\.6\.0 .*From/],
    ['with a space before a colon', ['From : me@example.com'], /^550 5\.6\.0 .*colon/],
    ['with NUL in its header', [from, 'Subject: a\0b'], /^550 5\.6\.0 .*NUL/],
    ['with malformed tags', [from, 'X-Metadata: [1]'], /^550 5\.6\.0 X-Metadata/],
    ['that goes round in circles', [from, ...Array.from({ length: 51 }, () => 'Received: by x.example')], /^554 5\.4\.6 /],
  ])('%s', async (_, header, reply) => {
    const outcome = await send(header)
    expect(outcome.reply).toMatch(reply)
    expect(outcome.taken).toBeUndefined()
  })

  test.each<[unknown, string]>([
    [new SternaError('domain_not_verified', 'not verified'), '550 5.7.1 not verified'],
    [new SternaError('restricted_api_key', 'not from there'), '550 5.7.1 not from there'],
    [new SternaError('account_suspended', 'suspended'), '550 5.7.1 suspended'],
    [new SternaError('invalid_idempotent_request', 'other request'), '550 5.5.4 other request'],
    [new SternaError('concurrent_idempotent_requests', 'running'), '451 4.5.0 running'],
    [new SternaError('service_unavailable', 'starting'), '451 4.3.0 starting'],
    [new SternaError('rate_limit_exceeded', 'slower'), '451 4.7.1 slower'],
    [new SternaError('insufficient_storage', 'full'), '452 4.3.1 full'],
    [new SternaError('payload_too_large', 'large'), '552 5.3.4 large'],
    [new StorageFullError(), '452 4.3.1 The server has no room for more mail at the moment, try again later.'],
    [
      new SternaError('internal_server_error' satisfies ErrorCode, 'at line 7'),
      '451 4.3.0 The server failed to accept the message, try again later.',
    ],
    [new TypeError('at line 7'), '451 4.3.0 The server failed to accept the message, try again later.'],
  ])('by the door with %s', async (error, expected) => {
    relay.door.before = async () => {
      throw error
    }
    const { reply } = await send([from])
    relay.door.before = async () => {}
    expect(reply).toBe(expected)
  })

  test('for its size says the limit, even where it was not announced', async () => {
    const small = await startTestSubmissionServer({ maxMessageBytes: 1_000 })
    const client = await small.login()
    expect((await client.send(`${from}\r\n\r\n${'x'.repeat(1_000)}`)).last).toMatch(/^552 5\.3\.4 .*1000 bytes/)
    expect((await client.send(`${from}\r\n\r\nhello`)).code).toBe(250)
  })
})

test('250 waits for the door', async () => {
  const door = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  relay.door.before = async () => {
    reached.resolve()
    await door.promise
  }
  const client = await relay.login()
  await client.pipeline(['MAIL FROM:<me@example.com>', 'RCPT TO:<you@example.net>', 'DATA'])
  client.write(`${from}\r\n\r\nhello\r\n.\r\n`)
  const answered = vi.fn()
  const reply = client.reply().finally(answered)
  await reached.promise
  // Another session is served meanwhile, so the reply had every chance to arrive.
  expect((await (await relay.login()).command('NOOP')).code).toBe(250)
  expect(answered).not.toHaveBeenCalled()
  relay.door.before = async () => {}
  door.resolve()
  expect((await reply).code).toBe(250)
})

describe('a large message', () => {
  const body = `${'0123456789abcdef'.repeat(60)}\r\n`.repeat(6_000)
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

  test('is stored while it arrives, five chunks at a time, our header first', async () => {
    const { reply, taken } = await send([from], body)
    expect(reply).toMatch(/^250 /)
    expect(taken?.content.size).toBe(taken?.text.length)
    expect(taken?.content.stored).toBe(20)
    expect(taken?.content.pending.length).toBeLessThanOrEqual(5)
    expect(taken?.content.pending.slice(0, -1).every((chunk) => chunk.length === chunkSize)).toBe(true)
    expect(taken?.text.startsWith('Received: ')).toBe(true)
    expect(digest(taken?.text.slice(taken.text.indexOf('\r\n\r\n') + 4) ?? '')).toBe(digest(`${body}\r\n`))
    expect(relay.chunks.get(taken?.id ?? '')?.size).toBe(20)
  })

  test('is read no faster than it is stored', async () => {
    const { store } = relay.door
    let storing = 0
    let most = 0
    const release: (() => void)[] = []
    relay.door.store = async (messageId, first, chunks) => {
      expect(chunks).toHaveLength(5)
      most = Math.max(most, ++storing)
      await new Promise<void>((resolve) => release.push(resolve))
      storing -= 1
      await store(messageId, first, chunks)
    }
    const sent = send([from], body)
    for (let stored = 0; stored < 20; stored += 5) {
      await vi.waitFor(() => expect(release).toHaveLength(1), { timeout: 90_000 })
      release.pop()?.()
    }
    expect((await sent).taken?.content.stored).toBe(20)
    expect(most).toBe(1)
    relay.door.store = store
  })

  test('is put off where the disk is full', async () => {
    const { store } = relay.door
    relay.door.store = async () => {
      throw new StorageFullError()
    }
    expect((await send([from], body)).reply).toMatch(/^452 4\.3\.1 /)
    relay.door.store = store
  })
})
