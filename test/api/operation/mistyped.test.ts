import { expect, test } from 'vitest'
import { apiOperations } from '../../../src/api/resource/operations.ts'
import type { ApiServices } from '../../../src/api/resource/operation-services.ts'
import { emailSchema } from '../../../src/api/resource/email-schema.ts'
import { mistypedMembers, nearestName } from '../../../src/api/operation/mistyped.ts'

const known = ['from', 'to', 'cc', 'bcc', 'reply_to', 'subject', 'html', 'text', 'headers', 'tags', 'scheduled_at', 'expires_in']

test.each([
  ['schedule_at', 'scheduled_at'],
  ['scheduledAt', 'scheduled_at'],
  ['shceduled_at', 'scheduled_at'],
  ['reply-to', 'reply_to'],
  ['Subject', 'subject'],
  ['subjcet', 'subject'],
  ['header', 'headers'],
  ['htlm', 'html'],
  ['tag', 'tags'],
  ['recipient', 'to'],
  ['recipients', 'to'],
  ['sender', 'from'],
])('%s is nearly %s', (name, meant) => {
  expect(nearestName(name, known)).toBe(meant)
})

test.each(['react', 'topic', 'date', 'priority', 'id', 'bc', 'no', 'amp', 'type', 'region', 'toString', '__proto__', '', 'x'.repeat(1000)])(
  '%s is nearly nothing',
  (name) => {
    expect(nearestName(name, known)).toBeNull()
  },
)

test('known names of one object are not nearly each other, or one would be refused where an earlier version lacks it', () => {
  const near = apiOperations({} as ApiServices).flatMap(({ id, query = {}, body }) => {
    const shape = (body?.schema as { shape?: object } | undefined)?.shape ?? {}
    return [Object.keys(query), Object.keys(shape)].flatMap((names) =>
      names
        .map((name) => [
          id,
          name,
          nearestName(
            name,
            names.filter((other) => other !== name),
          ),
        ])
        .filter(([, , other]) => other !== null),
    )
  })
  expect(near).toEqual([
    ['suppressions.create', 'email', 'emails'],
    ['suppressions.create', 'emails', 'email'],
  ])
})

const fieldsIn = (email: object): string[] => mistypedMembers(emailSchema, email).map(({ fault, meant }) => `${fault.field} → ${meant}`)

test('members are found wherever they stand', () => {
  expect(
    fieldsIn({
      recipient: 'a@x.example',
      from: { mail: 'a@x.example', nmae: 'A', email: 'a@x.example' },
      cc: [{ email: 'a@x.example', naem: 'A' }],
      attachments: [
        { filename: 'a', content: '' },
        { fileName: 'b', content: '' },
      ],
      template: { id: 'x', variable: {} },
      tags: [{ name: 'a', vlaue: 'b' }],
      tracking: { open: true },
      unsubscribe: { topics: 'x' },
    }),
  ).toEqual([
    'recipient → to',
    'from.nmae → from.name',
    'cc.0.naem → cc.0.name',
    'attachments.1.fileName → attachments.1.filename',
    'template.variable → template.variables',
    'tags.0.vlaue → tags.0.value',
    'tracking.open → tracking.opens',
    'unsubscribe.topics → unsubscribe.topic',
  ])
})

test('names that are free, and members beside the known ones, are passed over', () => {
  expect(
    fieldsIn({
      to: 'a@x.example',
      recipient: 'a@x.example',
      reply_to: 'a@x.example',
      replyTo: 'a@x.example',
      headers: { Subjct: 'x' },
      metadata: { subjct: 'x' },
      tags: { nmae: 'x' },
      template: { id: 'x', variables: { htlm: 'x' } },
      preview: true,
    }),
  ).toEqual([])
})

test('of thousands of unknown members only the first hundred are compared', () => {
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`unknown_member_${at}`, at]))
  expect(fieldsIn({ ...many, subjct: 'x', attachments: Array.from({ length: 10_000 }, () => ({ unknwon: 1 })) })).toEqual([])
})
