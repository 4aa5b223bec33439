import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { clientNetwork } from '../../platform/ip-address.ts'
import type { RateLimiter } from '../../platform/rate-limiter.ts'
import type { UnsubscribeTarget } from '../../mail/suppression/unsubscribe-token.ts'
import type { CallTo } from '../operation/call.ts'
import type { RawAnswer } from '../operation/raw-answer.ts'
import { originOf, type Caller } from '../operation/caller.ts'
import { entryPage, refusalPage, type EntryPage, type PageCall } from './entry-page.ts'
import { entryTexts, type Reader } from './entry-texts.ts'
import { smallBodyLimit } from '../operation/body-limits.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import type { Needs } from './operation-services.ts'
import { isForm } from './require-form.ts'

/** The field that the page's button sends. */
const unsubscribeButton = 'unsubscribe'

/** RFC 8058 3.1: a mail program may send it as multipart or URL-encoded. */
const oneClickPart = /name="?List-Unsubscribe"?[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\nOne-Click\r\n/i

/** What sent an unsubscribe request: a mail program, the page's own button, or null if it is neither. */
function unsubscribeForm(text: string, mediaType: string | undefined): 'one_click' | 'link' | null {
  if (!isForm(mediaType)) return oneClickPart.test(text) ? 'one_click' : null
  const form = new URLSearchParams(text)
  if (form.get('List-Unsubscribe')?.toLowerCase() === 'one-click') return 'one_click'
  return form.has(unsubscribeButton) ? 'link' : null
}

type Services = Needs<'unsubscribeLinks' | 'unsubscribeLimit'>

const mediaType = 'text/html'
const at = operationsAt({ path: '/u/{token}', tag: 'Suppressions', permission: null, headers: ['accept-language', 'content-type'] })
const body = {
  schema: z.object({ 'List-Unsubscribe': z.literal('One-Click') }),
  as: 'text',
  limit: smallBodyLimit,
  mediaType: 'application/x-www-form-urlencoded',
  example: { 'List-Unsubscribe': 'One-Click' },
} as const

/** `/u/…`: where the links in List-Unsubscribe fields lead. Programs that only fetch links change nothing. */
export const unsubscribeOperations = (services: Services): Operation[] => [
  at.get('unsubscribe.show', '', 'Show a page with a button to unsubscribe', {
    description: 'Looking at the page changes nothing.',
    answer: ['The page.', mediaType],
    otherAnswers: [{ status: 404, description: 'A page that says that the link is not from this server.', schema: null, mediaType }],
    handle: (call) => {
      const target = targetOf(call, services)
      return target ? entryPage(call, questionTo(call, target)) : unknownPage(call)
    },
  }),
  at.post('unsubscribe.use', '', 'Unsubscribe', {
    description:
      'One click in a mail program (RFC 8058), or the button on the page. The person gets no more mail that this ' +
      'account sends with `unsubscribe` and the same topic, but all other mail. Doing it again changes nothing.',
    body,
    answer: ['A page that confirms it.', mediaType],
    otherAnswers: [
      { status: 404, description: 'A page that says that the link is not from this server.', schema: null, mediaType },
      { status: 413, description: 'The form is too large.', schema: null, mediaType },
      { status: 422, description: 'The page, because the form did not say what to do.', schema: null, mediaType },
      { status: 429, description: 'Too many requests from one address; Retry-After says when to try again.', schema: null, mediaType },
    ],
    admit(call) {
      knownTarget(call, services)
    },
    handle: async (call) => {
      const target = knownTarget(call, services)
      const method = unsubscribeForm(call.body, call.headers['content-type'])
      if (method === null) throw new SternaError('validation_error', 'Nothing has been changed yet: please press the button.')
      limitNetwork(call.caller, services.unsubscribeLimit)
      await services.unsubscribeLinks.use(target, method)
      return entryPage(call, answerTo(call, target))
    },
    refusalPage(error, call) {
      const target = targetOf(call, services)
      if (!target) return unknownPage(call)
      return refusalPage(call, error, { ...questionTo(call, target), fault: entryTexts(call).faultOf(error) })
    },
  }),
]

const targetOf = (call: CallTo<'token'>, { unsubscribeLinks }: Services): UnsubscribeTarget | null =>
  unsubscribeLinks.read(call.params.token)

/** @throws SternaError `not_found` */
function knownTarget(call: CallTo<'token'>, services: Services): UnsubscribeTarget {
  const target = targetOf(call, services)
  if (target) return target
  throw new SternaError('not_found', 'This link is not from this server.')
}

function limitNetwork(caller: Caller, limiter: RateLimiter): void {
  const waitMs = limiter.take(clientNetwork(originOf(caller).address))
  if (waitMs === 0) return
  const message = 'Too many requests from your address. Please try again in a minute.'
  throw new SternaError('rate_limit_exceeded', message, { retryAfter: waitMs / 1000 })
}

function questionTo(call: Reader, { address, topic }: UnsubscribeTarget): EntryPage {
  const { title, text, button } = entryTexts(call).unsubscribe
  return { title, text: text(address, topic), button: { text: button, name: unsubscribeButton }, isOurs: false }
}

function answerTo(call: Reader, { address, topic }: UnsubscribeTarget): EntryPage {
  const { done, doneText } = entryTexts(call).unsubscribe
  return { title: done, text: doneText(address, topic), isOurs: false }
}

function unknownPage(call: PageCall): RawAnswer {
  const { unknown, unknownText } = entryTexts(call).unsubscribe
  return refusalPage(call, new SternaError('not_found', unknownText), { title: unknown, text: unknownText, isOurs: false })
}
