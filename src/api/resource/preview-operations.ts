import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { ReplyHeaders } from '../operation/call.ts'
import type { Caller } from '../operation/caller.ts'
import { RawAnswer } from '../operation/raw-answer.ts'
import { isOwnHost } from './same-origin.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { maxPreviewBytes, type Preview } from './previews.ts'
import { timeAnswer } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'baseUrl' | 'messages' | 'messageParser' | 'previews'>

const mebibytes = maxPreviewBytes / 1024 / 1024
const bodyLimit = 1.6 * maxPreviewBytes

const previewRequest = z
  .object({
    html: z
      .string()
      .refine((html) => Buffer.byteLength(html) <= maxPreviewBytes, { error: `must have at most ${mebibytes} MiB` })
      .nullish()
      .describe('What to show.'),
    email_id: z.string().nullish().describe('The email to show, instead of `html`, with the pictures that are attached to it.'),
    pictures: z
      .boolean()
      .nullish()
      .describe('Whether pictures are loaded from the web, over HTTPS; their servers then learn that somebody looks. Default: false.'),
  })
  .refine(({ html = null, email_id: id = null }) => (html === null) !== (id === null), { error: 'must have either `html` or `email_id`' })

const previewAnswer = z
  .object({
    object: z.literal('preview'),
    url: z.string().describe('Where to fetch it, once, within a minute.'),
    expires_at: timeAnswer,
  })
  .meta({ id: 'Preview' })

const at = operationsAt({ path: '', tag: 'Emails', permission: { read: null, change: 'read_access' }, sandbox: true })

/** Mail to look at. It is hostile: the browser gives it no script, no form, no origin and no network. */
export const previewOperations = (services: Services): Operation[] => [
  at.post('previews.create', '/api/previews', 'Prepare HTML to be looked at', {
    description:
      `For an \`<iframe sandbox="">\` on a page of this server. Previews are kept for a minute: at most 20 for each user or key and ${mebibytes} MiB ` +
      'each; the oldest make room for new ones.',
    idempotency: 'none',

    // Quotes and line ends take two bytes of JSON.
    body: { schema: previewRequest, limit: bodyLimit, example: { html: '<p>Hello</p>' } },
    answer: ['Where to fetch it.', previewAnswer],
    refuses: ['not_found', 'invalid_message'],
    handle: async ({ caller, body: { html, email_id: id, pictures } }) => {
      const { accountId, actor } = caller
      const bytes = typeof id === 'string' ? await htmlOf(caller, id, services) : Buffer.from(html ?? '')
      const { token, expiresAt } = await services.previews.add(actor.id ?? accountId, { html: bytes, pictures: pictures === true })
      return { object: 'preview' as const, url: `/preview/${token}`, expires_at: isoTime(expiresAt) }
    },
  }),
  at.get('previews.get', '/preview/{token}', 'Fetch HTML to look at', {
    description: 'Works once. The response has a policy that lets nothing in it run, load or lead anywhere.',
    headers: ['host'],
    answer: ['The HTML.', 'text/html'],
    refuses: ['not_found'],
    handle: async (call) => {
      const isOurs = isOwnHost(call.headers.host ?? '', services.baseUrl)
      const preview = isOurs ? await services.previews.take(call.params.token) : undefined
      if (!preview) throw new SternaError('not_found', 'This preview was fetched already, or its minute is over: make another.')
      setPolicy(call.reply, preview)
      return new RawAnswer(Buffer.from(preview.html), { type: 'text/html; charset=utf-8' })
    },
  }),
]

async function htmlOf(caller: Caller, id: string, { messages, messageParser }: Services): Promise<Uint8Array> {
  const message = await messages.find(caller, id)
  if (!message) throw new SternaError('not_found', 'There is no email with this id.')
  const pieces = await messageParser.html(() => messages.content(id), maxPreviewBytes)
  if (!pieces) throw new SternaError('not_found', 'This email has no HTML, or its content is no longer kept.')
  return Buffer.concat(pieces)
}

function setPolicy(reply: ReplyHeaders, { pictures }: Preview): void {
  const policy = [
    'sandbox',
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    pictures ? 'img-src https: data:' : 'img-src data:',
    'font-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ]
  const fields = {
    'Content-Security-Policy': policy.join('; '),
    'Cache-Control': 'no-store',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Dns-Prefetch-Control': 'off',
  }
  for (const [name, value] of Object.entries(fields)) reply.set(name, value)
}
