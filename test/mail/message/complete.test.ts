import fc from 'fast-check'
import addressparser from 'nodemailer/lib/addressparser/index.js'
import { describe, expect, it } from 'vitest'
import { complete } from '../../../src/mail/message/complete.ts'
import { defaultOptions } from '../../../src/mail/message/send-options.ts'
import { cases } from '../../support/cases.ts'

const now = Date.UTC(2026, 10, 21, 6, 0, 0)
const received = 'Received: from app ([192.0.2.1])\r\n\tby mx.example with ESMTPSA id em_1'

const from = 'From: Ann <a@own.example>'
const run = (lines: string[], body = 'body\r\n') => complete(Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`), { received, now })
const completed = (lines: string[]) => {
  const result = run(lines)
  if (!result.ok) throw new Error(result.fault)
  return result
}
const headerOf = (lines: string[]): string[] =>
  completed(lines)
    .header.toString()
    .replace(/\r\n(?=[ \t])/g, '')
    .split('\r\n')

describe('complete', () => {
  it('adds what is missing and touches nothing else', () => {
    const given = [from, 'To: b@example.org', 'Subject: folded', '  text', 'X-Odd:   kept  as is ']
    const result = completed(given)
    const [trace, messageId, date, ...rest] = headerOf(given)
    expect(trace).toBe(received.replace('\r\n', ''))
    expect(messageId).toMatch(/^Message-ID: <[0-9a-f]{32}@own\.example>$/)
    expect(result.summary.messageIdHeader).toMatch(/^<[0-9a-f]{32}@own\.example>$/)
    expect(date).toBe('Date: Sat, 21 Nov 2026 06:00:00 +0000')
    expect(rest).toEqual([from, 'To: b@example.org', 'Subject: folded  text', 'X-Odd:   kept  as is ', '', ''])
    expect(result.header.toString()).toContain('Subject: folded\r\n  text\r\n')
    expect(result.bodyOffset).toBe(`${given.join('\r\n')}\r\n\r\n`.length)
  })

  it('keeps Date and Message-ID that are there, and replaces empty ones', () => {
    const kept = headerOf([from, 'date: yesterday', 'MESSAGE-ID: <1@app>'])
    expect(kept).toEqual([received.replace('\r\n', ''), from, 'date: yesterday', 'MESSAGE-ID: <1@app>', '', ''])
    expect(completed([from, 'Message-ID: <1@app>']).summary.messageIdHeader).toBe('<1@app>')
    const replaced = headerOf([from, 'Date:', 'Message-ID: '])
    expect(replaced.filter((line) => /^(date|message-id):/i.test(line))).toHaveLength(2)
    expect(replaced).not.toContain('Date:')
  })

  it('removes what must not leave', () => {
    const lines = headerOf([from, 'Bcc: x@example.org', 'bcc: y@example.org', 'Resent-Bcc: z@example.org', 'Return-Path: <r@example.org>'])
    // A Message-ID of ours is random hex, which may hold the letters.
    expect(lines.join('\n')).not.toMatch(/^(?:resent-)?bcc:|^return-path:/im)
  })

  it('tells what the header says', () => {
    const result = completed([
      'From: =?utf-8?q?J=C3=BCrgen?= <j@Own.example>, "B, C" <b@sub.own.example>, k@own.example',
      'Sender: j@own.example',
      'To: Ann (work) <a@example.org>, b@example.org',
      'Cc: not an address',
      'Reply-To: r@example.org',
      'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
    ])
    expect(result).toMatchObject({
      summary: {
        from: [
          { name: 'Jürgen', address: 'j@own.example' },
          { name: 'B, C', address: 'b@sub.own.example' },
          { name: null, address: 'k@own.example' },
        ],
        sender: { name: null, address: 'j@own.example' },
        toText: ['Ann <a@example.org>', 'b@example.org'],
        ccText: ['not an address'],
        replyToText: ['r@example.org'],
        subject: 'Grüße',
      },
      smtputf8: false,
      options: defaultOptions,
      idempotencyKey: null,
    })
  })

  it.each([
    ['true', ''],
    ['TRUE', ''],
    ['false', null],
    ['spring_2026-news', 'spring_2026-news'],
  ])('X-Unsubscribe: %s', (value, unsubscribeTopic) => {
    expect(run([from, `X-Unsubscribe: ${value}`])).toMatchObject({ ok: true, options: { unsubscribeTopic } })
  })

  it('reads and removes the fields that are meant for us', () => {
    const lines = [
      from,
      'X-Tags: campaign=spring, kind = receipt',
      'X-Metadata: {"order":"17",',
      ' "__proto__":"x","name":"=?utf-8?q?J=C3=BCrgen?="}',
      'Idempotency-Key: order-17',
      'X-Scheduled-At: 2026-11-21T08:30:00+01:00',
      'x-expires-in: 600',
    ]
    const result = completed(lines)
    expect(result.options.tags).toEqual([
      { name: 'campaign', value: 'spring' },
      { name: 'kind', value: 'receipt' },
    ])
    expect(Object.entries(result.options.metadata)).toEqual([
      ['order', '17'],
      ['__proto__', 'x'],
      ['name', 'Jürgen'],
    ])
    expect(result).toMatchObject({ idempotencyKey: 'order-17', options: { scheduledAt: now + 90 * 60_000, expiresIn: 600 } })
    expect(result.header.toString()).not.toMatch(/x-tags|x-metadata|idempotency|x-scheduled|x-expires/i)
  })

  it('sends at once where the time has passed', () => {
    expect(completed([from, 'X-Scheduled-At: 2026-11-21T05:00:00Z']).options.scheduledAt).toBeNull()
  })

  it.each([
    [['To: a@b'], 'From field is missing'],
    [['From:'], 'missing'],
    [[from, from], 'more than one From'],
    [[from, 'from: b@bank.example'], 'more than one From'],
    [[from, 'Subject: a', 'Subject: b'], 'more than one Subject'],
    [[from, 'To: a@b', 'To: c@d'], 'more than one To'],
    [[from, 'Date: a', 'Date: b'], 'more than one Date'],
    [[from, 'Sender: a@b', 'Sender: c@d'], 'more than one Sender'],
    [[from, 'Message-ID: <a>', 'Message-Id: <b>'], 'more than one Message-ID'],
    [[from, 'Content-Type: text/plain', 'Content-Type: text/html'], 'more than one Content-Type'],
    [['From : a@own.example'], 'space between'],
    [['From: a@own.example', 'From : b@bank.example'], 'space between'],
    [['From: <a@own.example> <b@bank.example>'], 'From:'],
    [['From: a@own.example <b@bank.example>'], 'From:'],
    [['From: a@own.example (x) <b@bank.example>'], 'From:'],
    [['From: a@own.example (b@bank.example)'], 'From:'],
    [['From: b@bank.example, a <a@own.example>'], 'needs a Sender'],
    [['From: Lee, Ann <a@own.example>'], 'put the whole name in quotation marks'],
    [['From: a@own.example; b@bank.example'], 'put commas'],
    [['From: b@bank.example: a@own.example'], 'From:'],
    [['From: "Ann <a@own.example>'], 'Close it'],
    [['From: Us: a@own.example;'], 'From:'],
    [['From: =?utf-8?q?a=40own=2Eexample?='], 'From:'],
    [['From: a@own.example, b@bank.example'], 'needs a Sender'],
    [['From: a@own.example.'], 'From:'],
    [['From: a@own.example\0.bank.example'], 'NUL'],
    [[from, 'Sender: a@own.example, b@own.example'], 'Sender'],
    [[from, 'Sender: nobody'], 'Sender:'],
    [[from, 'X-Tags: campaign'], 'X-Tags'],
    [[from, 'X-Tags: a b=c'], 'X-Tags'],
    [[from, 'X-Tags: a=b, a=c'], 'twice'],
    [[from, `X-Tags: ${Array.from({ length: 21 }, (_, i) => `t${i}=x`).join(',')}`], '20 tags'],
    [[from, 'X-Metadata: {'], 'JSON'],
    [[from, 'X-Metadata: ["a"]'], 'object'],
    [[from, 'X-Metadata: null'], 'object'],
    [[from, 'X-Metadata: {"a":1}'], 'not a string'],
    [[from, `X-Metadata: {"${'k'.repeat(65)}":"v"}`], '64'],
    [[from, `X-Metadata: {"k":"${'v'.repeat(501)}"}`], '500'],
    [[from, 'Idempotency-Key:'], 'Idempotency-Key'],
    [[from, `Idempotency-Key: ${'k'.repeat(257)}`], '256'],
    [[from, 'Idempotency-Key: a', 'Idempotency-Key: b'], 'more than one Idempotency-Key'],
    [[from, 'X-Scheduled-At: tomorrow'], 'ISO 8601'],
    [[from, 'X-Scheduled-At: 2026-11-21T08:30:00'], 'time zone'],
    [[from, 'X-Scheduled-At: 2026-13-41T08:30:00Z'], 'ISO 8601'],
    [[from, 'X-Scheduled-At: 2027-02-30T08:30:00Z'], 'ISO 8601'],
    [[from, 'X-Scheduled-At: 2027-01-21T08:30:00Z'], '30 days'],
    [[from, 'X-Expires-In: 59'], '60'],
    [[from, 'X-Expires-In: 1e3'], '60'],
    [[from, 'X-Expires-In: 432001'], '432000'],
    [[from, 'X-Unsubscribe: news, offers'], 'X-Unsubscribe: A topic'],
    [[from, 'X-Unsubscribe:'], 'X-Unsubscribe: A topic'],
    [[from, `X-Unsubscribe: ${'t'.repeat(65)}`], '64'],
  ])('refuses %j', (lines, words) => {
    expect(run(lines)).toEqual({ ok: false, fault: expect.stringContaining(words) })
  })

  it('keeps for people the beginning of what is far too long, and sends all of it', () => {
    const to = Array.from({ length: 5000 }, (_, i) => `a${i}@b.example`)
    const done = completed([from, `To: ${to.join(',')}`, `Subject: ${'s'.repeat(5000)}`])
    const { toText, subject } = done.summary
    expect(to.map((address) => done.addressedAs(address)).every((type) => type === 'to')).toBe(true)
    expect(toText).toEqual(to.slice(0, toText.length))
    expect(toText.join('').length).toBeLessThan(10_000)
    expect(subject).toBe(`${'s'.repeat(997)}…`)
    expect(headerOf([from, `Subject: ${'s '.repeat(2500)}`])).toContain(`Subject: ${'s '.repeat(2500).trim()}`)
  })

  it.each([
    [[`From: ${'a@b.example, '.repeat(100)}a@b.example`, 'Sender: a@b.example'], /more than 100 mailboxes/],
    [[from, `Message-ID: <${'x'.repeat(1000)}@b.example>`], /Message-ID/],
  ])('refuses fields that only an attack has', (lines, fault) => {
    expect(run(lines)).toMatchObject({ ok: false, fault: expect.stringMatching(fault) })
  })

  it('refuses a From field that is not UTF-8', () => {
    const bytes = Buffer.from('From: J\xfcrgen <j@own.example>\r\n\r\n', 'latin1')
    expect(complete(bytes, { received, now })).toEqual({ ok: false, fault: expect.stringContaining('UTF-8') })
  })
})

describe('a header with bytes above 127', () => {
  it('becomes ASCII where that says the same', () => {
    const result = completed(['From: Jürgen <j@own.example>', 'To: Groß <g@bücher.example>', 'Subject: Grüße', 'X-Note: für dich'])
    expect(result.smtputf8).toBe(false)
    expect(result.summary.subject).toBe('Grüße')
    const again = complete(result.header, { received, now })
    expect(again).toMatchObject({
      summary: {
        from: [{ name: 'Jürgen', address: 'j@own.example' }],
        toText: ['Groß <g@xn--bcher-kva.example>'],
        subject: 'Grüße',
      },
    })
  })

  it('stays where an address needs it', () => {
    const result = completed([from, 'To: jürgen@example.org'])
    expect(result.smtputf8).toBe(true)
    expect(result.header.toString()).toContain('jürgen@example.org')
  })

  it('stays where it is signed', () => {
    const result = completed([from, 'Subject: Grüße', 'DKIM-Signature: v=1'])
    expect(result.smtputf8).toBe(true)
    expect(result.header.toString()).toContain('Subject: Grüße\r\n')
  })
})

describe('a line of a header that is longer than hosts take', () => {
  const words = Array.from({ length: 300 }, (_, place) => `<${place}@other.example>`)

  it('is folded between its words, and reads the same', () => {
    const references = `References: ${words.join(' ')}`
    const { header } = completed([from, references, `X-Blanks: a${' '.repeat(1500)}b`, `X-End: ${words.join('\t')}${' '.repeat(1200)}`])
    const lines = header.toString().split('\r\n')
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(78)
    for (const line of lines.slice(0, -2)) expect(line.trim()).not.toBe('')
    expect(headerOf([from, references])).toContain(references)
  })

  it.each([
    ['To', ',', ', ', words.map((word) => `"Lee, ${word.slice(1, 5)}\\", x" ${word}`)],
    ['Resent-To', ',', ', ', words],
    ['References', '', ' ', words],
    ['List-Unsubscribe', ',', ', ', [`<https://own.example/${'a,b'.repeat(200)}>`, ...words]],
    ['Content-Type', ';', '; ', ['multipart/mixed', ...words.map((_, place) => `p${place}="a;b"`)]],
  ])('is folded where the grammar of %s allows it', (name, given, separator, parts) => {
    const { header } = completed([from, `${name}: ${parts.join(given)}`])
    for (const line of header.toString().split('\r\n')) expect(line.length).toBeLessThanOrEqual(998)
    const value = headerOf([from, `${name}: ${parts.join(given)}`]).find((line) => line.startsWith(`${name}:`))
    // White space behind a separator that had none is all that was added.
    expect(value?.replaceAll(separator, given)).toBe(`${name}: ${parts.join(separator)}`.replaceAll(separator, given))
  })

  it('is encoded where it is a word of free text', () => {
    const { header, summary } = completed([from, `Subject: ${'x'.repeat(1500)}`])
    for (const line of header.toString().split('\r\n')) expect(line.length).toBeLessThanOrEqual(76)
    expect(summary.subject).toMatch(/^x{997}…$/)
  })

  it.each([
    [[`X-Word: ${'x'.repeat(999)}`], 'X-Word'],
    [[`To: <${'x'.repeat(999)}@b.example>`], 'To'],
    [[`References: <a@b> <${'x'.repeat(999)}@b.example>`], 'References'],
    [[`Content-Type: text/plain; charset="${'x'.repeat(999)}"`], 'Content-Type'],
    [[`X-Long: ${words.join(' ')}`, 'DKIM-Signature: v=1; c=simple/relaxed'], 'X-Long'],
    [[`X-Long: ${words.join(' ')}`, 'DKIM-Signature: v=1'], 'X-Long'],
    [[`To: ${words.join(',')}`, 'DKIM-Signature: v=1; c=relaxed'], 'To'],
  ])('is refused by name where it cannot be folded: %#', (lines, name) => {
    expect(run([from, ...lines])).toEqual({ ok: false, fault: expect.stringMatching(new RegExp(`The ${name} field.*998 characters`)) })
  })

  it('is folded at white space where it is signed in the relaxed form', () => {
    const signed = [from, `References: ${words.join(' ')}`, 'X-Odd:   kept ', 'DKIM-Signature: v=1; c=relaxed/simple;']
    const { header } = completed(signed)
    for (const line of header.toString().split('\r\n')) expect(line.length).toBeLessThanOrEqual(78)
    expect(headerOf(signed).slice(-6)).toEqual([...signed, '', ''])
  })

  it('stays whole up to 998 characters, and so does all that is shorter', () => {
    const lines = [from, `X-Word: ${'x'.repeat(990)}`, `X-Words: ${'x '.repeat(480)}y`]
    const { header } = completed(lines)
    expect(header.toString()).toContain(lines.slice(1).join('\r\n'))
    expect(completed([from, `X-Word: ${'x'.repeat(997)}`]).header.toString()).toContain(`X-Word:\r\n ${'x'.repeat(997)}\r\n`)
  })

  it('is not made of white space alone', () => {
    expect(completed([from, 'Subject: a', ' \t', '\tb', 'X-End: c', '  ']).header.toString()).toContain('Subject: a \t\tb\r\nX-End: c\r\n')
  })
})

describe('an address field', () => {
  it.each([
    ['From: root@own.example (Cron Daemon)', 'From: root@own.example (Cron Daemon)', 'Cron Daemon'],
    ['From: "Ann" (work) <a@own.example>', 'From: "Ann" (work) <a@own.example>', 'Ann'],
    ['From: root@own.example (Cron, "x")', 'From: "Cron, \\"x\\"" <root@own.example>', 'Cron, "x"'],
    ['From: [Shop] Orders <a@own.example>', 'From: "[Shop] Orders" <a@own.example>', '[Shop] Orders'],
    ['From: Shop [Berlin] <a@own.example>', 'From: "Shop [Berlin]" <a@own.example>', 'Shop [Berlin]'],
    ['From: foo @ beep <a@own.example>', 'From: "foo @ beep" <a@own.example>', 'foo @ beep'],
    ['From: a@own.example <a@own.example>', 'From: "a@own.example" <a@own.example>', 'a@own.example'],
    ['From: Alert: Disk <a@own.example>', 'From: "Alert: Disk" <a@own.example>', 'Alert: Disk'],
    ['From: [x] =?utf-8?q?J=C3=BC?= <a@own.example>', 'From: =?UTF-8?Q?=5Bx=5D_J=C3=BC?= <a@own.example>', '[x] Jü'],
    ['From: Ann < a@own.example >', 'From: Ann <a@own.example>', 'Ann'],
    ['From: Acme Inc. <a@own.example>', 'From: Acme Inc. <a@own.example>', 'Acme Inc.'],
  ])('leaves as all programs read it: %s', (given, leaving, name) => {
    expect(headerOf([given])).toContain(leaving)
    expect(completed([given]).summary.from).toMatchObject([{ name, address: expect.stringMatching(/^\w+@own\.example$/) }])
  })

  it('of authors is read by others as by us, whatever it is made of', () => {
    const words = ['a@own.example', 'b@bank.example', 'ann', 'own.example', 'ü', '＠', '=?utf-8?q?=3Cb=40bank.example=3E?=']
    const enclosed = ['<a@own.example>', '<b@bank.example>', '"x"', '"b@bank.example"', '(x)', '(b@bank.example)']
    const piece = fc.constantFrom(...words, ...enclosed, ...'"\\<>(),;: \t@.[]', '\r\n ')
    let taken = 0
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 7 }), (pieces) => {
        const result = run([`From: ${pieces.join('')}`, 'Sender: s@own.example'])
        if (!result.ok) return
        taken++
        const from = headerOf([`From: ${pieces.join('')}`, 'Sender: s@own.example']).find((line) => line.startsWith('From: ')) ?? ''
        const addresses = addressparser(from.slice('From: '.length), { flatten: true }).map(({ address }) => address)
        expect(addresses).toEqual(result.summary.from.map(({ address }) => address))
      }),
      { numRuns: cases(5000) },
    )
    expect(taken).toBeGreaterThan(cases(50))
  })

  it.each([
    ['To: [a] <a@b.example>, , c@d.example;', 'To: "[a]" <a@b.example>, c@d.example'],
    ['Cc: a@b.example (Ann)', 'Cc: a@b.example (Ann)'],
    ['Reply-To: Desk: 1 <a@b.example>', 'Reply-To: "Desk: 1" <a@b.example>'],
    ['Sender: root@own.example ((x))', 'Sender: "(x)" <root@own.example>'],
    ['Resent-To: a@b.example; c@d.example', 'Resent-To: a@b.example, c@d.example'],
    ['To: undisclosed-recipients:;', 'To: undisclosed-recipients:;'],
    ['To: Team: [a] <a@b.example>;', 'To: Team: [a] <a@b.example>;'],
    ['To: no address', 'To: no address'],
  ])('is treated alike: %s', (given, leaving) => expect(headerOf([from, given])).toContain(leaving))

  it('is left out where it is empty', () => {
    const lines = headerOf([from, 'Sender:', 'To:', 'Cc: ', 'Reply-To:\t', 'In-Reply-To:', 'X-Empty:'])
    expect(lines.slice(3)).toEqual([from, 'X-Empty:', '', ''])
    expect(headerOf([from, 'To:', 'DKIM-Signature: v=1'])).toContain('To:')
  })

  it.each([
    ['From: [Shop] Orders <a@own.example>', 'From field must be corrected'],
    ['From: a@own.example (x, y)', 'From field must be corrected'],
    ['From: a@own.example\r\nSender: [x] <b@own.example>', 'Sender field must be corrected'],
  ])('of a signed message is refused where it would have to be corrected: %j', (given, words) => {
    expect(run([given, 'DKIM-Signature: v=1'])).toEqual({ ok: false, fault: expect.stringContaining(words) })
    expect(run([given]).ok).toBe(true)
  })
})
