import { describe, expect, test } from 'vitest'
import { SternaError } from '../../../src/errors.ts'
import type { Form } from '../../../src/http/compat/form-fields.ts'
import { fromMailgun, mailgunField } from '../../../src/http/compat/mailgun-email.ts'

type Fields = [name: string, value: string][]

const least: Fields = [
  ['from', 'App <app@sender.example>'],
  ['to', 'ann@example.com'],
  ['subject', 'Hello'],
  ['text', 'Hello'],
]
const form = (more: Fields = [], files: Form['files'] = []): Form => ({
  fields: [...least.filter(([name]) => !more.some(([given]) => given === name && name !== 'to')), ...more],
  files,
})
const file = (field: string, filename: string, contentType = 'application/octet-stream') => ({
  field,
  filename,
  contentType,
  content: Buffer.from('hi'),
})

const ann = { email: 'ann@example.com', name: null }
const bob = { email: 'bob@example.com', name: 'Bob Miller' }
const plain = { from: { email: 'app@sender.example', name: 'App' }, to: [ann], subject: 'Hello', text: 'Hello' }

const refused = (given: Form, domain = 'sender.example'): SternaError => {
  try {
    fromMailgun(given, domain)
  } catch (error) {
    if (error instanceof SternaError) return error
    throw error
  }
  throw new Error('it was taken')
}

test.each<[name: string, more: Fields, changes: object]>([
  ['the least', [], {}],
  ['html', [['html', '<p>Hello</p>']], { html: '<p>Hello</p>' }],
  ['addresses, repeated and with commas', [['to', 'Bob Miller <bob@example.com>, ann@example.com']], { to: [ann, bob, ann] }],
  [
    'copies',
    [
      ['cc', 'ann@example.com'],
      ['bcc', 'ann@example.com'],
    ],
    { cc: [ann], bcc: [ann] },
  ],
  [
    'header fields',
    [
      ['h:X-A', '1'],
      ['h:Reply-To', 'ann@example.com'],
    ],
    { headers: { 'X-A': '1' }, reply_to: [ann] },
  ],
  [
    'variables',
    [
      ['v:user', '7'],
      ['v:json', '{"a":1}'],
    ],
    { metadata: { user: '7', json: '{"a":1}' } },
  ],
  [
    'tags',
    [
      ['o:tag', 'a'],
      ['o:tag', 'b'],
      ['o:tag', 'a'],
    ],
    {
      tags: [
        { name: 'a', value: 'true' },
        { name: 'b', value: 'true' },
      ],
    },
  ],
  ['a time', [['o:deliverytime', 'Sat, 21 Nov 2026 09:00:00 +0100']], { scheduled_at: '2026-11-21T08:00:00.000Z' }],
  ['no tracking', [['o:tracking', 'no']], { tracking: { opens: false, clicks: false } }],
  [
    'one kind of tracking, before the general word',
    [
      ['o:tracking-opens', 'yes'],
      ['o:tracking', 'false'],
    ],
    { tracking: { opens: true, clicks: false } },
  ],
  [
    'options that ask for nothing',
    [
      ['o:dkim', 'yes'],
      ['o:require-tls', 'false'],
      ['o:skip-verification', 'no'],
      ['t:text', 'yes'],
    ],
    {},
  ],
])('%s', (_, more, changes) => {
  expect(fromMailgun(form(more), 'sender.example')).toEqual({ emails: [{ ...plain, ...changes }], isTest: false })
})

test('a template with its variables', () => {
  const given = { fields: [...least.slice(0, 2), ['template', 'welcome'], ['t:variables', '{"name":"Ann"}']] as Fields, files: [] }
  expect(fromMailgun(given, 'sender.example').emails).toEqual([
    { from: plain.from, to: [ann], template: { id: 'welcome', variables: { name: 'Ann' } } },
  ])
})

test('files', () => {
  const given = form([], [file('attachment', 'a.txt', 'text/plain'), file('attachment', 'b.bin'), file('inline', 'c.png', 'image/png')])
  expect(fromMailgun(given, 'sender.example').emails[0]?.attachments).toEqual([
    { filename: 'a.txt', content: 'aGk=', content_type: 'text/plain' },
    { filename: 'b.bin', content: 'aGk=' },
    { filename: 'c.png', content: 'aGk=', content_type: 'image/png', content_id: 'c.png' },
  ])
})

test('o:testmode', () => {
  expect(fromMailgun(form([['o:testmode', 'yes']]), 'sender.example').isTest).toBe(true)
})

test('with recipient-variables every recipient has an email of its own', () => {
  const variables = JSON.stringify({ 'ann@example.com': { n: 1, html: '%recipient.n%' }, 'BOB@example.com': { n: 2, html: '' } })
  const given = form([
    ['to', 'Bob Miller <bob@example.com>'],
    ['recipient-variables', variables],
    ['subject', 'No %recipient.n%'],
    ['text', '%recipient.html% %recipient_email% %recipient_name%'],
  ])
  expect(fromMailgun(given, 'sender.example').emails).toEqual([
    { ...plain, subject: 'No 1', text: '%recipient.n% ann@example.com ' },
    { ...plain, to: [bob], subject: 'No 2', text: ' bob@example.com Bob Miller' },
  ])
})

test('recipient-variables reach those of a template', () => {
  const fields: Fields = [
    ...least.slice(0, 2),
    ['template', 'w'],
    ['t:variables', '{"a":{"b":["%recipient.n%"]}}'],
    ['recipient-variables', '{"ann@example.com":{"n":"x"}}'],
  ]
  expect(fromMailgun({ fields, files: [] }, 'sender.example').emails[0]?.template?.variables).toEqual({ a: { b: ['x'] } })
})

describe('refused, with the parameter as Mailgun calls it:', () => {
  test.each<[field: string, more: Fields, files?: Form['files']]>([
    ['from', [['from', '']]],
    ['from', [['from', 'app@other.example']]],
    ['from', [['from', 'a@sender.example, b@sender.example']]],
    ['to', [['to', 'nobody']]],
    [
      'subject',
      [
        ['subject', 'a'],
        ['subject', 'b'],
      ],
    ],
    ['amp-html', [['amp-html', '<html>']]],
    [
      'h:X-A',
      [
        ['h:X-A', '1'],
        ['h:X-A', '2'],
      ],
    ],
    [
      'v:',
      [
        ['v:a', '1'],
        ['v:a', '2'],
      ],
    ],
    ['o:tracking', [['o:tracking', 'perhaps']]],
    ['o:dkim', [['o:dkim', 'no']]],
    ['o:require-tls', [['o:require-tls', 'yes']]],
    ['o:deliverytime', [['o:deliverytime', 'tomorrow']]],
    ['o:deliverytime-optimize-period', [['o:deliverytime-optimize-period', '24h']]],
    ['o:campaign', [['o:campaign', 'x']]],
    ['t:version', [['t:version', 'v2']]],
    ['t:variables', [['t:variables', '{"a":1}']]],
    [
      't:variables',
      [
        ['template', 'w'],
        ['t:variables', '[1]'],
      ],
    ],
    ['recipient-variables', [['recipient-variables', 'no JSON']]],
    [
      'recipient-variables',
      [
        ['recipient-variables', '{}'],
        ['text', '%recipient.name%'],
      ],
    ],
    [
      'recipient-variables',
      [
        ['recipient-variables', '{"ann@example.com":{}}'],
        ['cc', 'bob@example.com'],
      ],
    ],
    ['text', [['text', '%unsubscribe_url%']]],
    ['attachment', [['attachment', 'text']]],
    ['inline', [], [file('inline', 'a.png'), file('inline', 'a.png')]],
    ['picture', [], [file('picture', 'a.png')]],
  ])('%s %j', (field, more, files) => {
    expect(refused(form(more, files)).faults?.map((fault) => fault.field)).toContain(field)
  })
})

test.each([
  ['sender.example', true],
  ['SENDER.example', true],
  ['example', true],
  ['mail.sender.example', false],
  ['ender.example', false],
  ['not a domain', false],
])('an address at sender.example is at %s: %s', (domain, isAt) => {
  const outcome = () => fromMailgun(form(), domain).emails.length
  if (isAt) expect(outcome()).toBe(1)
  else expect(outcome).toThrow(SternaError)
})

test('more than a hundred emails are refused', () => {
  const to: Fields = Array.from({ length: 101 }, (_, i) => ['to', `r${i}@example.com`])
  expect(refused(form([...to, ['recipient-variables', '{}']])).code).toBe('too_many_recipients')
})

test.each([
  ['to.3', 'to'],
  ['reply_to.0', 'h:Reply-To'],
  ['headers.X-A', 'h:X-A'],
  ['metadata.a', 'v:a'],
  ['tags.0.name', 'o:tag'],
  ['scheduled_at', 'o:deliverytime'],
  ['template', 'template'],
  ['attachments.0.content_id', 'attachment'],
  ['tracking.opens', 'o:tracking-opens'],
])('our field %s is called %s', (field, name) => {
  expect(mailgunField(field)).toBe(name)
})

test.each<[what: string, field: string, more: Fields]>([
  ['a million variables', 'recipient-variables', [['recipient-variables', `{"ann@example.com":[${'1,'.repeat(1_000_000)}1]}`]]],
  ['deep variables', 'recipient-variables', [['recipient-variables', '['.repeat(1000)]]],
  [
    'long variables',
    't:variables',
    [
      ['template', 'w'],
      ['t:variables', JSON.stringify({ a: 'x'.repeat(3_000_000) })],
    ],
  ],
  [
    'two thousand names',
    'recipient-variables',
    [
      [
        'recipient-variables',
        JSON.stringify({ 'ann@example.com': Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${i}`, 1])) }),
      ],
    ],
  ],
  ['a long name', 'recipient-variables', [['recipient-variables', JSON.stringify({ 'ann@example.com': { ['k'.repeat(500_000)]: 1 } })]]],
  ['a long list', 'to', [['to', 'ann@example.com,'.repeat(100_000)]]],
  ['a long list in pieces', 'cc', Array.from({ length: 1000 }, (): [string, string] => ['cc', 'ann@example.com,'.repeat(100)])],
  ['a long body', 'html', [['html', '%recipient.'.repeat(1_000_000)]]],
])('%s are refused before they are worked on', (_, field, more) => {
  expect(refused(form(more)).faults?.map((fault) => fault.field)).toContain(field)
})

test('what is replaced in all emails of a request together is bounded', () => {
  const to: Fields = Array.from({ length: 99 }, (_, i) => ['to', `r${i}@example.com`])
  const variables = JSON.stringify(Object.fromEntries([...to, ...least.slice(1, 2)].map(([, address]) => [address, { n: '' }])))
  expect(refused(form([...to, ['recipient-variables', variables], ['text', '%recipient.n%'.repeat(10_000)]])).faults).toMatchObject([
    { code: 'too_long' },
  ])
  expect(
    fromMailgun(form([...to, ['recipient-variables', variables], ['text', '%recipient.n%.'.repeat(1000)]]), 'sender.example').emails,
  ).toHaveLength(100)
})
