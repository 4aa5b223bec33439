import { describe, expect, test } from 'vitest'
import { SternaError } from '../../../../src/platform/errors.ts'
import { fromSendGrid, sendGridField } from '../../../../src/api/http/compat/sendgrid-email.ts'

const from = { email: 'app@sender.example', name: 'App' }
const to = [{ email: 'ann@example.com' }]
const content = [{ type: 'text/plain', value: 'Hello' }]
const body = (more: Record<string, unknown> = {}, one: Record<string, unknown> = {}) => ({
  from,
  subject: 'Hello',
  content,
  personalizations: [{ to, ...one }],
  ...more,
})

const refused = (given: unknown): SternaError => {
  try {
    fromSendGrid(given)
  } catch (error) {
    if (error instanceof SternaError) return error
    throw error
  }
  throw new Error('it was taken')
}

const plain = { from, to, subject: 'Hello', text: 'Hello' }

test.each<[name: string, more: Record<string, unknown>, one: Record<string, unknown>, emails: object[]]>([
  ['the least', {}, {}, [plain]],
  ['html beside text', { content: [...content, { type: 'text/html', value: '<p>Hello</p>' }] }, {}, [{ ...plain, html: '<p>Hello</p>' }]],
  ['a charset', { content: [{ type: 'text/plain; charset=utf-8', value: 'Hello' }] }, {}, [plain]],
  [
    'what a personalization says itself',
    { headers: { 'X-A': '1', 'X-B': '1' }, custom_args: { a: '1', b: '1' }, send_at: 1_800_000_000 },
    { subject: 'Own', headers: { 'x-a': '2' }, custom_args: { a: '2' }, send_at: 1_800_000_060, cc: to, bcc: to, from: to[0] },
    [
      {
        from: to[0],
        to,
        cc: to,
        bcc: to,
        subject: 'Own',
        text: 'Hello',
        headers: { 'x-a': '2', 'X-B': '1' },
        metadata: { a: '2', b: '1' },
        scheduled_at: '2027-01-15T08:01:00.000Z',
      },
    ],
  ],
  [
    'categories',
    { categories: ['a', 'b', 'a', 'Password reset', 'Приветствие'] },
    {},
    [
      {
        ...plain,
        tags: [
          { name: 'a', value: 'true' },
          { name: 'b', value: 'true' },
          { name: 'Password_reset', value: 'Password reset' },
          { name: 'label', value: 'Приветствие' },
        ],
      },
    ],
  ],
  [
    'files, whichever way the Content-ID is written',
    {
      attachments: [
        { content: 'aGk=', filename: 'a.txt', type: 'text/plain', disposition: 'attachment' },
        { content: 'aGk=', filename: 'b.png', content_id: 'b', disposition: 'inline' },
        { content: 'aGk=', filename: 'c.png', contentId: 'c' },
      ],
    },
    {},
    [
      {
        ...plain,
        attachments: [
          { content: 'aGk=', filename: 'a.txt', content_type: 'text/plain' },
          { content: 'aGk=', filename: 'b.png', content_id: 'b' },
          { content: 'aGk=', filename: 'c.png', content_id: 'c' },
        ],
      },
    ],
  ],
  ['one address for replies', { reply_to: to[0] }, {}, [{ ...plain, reply_to: to }]],
  ['several addresses for replies', { reply_to_list: [...to, from] }, {}, [{ ...plain, reply_to: [...to, from] }]],
  [
    'substitutions as text, each once',
    { subject: 'Hello {{name}}', content: [{ type: 'text/html', value: '<b>{{name}}</b> -n- {{other}}' }] },
    { substitutions: { '{{name}}': '-n-', '-n-': 7 } },
    [{ from, to, subject: 'Hello -n-', html: '<b>-n-</b> 7 {{other}}' }],
  ],
  [
    'a template',
    { content: undefined, subject: undefined, template_id: 'd-welcome' },
    { dynamic_template_data: { name: 'Ann', items: [{ n: 1 }] } },
    [{ from, to, template: { id: 'd-welcome', variables: { name: 'Ann', items: [{ n: 1 }] } } }],
  ],
  [
    'a template whose id does not begin with d-, for which the client sends substitutions',
    { content: undefined, subject: undefined, template_id: 'welcome' },
    { substitutions: { '{{name}}': 'Ann' } },
    [{ from, to, template: { id: 'welcome', variables: { name: 'Ann' } } }],
  ],
  [
    'tracking',
    { tracking_settings: { click_tracking: { enable: false, enable_text: false }, open_tracking: { enable: true } } },
    {},
    [{ ...plain, tracking: { opens: true, clicks: false } }],
  ],
  ['a group to unsubscribe from', { asm: { group_id: 17, groups_to_display: [] } }, {}, [{ ...plain, unsubscribe: { topic: '17' } }]],
  [
    'the link to unsubscribe from a group',
    { asm: { group_id: 17 }, content: [{ type: 'text/plain', value: 'Leave: <%asm_group_unsubscribe_raw_url%>' }] },
    {},
    [{ ...plain, text: 'Leave: {{unsubscribe_url}}', unsubscribe: { topic: '17' } }],
  ],
  [
    'settings that turn nothing on',
    {
      mail_settings: { footer: { enable: false }, bypass_list_management: {} },
      tracking_settings: { ganalytics: { enable: false, utm_source: 'x' } },
      asm: {},
      sections: {},
    },
    {},
    [plain],
  ],
])('%s', (_, more, one, emails) => {
  expect(fromSendGrid(body(more, one))).toEqual({ emails, validatesOnly: false })
})

test('several personalizations are several emails', () => {
  const { emails } = fromSendGrid({ ...body(), personalizations: [{ to }, { to: [from], subject: 'Two' }] })
  expect(emails).toEqual([plain, { ...plain, to: [from], subject: 'Two' }])
})

test('sandbox_mode only checks', () => {
  expect(fromSendGrid(body({ mail_settings: { sandbox_mode: { enable: true } } })).validatesOnly).toBe(true)
})

describe('refused, with the field as SendGrid calls it:', () => {
  test.each<[field: string, more: Record<string, unknown>, one?: Record<string, unknown>]>([
    ['from', { from: undefined }],
    ['from.email', { from: {} }],
    ['personalizations', { personalizations: [] }],
    ['personalizations', { personalizations: undefined }],
    ['personalizations.0.to', {}, { to: [] }],
    ['personalizations.0.to.0.email', {}, { to: [{ name: 'Ann' }] }],
    ['content.1.type', { content: [...content, ...content] }],
    ['content.0.type', { content: [{ type: 'text/x-amp-html', value: '<html amp4email>' }] }],
    ['asm.groups_to_display', { asm: { group_id: 1, groups_to_display: [1, 2] } }],
    ['content.0.value', { asm: { group_id: 1 }, content: [{ type: 'text/plain', value: 'Leave: <%asm_preferences_raw_url%>' }] }],
    ['content.0.value', { content: [{ type: 'text/plain', value: 'Leave: <%asm_group_unsubscribe_raw_url%>' }] }],
    ['batch_id', { batch_id: 'b' }],
    ['ip_pool_name', { ip_pool_name: 'p' }],
    ['sections', { sections: { '-a-': 'b' } }],
    ['mail_settings.bypass_list_management', { mail_settings: { bypass_list_management: { enable: true } } }],
    ['mail_settings.footer', { mail_settings: { footer: { enable: true, text: 'x' } } }],
    ['tracking_settings.subscription_tracking', { tracking_settings: { subscription_tracking: { enable: true } } }],
    ['tracking_settings.ganalytics', { tracking_settings: { ganalytics: { enable: true } } }],
    ['custom_args.n', { custom_args: { n: 1 } }],
    ['send_at', { send_at: 'tomorrow' }],
    ['reply_to_list', { reply_to: from, reply_to_list: [from] }],
    ['personalizations.0.substitutions', { template_id: 'welcome', content: undefined }, { substitutions: { '-name-': 'Ann' } }],
    ['personalizations.0.dynamic_template_data', {}, { dynamic_template_data: { name: 'Ann' } }],
    ['unheard_of', { unheard_of: 1 }],
    ['personalizations.0.unheard_of', {}, { unheard_of: 1 }],
    ['content.0.value', { content: [{ type: 'text/plain', value: 'a'.repeat(1000) }] }, { substitutions: { a: 'b'.repeat(10_000) } }],
  ])('%s', (field, more, one) => {
    expect(refused(body(more, one)).faults?.map((fault) => fault.field)).toContain(field)
  })
})

test('one file for a hundred recipients is not made a hundred times without end', () => {
  const attachments = [{ content: 'A'.repeat(1024 * 1024), filename: 'a.bin' }]
  const given = { ...body({ attachments }), personalizations: Array.from({ length: 100 }, () => ({ to })) }
  expect(refused(given).code).toBe('payload_too_large')
})

test.each([
  ['from', 0, 'from'],
  ['to.2', 1, 'personalizations.1.to.2.email'],
  ['to', 3, 'personalizations.3.to'],
  ['text', 0, 'content'],
  ['attachments.0.content', 0, 'attachments.0.content'],
  ['attachments.0.content_type', 0, 'attachments.0.type'],
  ['tags.0.name', 0, 'categories.0'],
  ['metadata.a', 0, 'custom_args.a'],
  ['scheduled_at', 0, 'send_at'],
  ['template', 0, 'template_id'],
  ['template.variables.name', 4, 'personalizations.4.dynamic_template_data.name'],
  ['tracking.opens', 0, 'tracking_settings.open_tracking.enable'],
  ['personalizations.0.to', 0, 'personalizations.0.to'],
])('our field %s of email %i is called %s', (field, place, name) => {
  expect(sendGridField(field, place)).toBe(name)
})

test('a key that would take long to look for is refused', () => {
  expect(refused(body({}, { substitutions: { ['a'.repeat(500_000)]: 'x' } })).faults).toMatchObject([
    { field: 'personalizations.0.substitutions', code: 'too_long' },
  ])
})

test.each([
  ['"Miller, Bob"', 'Miller, Bob'],
  ['"Bob \\"The\\\\Best\\" Miller"', 'Bob "The\\Best" Miller'],
  ['Bob "The Best" Miller', 'Bob "The Best" Miller'],
  ['"Bob" and "Ann"', '"Bob" and "Ann"'],
  ['"', '"'],
])('the name %s is %s: some clients quote names', (name, meant) => {
  const one = { to: [{ email: 'bob@example.com', name }], cc: [{ email: 'cc@example.com', name }] }
  const content = [{ type: 'text/plain', value: 'Hello' }]
  const [email] = fromSendGrid({ from: { ...from, name }, personalizations: [one], subject: 'Hello', content }).emails
  expect([email?.from?.name, email?.to[0]?.name, email?.cc?.[0]?.name]).toEqual([meant, meant, meant])
})

test('a Sender that is the From is left out, another is handed on to be refused', () => {
  const content = [{ type: 'text/plain', value: 'Hello' }]
  const headersWith = (Sender: string) =>
    fromSendGrid({ from, personalizations: [{ to: [{ email: 'a@example.com' }] }], subject: 'Hello', content, headers: { Sender } })
      .emails[0]?.headers
  expect(headersWith('App <app@sender.example>')).toBeUndefined()
  expect(headersWith('other@sender.example')).toEqual({ Sender: 'other@sender.example' })
})
