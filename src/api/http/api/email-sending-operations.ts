import { z } from 'zod'
import { SternaError, type ErrorCode } from '../../../platform/errors.ts'
import type { Submitter } from '../../../mail/message/submission.ts'
import type { AcceptedBatch } from '../../../mail-in/submission/accept-batch.ts'
import type { Accepted } from '../../../mail-in/submission/admission.ts'
import type { ApiContext } from '../api-state.ts'
import type { BodyBudget } from '../body-budget.ts'
import { tellDropped } from '../dropped-headers.ts'
import { idempotencyKeyOf, markReplayed } from '../idempotency-key.ts'
import { bodyLimit, jsonBytes } from '../json-body.ts'
import { operation, type Operation } from '../operation.ts'
import { choiceParameter } from '../query.ts'
import { mostEmails } from './email-list.ts'
import type { EmailRequest } from './email-request.ts'
import { sentBatchAnswer, sentBatchObject, sentEmail } from './email-resource.ts'
import { emailSchema } from './email-schema.ts'
import { sendBatch, sendEmail, type SendServices } from './send-emails.ts'

export interface EmailSendingServices extends SendServices {
  bodyRoom: BodyBudget
}

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

/** The ways to send emails under `/api`. */
export const emailSendingOperations = (services: EmailSendingServices): Operation[] => [
  operation({
    id: 'emails.send',
    method: 'POST',
    path: '/api/send',
    aliases: [{ id: 'emails.create', path: '/api/emails' }],
    tag: 'Emails',
    summary: 'Send an email',
    description: '200 means that it is on disk and will be delivered.',
    permission: 'sending_access',
    sandbox: true,
    idempotency: 'own',
    query: strictParameter,
    body: { schema: emailSchema, raw: true, limit: bodyLimit, example },
    answers: [{ status: 200, description: 'The email is queued.', schema: sentEmail.schema }],
    refuses: emailRefusals,
    handle: async (ctx, { query }) =>
      sentEmail.answer(
        marked(ctx, await withBody(ctx, services.bodyRoom, (body) => sendEmail(body, requestOf(ctx, query.strict), services))),
      ),
  }),
  operation({
    id: 'emails.send_batch',
    method: 'POST',
    path: '/api/emails/batch',
    tag: 'Emails',
    summary: 'Send several emails',
    description:
      `An array of 1 to ${mostEmails} emails, or \`{"emails": [...]}\`. Sterna accepts all or none; each fault names its email by ` +
      'position from 0, such as `3.to`. With the header `x-batch-validation: permissive` it accepts those that are valid, and ' +
      '`errors` lists the others. An `Idempotency-Key` covers the whole batch.',
    permission: 'sending_access',
    sandbox: true,
    idempotency: 'own',
    query: strictParameter,
    body: { schema: batchSchema, raw: true, limit: bodyLimit, example: [example, { ...example, to: 'other@example.net' }] },
    answers: [{ status: 200, description: 'The emails are queued.', schema: sentBatchAnswer }],
    refuses: emailRefusals,
    handle: async (ctx, { query }) => {
      const mode = batchMode(ctx)
      const send = (body: Buffer) => sendBatch(body, { ...requestOf(ctx, query.strict), mode }, services)
      return sentBatchObject(marked(ctx, await withBody(ctx, services.bodyRoom, send)), mode)
    },
  }),
]

const emails = z.array(emailSchema).min(1).max(mostEmails)
const batchSchema = z.union([emails, z.object({ emails })])

async function withBody<T>(ctx: ApiContext, room: BodyBudget, use: (body: Buffer) => Promise<T>): Promise<T> {
  const leave = await room.enter(ctx.req, ctx.state.submitter.accountId)
  try {
    return await use(await jsonBytes(ctx, { limit: bodyLimit, listsBytes: true }))
  } finally {
    leave()
  }
}

/** Tells where it was accepted earlier, by the same `Idempotency-Key`, and which header fields were left out. */
export function marked<T extends Accepted | AcceptedBatch>(ctx: ApiContext, accepted: T): T {
  markReplayed(ctx, accepted)
  tellDropped(ctx, 'emails' in accepted ? accepted.emails : [accepted])
  return accepted
}

/** RFC 7240 4.4, and a parameter for clients that cannot set headers. */
const requestOf = (ctx: ApiContext, strict: 'true' | 'false' | null): EmailRequest => ({
  submitter: submitterOf(ctx),
  source: 'api',
  isStrict: strict === 'true' || /(?:^|[,;\s])handling=strict(?:$|[,;\s])/.test(ctx.get('Prefer')),
  idempotencyKey: idempotencyKeyOf(ctx),
})

/** The submitter, without what only HTTP knows, because a submission may travel between threads. */
export function submitterOf(ctx: ApiContext): Submitter {
  const { accountId, domainId, sandbox } = ctx.state.submitter
  return { accountId, domainId, sandbox }
}

function batchMode(ctx: ApiContext): 'strict' | 'permissive' {
  const mode = ctx.get('x-batch-validation').toLowerCase()
  if (mode === '' || mode === 'strict') return 'strict'
  if (mode === 'permissive') return 'permissive'
  throw new SternaError('invalid_parameter', 'The header x-batch-validation must be strict or permissive.')
}
