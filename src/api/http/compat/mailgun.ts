import type { Accepted } from '../../../mail-in/submission/admission.ts'
import type { ApiContext } from '../api-state.ts'
import type { EmailRequest } from '../../resource/email-request.ts'
import { sendBatch, sendEmail } from '../../resource/send-emails.ts'
import { recordSchema } from '../openapi-schema.ts'
import type { Problem } from '../../operation/problem.ts'
import { renamedFields, tellIds, type CompatApi, type CompatServices } from './compat-api.ts'
import { mailgunDomain } from './mailgun-domain.ts'
import { mailgunEventActions } from './mailgun-events.ts'
import { mailgunSuppressionActions } from './mailgun-suppressions.ts'
import { fromMailgun, mailgunField } from './mailgun-email.ts'
import { sendMime } from './mailgun-mime.ts'
import { readForm } from './read-form.ts'

/**
 * `/compat/mailgun`: `POST /v3/:domain/messages` and `/v3/:domain/messages.mime`, its events and suppressions. The domain is verified for the account,
 * and From is at it or below it. The `id` that is answered is the Message-ID; ours is in `X-Message-Id`. With
 * `o:testmode` the email goes through everything as with a sandbox key, and stays in the sandbox.
 */
export const mailgunApi = (services: CompatServices): CompatApi => ({
  prefix: '/compat/mailgun',
  service: 'Mailgun',
  security: { type: 'http', scheme: 'basic', description: 'The user `api` with an API key as password, as the Mailgun client sends it.' },
  tokenOf: (ctx) => passwordOf(ctx.req.headers.authorization),
  takesIdempotencyKey: true,
  mediaType: 'multipart/form-data',
  refusalForm,
  refusal: recordSchema({ message: text }),
  bodyRoom: services.bodyRoom,
  routes: [
    { path: '/v3/{domain}/messages', answers: { 200: accepted }, send: (ctx, request) => sendMessages(ctx, request, services) },
    { path: '/v3/{domain}/messages.mime', answers: { 200: accepted }, send: (ctx, request) => sendMessage(ctx, request, services) },
  ],
  actions: [...mailgunEventActions(services), ...mailgunSuppressionActions(services)],
})

const text = { type: 'string' }
const accepted = recordSchema({ id: text, message: text })

/** The password of Basic authentication (RFC 7617); whatever name stands before it. */
function passwordOf(field: string | undefined): string | null {
  const encoded = /^Basic +([A-Za-z0-9+/=]+) *$/i.exec(field ?? '')?.[1]
  if (encoded === undefined) return null
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? []
  return password || null
}

async function sendMessages(ctx: ApiContext, given: EmailRequest, services: CompatServices): Promise<void> {
  const domain = mailgunDomain(ctx, services)
  const { emails, isTest } = fromMailgun(await readForm(ctx.req), domain)
  const request = isTest ? { ...given, submitter: { ...given.submitter, sandbox: true } } : given
  const [first, second] = emails
  if (first && !second) {
    const accepted = await sendEmail(first, request, services)
    tellIds(ctx, [accepted], accepted)
    ctx.body = queued(accepted)
  } else {
    const batch = await sendBatch(emails, { ...request, mode: 'strict' }, services)
    tellIds(ctx, batch.emails, batch)
    ctx.body = queued(batch.emails[0] as Accepted)
  }
}

async function sendMessage(ctx: ApiContext, request: EmailRequest, services: CompatServices): Promise<void> {
  const domain = mailgunDomain(ctx, services)
  const sent = await sendMime(await readForm(ctx.req), { domain, request, clientAddress: ctx.state.clientAddress }, services)
  tellIds(ctx, [sent], sent)
  ctx.body = queued(sent)
}

const queued = ({ messageIdHeader }: Accepted) => ({ id: messageIdHeader, message: 'Queued. Thank you.' })

/** Mailgun says 400 to what is wrong with a message. A batch names the email in its message already. */
function refusalForm({ status, message }: Problem): ReturnType<CompatApi['refusalForm']> {
  const headers = status === 401 ? { 'WWW-Authenticate': 'Basic realm="API key"' } : {}
  return { status: status === 422 ? 400 : status, body: { message: renamedFields(message, mailgunField) }, headers }
}
