import { describe, expect, test } from 'vitest'
import { SternaError } from '../../../../src/platform/errors.ts'
import { fromPostmark, fromPostmarkTemplate, postmarkField } from '../../../../src/api/http/compat/postmark-email.ts'

const body = (more: Record<string, unknown> = {}) => ({
  From: 'app@sender.example',
  To: 'ann@example.com',
  Subject: 'Hello',
  TextBody: 'Hello',
  ...more,
})
const ann = { email: 'ann@example.com', name: null }
const plain = { from: { email: 'app@sender.example', name: null }, to: [ann], subject: 'Hello', text: 'Hello' }

const refused = (translate: (given: unknown) => unknown, given: unknown): SternaError => {
  try {
    translate(given)
  } catch (error) {
    if (error instanceof SternaError) return error
    throw error
  }
  throw new Error('it was taken')
}

test.each<[name: string, more: Record<string, unknown>, changes: object]>([
  ['the least', {}, {}],
  ['html', { HtmlBody: '<p>Hello</p>' }, { html: '<p>Hello</p>' }],
  ['a name with a comma', { From: '"Doe, Ann" <app@sender.example>' }, { from: { email: 'app@sender.example', name: 'Doe, Ann' } }],
  ['lists with commas', { To: 'ann@example.com, Bob <bob@example.com>' }, { to: [ann, { email: 'bob@example.com', name: 'Bob' }] }],
  [
    'copies and replies',
    { Cc: 'ann@example.com', Bcc: 'ann@example.com', ReplyTo: 'ann@example.com, ann@example.com' },
    { cc: [ann], bcc: [ann], reply_to: [ann, ann] },
  ],
  ['a tag that is no name', { Tag: 'Password reset' }, { tags: [{ name: 'Password_reset', value: 'Password reset' }] }],
  ['a tag and metadata', { Tag: 'welcome', Metadata: { a: '1' } }, { tags: [{ name: 'welcome', value: 'true' }], metadata: { a: '1' } }],
  ['header fields', { Headers: [{ Name: 'X-A', Value: '1' }] }, { headers: { 'X-A': '1' } }],
  ['tracking', { TrackOpens: true, TrackLinks: 'None' }, { tracking: { opens: true, clicks: false } }],
  ['tracked links', { TrackLinks: 'HtmlAndText' }, { tracking: { clicks: true } }],
  ['the one stream', { MessageStream: 'outbound' }, {}],
  ['nothing at all in the optional fields', { Cc: '', Bcc: null, Tag: '', MessageStream: '', HtmlBody: null }, {}],
  [
    'files',
    {
      Attachments: [
        { Name: 'a.txt', Content: 'aGk=', ContentType: 'text/plain', ContentLength: 2 },
        { Name: 'b.png', Content: 'aGk=', ContentType: 'image/png', ContentID: 'cid:b', Disposition: 'inline' },
        { Name: 'c.png', Content: 'aGk=', ContentType: 'image/png', ContentID: 'c' },
      ],
    },
    {
      attachments: [
        { filename: 'a.txt', content: 'aGk=', content_type: 'text/plain' },
        { filename: 'b.png', content: 'aGk=', content_type: 'image/png', content_id: 'b' },
        { filename: 'c.png', content: 'aGk=', content_type: 'image/png', content_id: 'c' },
      ],
    },
  ],
])('%s', (_, more, changes) => {
  expect(fromPostmark(body(more))).toEqual({ ...plain, ...changes })
})

test.each<[Record<string, unknown>, string]>([
  [{ TemplateAlias: 'welcome' }, 'welcome'],
  [{ TemplateId: 'tpl_1' }, 'tpl_1'],
  [{ TemplateId: 42 }, '42'],
])('a template by %o', (which, id) => {
  const { Subject: _, TextBody: __, ...rest } = body()
  expect(fromPostmarkTemplate({ ...rest, ...which, TemplateModel: { a: { b: 1 } }, InlineCss: true })).toEqual({
    from: plain.from,
    to: plain.to,
    template: { id, variables: { a: { b: 1 } } },
  })
})

describe('refused, with the field as Postmark calls it:', () => {
  test.each<[field: string, more: Record<string, unknown>]>([
    ['From', { From: undefined }],
    ['From', { From: '' }],
    ['From', { From: 'a@sender.example, b@sender.example' }],
    ['From', { From: 'nobody' }],
    ['To', { To: '' }],
    ['To', { To: 'ann@example.com,' }],
    ['To', { To: 'a@b@example.com' }],
    ['Cc', { Cc: '<ann@example.com' }],
    ['ReplyTo', { ReplyTo: 'ann' }],
    ['MessageStream', { MessageStream: 'broadcast' }],
    ['TrackLinks', { TrackLinks: 'Some' }],
    [
      'Headers.1.Name',
      {
        Headers: [
          { Name: 'X-A', Value: '1' },
          { Name: 'x-a', Value: '2' },
        ],
      },
    ],
    [
      'Headers',
      {
        Headers: [
          { Name: 'X-PM-KeepID', Value: 'true' },
          { Name: 'Message-ID', Value: '<1@client.example>' },
        ],
      },
    ],
    ['Attachments.0.Content', { Attachments: [{ Name: 'a' }] }],
    ['Metadata.n', { Metadata: { n: 1 } }],
    ['Bulk', { Bulk: true }],
  ])('%s', (field, more) => {
    expect(refused(fromPostmark, body(more)).faults?.map((fault) => fault.field)).toContain(field)
  })

  test('a template without its id', () => {
    const given = { From: 'app@sender.example', To: 'ann@example.com', TemplateModel: {} }
    expect(refused(fromPostmarkTemplate, given).faults?.[0]?.field).toBe('TemplateAlias')
  })
})

test.each([
  ['from', 'From'],
  ['to.3', 'To'],
  ['bcc.0.email', 'Bcc'],
  ['reply_to.0', 'ReplyTo'],
  ['html', 'HtmlBody'],
  ['tags.0.name', 'Tag'],
  ['metadata.a', 'Metadata.a'],
  ['attachments.1.content', 'Attachments.1.Content'],
  ['attachments.1', 'Attachments.1'],
  ['template', 'TemplateAlias'],
  ['tracking.clicks', 'TrackLinks'],
])('our field %s is called %s', (field, name) => {
  expect(postmarkField(field)).toBe(name)
})
