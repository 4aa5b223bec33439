import { z } from 'zod'
import { SternaError } from '../../../platform/errors.ts'
import { clientNetwork } from '../../../platform/ip-address.ts'
import type { RateLimiter } from '../../../platform/rate-limiter.ts'
import type { UnsubscribeLinks } from '../../../mail/suppression/unsubscribe-links.ts'
import type { UnsubscribeTarget } from '../../../mail/suppression/unsubscribe-token.ts'
import type { ApiContext } from '../api-state.ts'
import { answerEntryPage, refuseOnPage, type EntryPage } from '../entry-page.ts'
import { entryTexts } from '../entry-texts.ts'
import { smallBodyLimit } from '../json-body.ts'
import { operation, type Operation } from '../operation.ts'
import { unsubscribeButton, unsubscribeForm } from '../unsubscribe-form.ts'

export interface UnsubscribeServices {
  unsubscribeLinks: UnsubscribeLinks
  /** By client network, for valid links; invalid ones cost almost nothing. */
  unsubscribeLimit: RateLimiter
}

const mediaType = 'text/html'
const shared = { path: '/u/{token}', tag: 'Suppressions', permission: null } as const
const body = {
  schema: z.object({ 'List-Unsubscribe': z.literal('One-Click') }),
  raw: true,
  limit: smallBodyLimit,
  mediaType: 'application/x-www-form-urlencoded',
  example: { 'List-Unsubscribe': 'One-Click' },
} as const

/** `/u/…`: where the links in List-Unsubscribe fields lead. Programs that only fetch links change nothing. */
export const unsubscribeOperations = (services: UnsubscribeServices): Operation[] => [
  operation({
    ...shared,
    id: 'unsubscribe.show',
    method: 'GET',
    summary: 'Show a page with a button to unsubscribe',
    description: 'Looking at the page changes nothing.',
    answers: [
      { status: 200, description: 'The page.', schema: null, mediaType },
      { status: 404, description: 'A page that says that the link is not from this server.', schema: null, mediaType },
    ],
    handle: (ctx) => {
      const target = targetOf(ctx, services)
      if (target) answerEntryPage(ctx, 200, questionTo(ctx, target))
      else answerUnknown(ctx)
    },
  }),
  operation({
    ...shared,
    id: 'unsubscribe.use',
    method: 'POST',
    summary: 'Unsubscribe',
    description:
      'One click in a mail program (RFC 8058), or the button on the page. The person gets no more mail that this ' +
      'account sends with `unsubscribe` and the same topic, but all other mail. Doing it again changes nothing.',
    body,
    answers: [
      { status: 200, description: 'A page that confirms it.', schema: null, mediaType },
      { status: 404, description: 'A page that says that the link is not from this server.', schema: null, mediaType },
      { status: 413, description: 'The form is too large.', schema: null, mediaType },
      { status: 422, description: 'The page, because the form did not say what to do.', schema: null, mediaType },
      { status: 429, description: 'Too many requests from one address; Retry-After says when to try again.', schema: null, mediaType },
    ],
    handle: async (ctx) => {
      const target = targetOf(ctx, services)
      if (!target) return answerUnknown(ctx)
      try {
        const method = await unsubscribeForm(ctx)
        if (method === null) throw new SternaError('validation_error', 'Nothing has been changed yet: please press the button.')
        limitNetwork(ctx, services.unsubscribeLimit)
        await services.unsubscribeLinks.use(target, method)
        answerEntryPage(ctx, 200, answerTo(ctx, target))
      } catch (error) {
        if (!(error instanceof SternaError)) throw error
        refuseOnPage(ctx, error, { ...questionTo(ctx, target), fault: entryTexts(ctx).faultOf(error) })
      }
    },
  }),
]

const targetOf = (ctx: ApiContext, { unsubscribeLinks }: UnsubscribeServices): UnsubscribeTarget | null =>
  unsubscribeLinks.read(ctx.params['token'] ?? '')

function limitNetwork(ctx: ApiContext, limiter: RateLimiter): void {
  const waitMs = limiter.take(clientNetwork(ctx.state.clientAddress))
  if (waitMs === 0) return
  const message = 'Too many requests from your address. Please try again in a minute.'
  throw new SternaError('rate_limit_exceeded', message, { retryAfter: waitMs / 1000 })
}

function questionTo(ctx: ApiContext, { address, topic }: UnsubscribeTarget): EntryPage {
  const { title, text, button } = entryTexts(ctx).unsubscribe
  return { title, text: text(address, topic), button: { text: button, name: unsubscribeButton }, isOurs: false }
}

function answerTo(ctx: ApiContext, { address, topic }: UnsubscribeTarget): EntryPage {
  const { done, doneText } = entryTexts(ctx).unsubscribe
  return { title: done, text: doneText(address, topic), isOurs: false }
}

function answerUnknown(ctx: ApiContext): void {
  const { unknown, unknownText } = entryTexts(ctx).unsubscribe
  refuseOnPage(ctx, new SternaError('not_found', unknownText), { title: unknown, text: unknownText, isOurs: false })
}
