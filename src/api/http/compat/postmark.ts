import { SternaError } from '../../../platform/errors.ts'
import { isoTime } from '../../../platform/iso-time.ts'
import type { Accepted } from '../../../mail-in/submission/admission.ts'
import type { ApiContext } from '../api-state.ts'
import { maxEmails } from '../../resource/email-list.ts'
import type { EmailRequest } from '../../resource/email-request.ts'
import { sendBatch, sendEmail } from '../../resource/send-emails.ts'
import { recordSchema } from '../openapi-schema.ts'
import { problemOf } from '../../operation/problem.ts'
import { tellDropped } from '../../resource/dropped-headers.ts'
import { compatJson, tellIds, type CompatApi, type CompatServices, type CompatRoute } from './compat-api.ts'
import type { NativeEmail, NativeMailbox } from './native-email.ts'
import { postmarkBounceActions } from './postmark-bounces.ts'
import { postmarkSuppressionActions } from './postmark-suppressions.ts'
import { fromPostmark, fromPostmarkTemplate } from './postmark-email.ts'
import { acceptedMessage, inactiveRecipients, postmarkError, postmarkRefusal, type PostmarkAnswer } from './postmark-refusal.ts'

type Translate = (body: unknown) => NativeEmail

/** How many emails Postmark takes in a batch; more than a hundred are written in several turns. */
const maxMessages = 500

/**
 * `/compat/postmark`: `/email`, `/email/batch`, `/email/withTemplate` and `/email/batchWithTemplates`, bounces and suppressions. `MessageID` is our
 * id. An email whose recipients are all suppressed is answered 406 (and on record as suppressed); where only some are,
 * the message beside the `ErrorCode` 0 names them. Of a batch each email has its own answer.
 */
export const postmarkApi = (services: CompatServices): CompatApi => {
  const one = (path: string, translate: Translate): CompatRoute => ({
    path,
    answers: { 200: answerSchema },
    send: (ctx, request) => sendOne(ctx, { translate, request }, services),
  })
  const many = (path: string, translate: Translate): CompatRoute => ({
    path,
    answers: { 200: { type: 'array', items: answerSchema } },
    send: (ctx, request) => sendMany(ctx, { translate, request }, services),
  })
  return {
    prefix: '/compat/postmark',
    service: 'Postmark',
    security: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Postmark-Server-Token',
      description: 'An API key, as the Postmark client sends it.',
    },
    tokenOf: (ctx) => ctx.get('X-Postmark-Server-Token').trim() || null,
    takesIdempotencyKey: true,
    mediaType: 'application/json',
    refusalForm: postmarkRefusal,
    refusal: answerSchema,
    bodyRoom: services.bodyRoom,
    routes: [
      one('/email', fromPostmark),
      one('/email/withTemplate', fromPostmarkTemplate),
      many('/email/batch', fromPostmark),
      many('/email/batchWithTemplates', fromPostmarkTemplate),
    ],
    actions: [...postmarkBounceActions(services), ...postmarkSuppressionActions(services)],
  }
}

const answerSchema = recordSchema({ ErrorCode: { type: 'integer' }, Message: { type: 'string' } })

interface Asked {
  translate: Translate
  request: EmailRequest
}

async function sendOne(ctx: ApiContext, { translate, request }: Asked, services: CompatServices): Promise<void> {
  const email = translate(await compatJson(ctx))
  const accepted = await sendEmail(email, request, services)
  const answer = answerFor(email, accepted)
  tellIds(ctx, [accepted], accepted)
  ctx.status = answer.ErrorCode === 0 ? 200 : 422
  ctx.body = answer
}

async function sendMany(ctx: ApiContext, { translate, request }: Asked, services: CompatServices): Promise<void> {
  const translated = messagesIn(await compatJson(ctx)).map((message) => translatedOrRefused(message, translate))
  if (request.idempotencyKey !== null && translated.length > maxEmails) {
    throw new SternaError('validation_error', `With an Idempotency-Key a batch has at most ${maxEmails} messages.`)
  }
  const answers: PostmarkAnswer[] = []
  const sent: Accepted[] = []
  for (let start = 0; start < translated.length; start += maxEmails) {
    const turn = translated.slice(start, start + maxEmails)
    const { replayed, some, accepted } = await sendSome(turn, request, services).catch((error: unknown) =>
      refusedAfter(answers, turn, error),
    )
    tellIds(ctx, [], { replayed })
    answers.push(...some)
    sent.push(...accepted)
  }
  tellDropped(ctx, sent)
  ctx.status = 200
  ctx.body = answers
}

/** What came before is sent, and must be told; the rest of the batch has the refusal for its answer. */
function refusedAfter(sent: PostmarkAnswer[], refused: unknown[], error: unknown): Sent {
  const { status, name: code, message } = problemOf(error)
  if (sent.length === 0 || status === 500) throw error
  return { some: refused.map(() => postmarkError({ code, message })), replayed: false, accepted: [] }
}

/** A bare array, or `{Messages: […]}`. */
function messagesIn(body: unknown): unknown[] {
  const messages = typeof body === 'object' && body !== null && 'Messages' in body ? body.Messages : body
  if (!Array.isArray(messages))
    throw new SternaError('invalid_json', 'The request body must be a JSON array of messages, or {"Messages": [...]} with such an array.')
  if (messages.length > maxMessages) throw new SternaError('validation_error', `A batch has at most ${maxMessages} messages.`)
  return messages
}

function translatedOrRefused(message: unknown, translate: Translate): NativeEmail | SternaError {
  try {
    return translate(message)
  } catch (error) {
    if (error instanceof SternaError) return error
    throw error
  }
}

interface Sent {
  some: PostmarkAnswer[]
  replayed: boolean
  accepted: Accepted[]
}

async function sendSome(translated: (NativeEmail | SternaError)[], request: EmailRequest, services: CompatServices): Promise<Sent> {
  const emails = translated.filter((one): one is NativeEmail => !(one instanceof SternaError))
  if (emails.length === 0) return { some: translated.map((one) => postmarkError(one as SternaError)), replayed: false, accepted: [] }
  const { emails: accepted, errors, replayed } = await sendBatch(emails, { ...request, mode: 'permissive' }, services)
  const refused = new Map(errors.map((error) => [error.index, error]))
  const taken = accepted.values()
  const answers = emails.map((email, place) => {
    const error = refused.get(place)
    return error ? postmarkError(error) : answerFor(email, taken.next().value as Accepted)
  })
  const inOrder = answers.values()
  const some = translated.map((one) => (one instanceof SternaError ? postmarkError(one) : (inOrder.next().value as PostmarkAnswer)))
  return { some, replayed, accepted }
}

function answerFor({ to, cc, bcc }: NativeEmail, { messageId, createdAt, status, recipients }: Accepted): PostmarkAnswer {
  const suppressed = recipients.filter(({ state }) => state === 'suppressed').map(({ address }) => address)
  if (status === 'suppressed') return inactiveRecipients(suppressed)
  return {
    To: listText(to),
    ...(cc ? { Cc: listText(cc) } : {}),
    ...(bcc ? { Bcc: listText(bcc) } : {}),
    SubmittedAt: isoTime(createdAt),
    MessageID: messageId,
    ErrorCode: 0,
    Message: acceptedMessage(suppressed),
  }
}

const listText = (mailboxes: NativeMailbox[]): string =>
  mailboxes.map(({ email, name }) => (name ? `"${name.replace(/["\\]/g, '\\$&')}" <${email}>` : email)).join(', ')
