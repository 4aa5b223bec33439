import { expect, test } from 'vitest'
import { SternaError } from '../../../../src/platform/errors.ts'
import { fromPostal, fromPostalRaw, postalField } from '../../../../src/api/http/compat/postal-email.ts'

const body = (more: Record<string, unknown> = {}) => ({
  from: 'app@sender.example',
  to: ['ann@example.com'],
  subject: 'Hello',
  plain_body: 'Hello',
  ...more,
})
const ann = { email: 'ann@example.com', name: null }
const plain = { from: { email: 'app@sender.example', name: null }, to: [ann], subject: 'Hello', text: 'Hello' }

function refused(translate: () => unknown): SternaError {
  try {
    translate()
  } catch (error) {
    if (error instanceof SternaError) return error
    throw error
  }
  throw new Error('it was taken')
}

test.each<[name: string, more: Record<string, unknown>, changes: object]>([
  ['the least', {}, {}],
  ['one address without an array', { to: 'ann@example.com' }, {}],
  ['html', { html_body: '<p>Hello</p>' }, { html: '<p>Hello</p>' }],
  ['names', { from: '"Doe, Ann" <app@sender.example>' }, { from: { email: 'app@sender.example', name: 'Doe, Ann' } }],
  [
    'copies and a reply',
    { cc: ['ann@example.com'], bcc: ['ann@example.com'], reply_to: 'ann@example.com' },
    { cc: [ann], bcc: [ann], reply_to: [ann] },
  ],
  ['a tag', { tag: 'welcome' }, { tags: [{ name: 'welcome', value: 'true' }] }],
  ['header fields', { headers: { 'X-A': '1' } }, { headers: { 'X-A': '1' } }],
  ['the author as the sender', { sender: 'App <APP@sender.example>' }, {}],
  ['another sender', { sender: 'Desk <desk@sender.example>' }, { headers: { Sender: 'Desk <desk@sender.example>' } }],
  [
    'a file',
    { attachments: [{ name: 'a.txt', content_type: 'text/plain', data: 'aGk=' }] },
    { attachments: [{ filename: 'a.txt', content: 'aGk=', content_type: 'text/plain' }] },
  ],
  ['nothing at all in the optional fields', { cc: [], bcc: null, tag: '', html_body: null, bounce: false, unknown: 1 }, {}],
])('%s', (_, more, changes) => {
  expect(fromPostal(body(more))).toEqual({ ...plain, ...changes })
})

test.each<[more: Record<string, unknown>, field: string]>([
  [{ from: undefined }, 'from'],
  [{ from: 'a@sender.example, b@sender.example' }, 'from'],
  [{ to: ['nobody'] }, 'to'],
  [{ to: [7] }, 'to.0'],
  [{ reply_to: 'x' }, 'reply_to'],
  [{ sender: 'a@sender.example, b@sender.example' }, 'sender'],
  [{ bounce: true }, 'bounce'],
  [{ attachments: [{ name: 'a.txt' }] }, 'attachments.0.data'],
])('%j is refused at %s', (more, field) => {
  expect(refused(() => fromPostal(body(more))).faults).toEqual([expect.objectContaining({ field })])
})

test('a raw message is base64, for each recipient once', () => {
  const raw = { mail_from: 'app@sender.example', rcpt_to: ['ann@example.com', 'Ann <ann@example.com>'], data: 'aGk=' }
  expect(fromPostalRaw(raw)).toEqual({ recipients: ['ann@example.com'], content: Buffer.from('hi') })
  for (const [name, value] of Object.entries({ mail_from: 'x', rcpt_to: [], data: '', bounce: true }))
    expect(refused(() => fromPostalRaw({ ...raw, [name]: value })).faults?.[0]?.field).toBe(name)
})

test('our fields have the names of Postal', () => {
  expect(['html', 'text', 'tags.0.name', 'to.1', 'attachments.2.content', 'subject'].map(postalField)).toEqual([
    'html_body',
    'plain_body',
    'tag',
    'to',
    'attachments.2.data',
    'subject',
  ])
})
