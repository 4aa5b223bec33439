import type { Webhook } from '../api/types.ts'
import { number, percent } from '../format.ts'
import { t } from '../texts/texts.ts'
import { Age } from './time.tsx'

/** The share of the last day's deliveries that were taken. */
export function SuccessRate({ stats: { success, failed, pending } }: Pick<Webhook, 'stats'>) {
  const ended = success + failed
  if (ended === 0) return <span class="muted">{pending === 0 ? t.webhooks.nothingPosted : t.webhooks.waits(number(pending))}</span>
  return (
    <>
      {percent(success / ended)} <span class="muted">{t.webhooks.ofDeliveries(number(ended))}</span>
    </>
  )
}

/** What the receiver answered last, and when. */
export const LastAnswer = ({ stats: { last_status_code: code, last_at: at } }: Pick<Webhook, 'stats'>) =>
  at === null ? (
    <span class="muted">{t.time.never}</span>
  ) : (
    <>
      <Answered code={code} />{' '}
      <span class="muted">
        <Age of={at} />
      </span>
    </>
  )

/** The status of an answer, or that there was none. */
export const Answered = ({ code }: { code: number | null }) =>
  code === null ? <span class="refused">{t.webhooks.noAnswer}</span> : <code class={code < 200 || code > 299 ? 'refused' : ''}>{code}</code>
