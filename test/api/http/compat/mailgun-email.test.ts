import { describe, expect, test } from 'vitest'
import { SternaError } from '../../../../src/platform/errors.ts'
import type { Form } from '../../../../src/api/http/compat/form-fields.ts'
import { fromMailgun, mailgunField } from '../../../../src/api/http/compat/mailgun-email.ts'

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

test('lists as PHP writes them', () => {
  const given = form(
    [
      ['to[0]', 'ann@example.com'],
      ['to[1]', 'Bob Miller <bob@example.com>'],
      ['o:tag[]', 'a'],
      ['o:tag[]', 'b'],
    ],
    [file('attachment[0]', 'a.txt', 'text/plain'), file('attachment[1]', 'b.txt', 'text/plain'), file('inline[0]', 'c.png', 'image/png')],
  )
  const [email] = fromMailgun({ ...given, fields: given.fields.filter(([name]) => name !== 'to') }, 'sender.example').emails
  expect(email).toMatchObject({ to: [ann, bob], tags: [{ name: 'a' }, { name: 'b' }] })
  expect(email?.attachments?.map(({ filename, content_id: id }) => [filename, id])).toEqual([
    ['a.txt', undefined],
    ['b.txt', undefined],
    ['c.png', 'c.png'],
  ])
})

describe('a template takes', () => {
  const sentWith = (more: Fields) => fromMailgun(form([['template', 'w'], ...more]), 'sender.example').emails[0]

  test('v:…, h:X-Mailgun-Variables and t:variables, the later before the earlier', () => {
    const email = sentWith([
      ['v:a', 'from v'],
      ['v:b', 'from v'],
      ['v:c', 'from v'],
      ['v:list', '[{"title":"one"}]'],
      ['v:text', '{not JSON}'],
      ['h:X-Mailgun-Variables', '{"b":"from h","c":"from h","n":1}'],
      ['t:variables', '{"c":"from t"}'],
    ])
    expect(email?.template?.variables).toEqual({
      a: 'from v',
      b: 'from h',
      c: 'from t',
      list: [{ title: 'one' }],
      text: '{not JSON}',
      n: 1,
    })
    expect(email?.metadata).toEqual({ a: 'from v', b: 'from v', c: 'from v', list: '[{"title":"one"}]', text: '{not JSON}', n: '1' })
    expect(email?.headers).toBeUndefined()
  })

  test('what is too much for metadata', () => {
    const long = 'x'.repeat(501)
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`k${n}`, 'x']))
    const email = sentWith([['h:X-Mailgun-Variables', JSON.stringify({ long, ...many })]])
    expect(email?.template?.variables).toEqual({ long, ...many })
    expect(Object.keys(email?.metadata ?? {})).toEqual(Array.from({ length: 20 }, (_, n) => `k${n}`))
  })

  test.each(['2', 'v2'])('a version, %s', (version) => {
    expect(sentWith([['t:version', version]])?.template).toEqual({ id: 'w', variables: {}, version: 2 })
  })
})

test('h:X-Mailgun-Variables without a template is metadata alone', () => {
  const [email] = fromMailgun(form([['h:X-Mailgun-Variables', '{"user":7,"plan":"free"}']]), 'sender.example').emails
  expect(email).toEqual({ ...plain, metadata: { user: '7', plan: 'free' } })
})

test.each([
  ['app@sender.example', false],
  ['The App <APP@sender.example>', false],
  ['other@sender.example', true],
])('h:Sender %s: it is handed on: %s', (sender, isHandedOn) => {
  const [email] = fromMailgun(form([['h:Sender', sender]]), 'sender.example').emails
  expect(email?.headers).toEqual(isHandedOn ? { Sender: sender } : undefined)
})

test('recipient-variables reach every field, header and value', () => {
  const variables = JSON.stringify({
    'ann@example.com': { n: 1, 'v:order': 'a"1', name: 'Ann "A"', reply: 'help+1@sender.example' },
    'bob@example.com': { n: 2, 'v:order': 'b2', name: 'Bob', reply: 'help+2@sender.example' },
  })
  const given = form([
    ['from', 'Shop %recipient.n% <app@sender.example>'],
    ['to', 'Bob Miller <bob@example.com>'],
    ['recipient-variables', variables],
    ['template', 'w%recipient.n%'],
    ['h:X-Order', 'order %recipient.v:order%'],
    ['h:Reply-To', '%recipient.reply%'],
    ['h:X-Mailgun-Variables', '{"who":"%recipient.name%"}'],
    ['v:order', '%recipient.v:order%'],
    ['v:list', '["%recipient.v:order%"]'],
    ['o:tag', 'tag-%recipient.n%'],
  ])
  const [first, second] = fromMailgun(given, 'sender.example').emails
  expect(first).toMatchObject({
    from: { email: 'app@sender.example', name: 'Shop 1' },
    to: [ann],
    reply_to: [{ email: 'help+1@sender.example' }],
    headers: { 'X-Order': 'order a"1' },
    tags: [{ name: 'tag-1' }],
    metadata: { order: 'a"1', who: 'Ann "A"' },
    template: { id: 'w1', variables: { order: 'a"1', list: ['a"1'], who: 'Ann "A"' } },
  })
  expect(second).toMatchObject({ headers: { 'X-Order': 'order b2' }, metadata: { order: 'b2' }, template: { id: 'w2' } })
})

test('a variable of a template that is one reference has the type of its value', () => {
  const items = [{ title: '"one"' }]
  const given = form([
    ['template', 'w'],
    ['recipient-variables', JSON.stringify({ 'ann@example.com': { items, text: '[]', n: 2 } })],
    ['v:items', '%recipient.items%'],
    ['v:text', '%recipient.text%'],
    ['t:variables', '{"list":"%recipient.items%","both":"%recipient.n%%recipient.items%"}'],
  ])
  expect(fromMailgun(given, 'sender.example').emails[0]?.template?.variables).toEqual({
    items,
    text: '[]',
    list: items,
    both: `2${JSON.stringify(items)}`,
  })
})

test('a long value that is named many times is refused', () => {
  const fields: Fields = Array.from({ length: 100 }, (_, n) => [`v:x${n}`, '%recipient.long%'])
  const variables = JSON.stringify({ 'ann@example.com': { long: 'x'.repeat(1_000_000) } })
  const given = form([['template', 'w'], ['recipient-variables', variables], ...fields])
  expect(refused(given).faults).toMatchObject([{ field: 'recipient-variables', code: 'too_long' }])
})

test('a large field for many recipients is refused before it is worked on', () => {
  const to: Fields = Array.from({ length: 99 }, (_, i) => ['to', `r${i}@example.com`])
  expect(refused(form([...to, ['recipient-variables', '{}'], ['h:X-A', 'x'.repeat(1_000_000)]])).code).toBe('payload_too_large')
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
    ['t:version', [['t:version', '2']]],
    [
      't:version',
      [
        ['template', 'w'],
        ['t:version', 'initial'],
      ],
    ],
    ['h:X-Mailgun-Variables', [['h:X-Mailgun-Variables', '[1]']]],
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
    ['h:List-Unsubscribe', [['h:List-Unsubscribe', '<%unsubscribe_url%>']]],
    [
      'recipient-variables',
      [
        ['recipient-variables', '{}'],
        ['h:X-A', '%recipient.name%'],
      ],
    ],
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
