import { z } from 'zod'
import { SternaError, type ErrorCode } from '../../platform/errors.ts'
import type { Submitter } from '../../mail/message/submission.ts'
import type { AcceptedBatch } from '../../mail-in/submission/accept-batch.ts'
import type { Accepted } from '../../mail-in/submission/admission.ts'
import type { Call, ReplyHeaders } from '../operation/call.ts'
import type { Caller } from '../operation/caller.ts'
import { tellDropped } from './dropped-headers.ts'
import { idempotencyKeyOf, markReplayed } from '../operation/idempotency-key.ts'
import { bodyLimit } from '../operation/body-limits.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { choiceParameter } from '../operation/query.ts'
import { maxEmails } from './email-list.ts'
import type { EmailRequest } from './email-request.ts'
import { sentBatchAnswer, sentBatchObject, sentEmail } from './email-resource.ts'
import { emailSchema } from './email-schema.ts'
import { sendBatch, sendEmail, type SendServices } from './send-emails.ts'

const headers = ['prefer', 'x-batch-validation'] as const
const strictParameter = {
  strict: choiceParameter(['true', 'false']).meta({
    description: 'Whether unknown fields are refused; the same as `Prefer: handling=strict`.',
  }),
}

/** What any way of sending may be refused for. */
export const sendingRefusals = [
  'restricted_api_key',
  'domain_not_verified',
  'account_suspended',
  'daily_quota_exceeded',
  'monthly_quota_exceeded',
] as const satisfies ErrorCode[]

const emailRefusals = [
  ...sendingRefusals,
  'payload_too_large',
  'unsupported_field',
  'invalid_from_address',
  'invalid_attachment',
  'too_many_recipients',
  'template_not_found',
  'template_not_published',
  'missing_template_variable',
] as const satisfies ErrorCode[]

const example = { from: 'App <app@example.com>', to: 'user@example.net', subject: 'Hello', html: '<p>Hello</p>' }

const at = operationsAt({ path: '/api', tag: 'Emails', permission: 'sending_access', sandbox: true, headers })

/** The ways to send emails under `/api`. */
export const emailSendingOperations = (services: SendServices): Operation[] => [
  at.post('emails.send', '/send', 'Send an email', {
    aliases: [{ id: 'emails.create', path: '/api/emails' }],
    description: '200 means that it is on disk and will be delivered.',
    idempotency: 'own',
    query: strictParameter,
    body: { schema: emailSchema, as: 'bytes', limit: bodyLimit, example },
    answer: ['The email is queued.', sentEmail.schema],
    refuses: emailRefusals,
    handle: async (call) => sentEmail.answer(marked(call.reply, await sendEmail(call.body, requestOf(call), services))),
  }),
  at.post('emails.send_batch', '/emails/batch', 'Send several emails', {
    description:
      `An array of 1 to ${maxEmails} emails, or \`{"emails": [...]}\`. Sterna accepts all or none; each fault names its email by ` +
      'position from 0, such as `3.to`. With the header `x-batch-validation: permissive` it accepts those that are valid, and ' +
      '`errors` lists the others. An `Idempotency-Key` covers the whole batch.',
    idempotency: 'own',
    query: strictParameter,
    body: { schema: batchSchema, as: 'bytes', limit: bodyLimit, example: [example, { ...example, to: 'other@example.net' }] },
    answer: ['The emails are queued.', sentBatchAnswer],
    refuses: emailRefusals,
    handle: async (call) => {
      const mode = batchMode(call.headers)
      return sentBatchObject(marked(call.reply, await sendBatch(call.body, { ...requestOf(call), mode }, services)), mode)
    },
  }),
]

const emails = z.array(emailSchema).min(1).max(maxEmails)
const batchSchema = z.union([emails, z.object({ emails })])

/** Tells where it was accepted earlier, by the same `Idempotency-Key`, and which header fields were left out. */
export function marked<T extends Accepted | AcceptedBatch>(reply: ReplyHeaders, accepted: T): T {
  markReplayed(reply, accepted)
  tellDropped(reply, 'emails' in accepted ? accepted.emails : [accepted])
  return accepted
}

/** RFC 7240 4.4, and a parameter for clients that cannot set headers. */
const requestOf = ({ caller, query, headers }: SendingCall): EmailRequest => ({
  submitter: submitterOf(caller),
  source: 'api',
  isStrict: query.strict === 'true' || /(?:^|[,;\s])handling=strict(?:$|[,;\s])/.test(headers.prefer ?? ''),
  idempotencyKey: idempotencyKeyOf(headers),
})

type SendingCall = Call<never, { strict: 'true' | 'false' | null }, Buffer, (typeof headers)[number]>

/** The submitter, without what a message does not need, because a submission may travel between threads. */
export function submitterOf(caller: Caller): Submitter {
  const { accountId, domainId, sandbox } = caller
  return { accountId, domainId, sandbox }
}

function batchMode(headers: SendingCall['headers']): 'strict' | 'permissive' {
  const mode = headers['x-batch-validation']?.toLowerCase() ?? ''
  if (mode === '' || mode === 'strict') return 'strict'
  if (mode === 'permissive') return 'permissive'
  throw new SternaError('invalid_parameter', 'The header x-batch-validation must be strict or permissive.')
}
