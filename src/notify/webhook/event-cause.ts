import type { WebhookEventType } from '../../mail/event/event-type.ts'
import type { Explanation } from '../../readers/explanation/explanation.ts'
import { explainBounce, explainDeferral, type ToldBounce, type ToldDeferral } from '../../readers/explanation/explain-attempt.ts'

/**
 * `data`, a JSON object, with the cause of a bounce or a deferral and its owner, as everywhere else.
 * @param provider who runs the recipient's host; null if that is not known
 */
export function withCause(type: WebhookEventType, data: string, provider: string | null): string {
  const explanation = explanationIn(type, data, provider)
  return explanation ? `${data.slice(0, -1)},"cause":"${explanation.code}","owner":"${explanation.owner}"}` : data
}

function explanationIn(type: WebhookEventType, data: string, provider: string | null): Explanation | null {
  if (type === 'email.bounced') return explainBounce(JSON.parse(data) as ToldBounce, provider)
  if (type === 'email.deferred') return explainDeferral(JSON.parse(data) as ToldDeferral, provider)
  return null
}
