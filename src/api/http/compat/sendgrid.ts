import type { FieldFault } from '../../../platform/errors.ts'
import type { ApiContext } from '../api-state.ts'
import type { EmailRequest } from '../../resource/email-request.ts'
import { checkEmail, sendBatch, sendEmail } from '../../resource/send-emails.ts'
import { bearerToken } from '../../operation/authenticate.ts'
import { recordSchema } from '../openapi-schema.ts'
import type { Problem } from '../../operation/problem.ts'
import { compatJson, renamedFields, tellIds, type CompatApi, type CompatServices } from './compat-api.ts'
import type { NativeEmail } from './native-email.ts'
import { sendGridSuppressionActions } from './sendgrid-suppressions.ts'
import { fromSendGrid, sendGridField } from './sendgrid-email.ts'

const text = { type: 'string' }
const textOrNull = { type: ['string', 'null'] }

/**
 * `/compat/sendgrid`: `POST /v3/mail/send`, answered with 202, no body and our id in `X-Message-Id`. Several
 * personalizations are several emails, all accepted or none. With `sandbox_mode` the answer is 200, and nothing is. An
 * `Idempotency-Key` of the request counts for nothing: the client sends the header fields of the email there too.
 */
export const sendGridApi = (services: CompatServices): CompatApi => ({
  prefix: '/compat/sendgrid',
  tokenOf: (ctx) => bearerToken(ctx.req.headers.authorization),
  service: 'SendGrid',
  security: null,
  takesIdempotencyKey: false,
  mediaType: 'application/json',
  refusalForm,
  refusal: recordSchema({ errors: { type: 'array', items: recordSchema({ message: text, field: textOrNull, help: textOrNull }) } }),
  bodyRoom: services.bodyRoom,
  routes: [{ path: '/v3/mail/send', answers: { 202: null, 200: null }, send: (ctx, request) => send(ctx, request, services) }],
  actions: sendGridSuppressionActions(services),
})

async function send(ctx: ApiContext, request: EmailRequest, services: CompatServices): Promise<void> {
  const { emails, validatesOnly } = fromSendGrid(await compatJson(ctx))
  if (validatesOnly) {
    for (const email of emails) await checkEmail(email, request, services)
    return answerEmpty(ctx, 200)
  }
  tellIds(ctx, await sendAll(emails, request, services), { replayed: false })
  answerEmpty(ctx, 202)
}

async function sendAll(emails: NativeEmail[], request: EmailRequest, services: CompatServices) {
  const [first, second] = emails
  if (first && !second) return [await sendEmail(first, request, services)]
  return (await sendBatch(emails, { ...request, mode: 'strict' }, services)).emails
}

function answerEmpty(ctx: ApiContext, status: number): void {
  ctx.status = status
  ctx.body = ''
  ctx.remove('Content-Type')
}

/** SendGrid answers 400 to what is wrong with an email. */
function refusalForm(problem: Problem, requestId: string): ReturnType<CompatApi['refusalForm']> {
  const errors = problem.faults?.map(errorOf) ?? [
    { message: problem.message, field: problem.name === 'domain_not_verified' ? 'from' : null, help: null },
  ]
  return { status: problem.status === 422 ? 400 : problem.status, body: { errors, id: requestId } }
}

/** Behind the number of the personalization the field is one of the API's, unless it is SendGrid's already. */
function errorOf({ field, message, help }: FieldFault): { message: string; field: string; help: string | null } {
  const [, place = '0', own = ''] = /^(?:(\d+)(?:\.|$))?(.*)$/s.exec(field) ?? []
  const rename = (name: string) => sendGridField(name, Number(place))
  return { message: renamedFields(message, rename), field: own === '' ? `personalizations.${place}` : rename(own), help }
}
