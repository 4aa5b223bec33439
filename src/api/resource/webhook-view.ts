import type { AttemptRow } from '../../notify/webhook/delivery-history.ts'
import type { Webhook } from '../../notify/webhook/webhook-store.ts'
import { mayDo, type Caller } from '../operation/caller.ts'

/** Whether the holder of the request sees a webhook as its owner does. Others see nothing that lets them post or read in its place. */
export const seesSecrets = (caller: Caller): boolean => mayDo(caller, 'full_access')

/** A webhook as the holder of the request may see it: many receivers check a token in the query of the URL. */
export const seenWebhook = <W extends Webhook>(caller: Caller, webhook: W): W =>
  seesSecrets(caller) ? webhook : { ...webhook, url: placeOf(webhook.url) }

/** An attempt likewise: what a receiver answers may repeat the request with all that was in it. */
export const seenAttempt = (caller: Caller, attempt: AttemptRow): AttemptRow =>
  seesSecrets(caller) ? attempt : { ...attempt, response: null }

/** A URL without user name, password, query and fragment. */
function placeOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
