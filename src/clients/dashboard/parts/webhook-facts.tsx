import type { Webhook } from '../api/types.ts'
import { number, percent } from '../format.ts'
import { t } from '../texts/texts.ts'
import { Age } from './time.tsx'
import { State } from './state.tsx'

/** The API counts no more than the newest of a day. */
const maxCounted = 1_000

/** The share of the last day's deliveries that were accepted. Those that wait for another attempt are not. */
export function SuccessRate({ stats: { success, failed, pending } }: Pick<Webhook, 'stats'>) {
  const all = success + failed + pending
  if (all === 0) return <span class="muted">{t.webhooks.nothingPosted}</span>
  const period = all < maxCounted ? t.webhooks.ofDay : t.webhooks.ofNewest
  return (
    <>
      {percent(success / all)}{' '}
      <span class="muted">{[period(number(all)), ...(pending > 0 ? [t.webhooks.waits(number(pending))] : [])].join(', ')}</span>
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

/** What became of a delivery, in a word. */
export const DeliveryState = ({ of: status }: { of: string }) => {
  const state = status === 'attempting' ? 'pending' : status
  const word = t.webhooks.states[state]
  return <State of={state} {...(word === undefined ? {} : { word })} />
}
