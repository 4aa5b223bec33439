import { call } from '../api/client.ts'
import type { QueueDestination } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { ActionButton } from './button.tsx'
import { ConfirmButton } from './dialog.tsx'

interface QueueActionsFrame {
  queue: QueueDestination
  look?: 'small'
  /** Told how many recipients were changed. */
  onDone(recipients: number): Promise<unknown>
}

interface QueueChange {
  recipients: number
  has_more?: boolean
}

/** Tries, holds, releases or gives up the mail for a destination. */
export function QueueActions({ queue: { destination, waiting, held }, look, onDone }: QueueActionsFrame) {
  const change = (verb: string): Promise<QueueChange> => call(`/api/queue/${encodeURIComponent(destination)}/${verb}`, { method: 'POST' })
  const run = async (verb: string): Promise<void> => void (await onDone((await change(verb)).recipients))
  const giveUp = async (): Promise<void> => {
    // One request gives up so many.
    let [recipients, hasMore] = [0, true]
    while (hasMore) {
      const changed = await change('bounce')
      recipients += changed.recipients
      hasMore = changed.has_more === true
    }
    await onDone(recipients)
  }
  return (
    <div class="acts">
      {held < waiting && <ActionButton look={look} text={t.queue.retry} run={() => run('retry')} />}
      {held > 0 && <ActionButton look={look} text={t.queue.release} run={() => run('release')} />}
      {held < waiting && <ActionButton look={look} text={t.queue.hold} run={() => run('hold')} />}
      <ConfirmButton look={look} text={t.queue.bounce} says={t.queue.bounceText(waiting)} typed={destination} run={giveUp} />
    </div>
  )
}
