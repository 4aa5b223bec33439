import { useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { QueueDestination } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { ActionButton } from './controls.tsx'
import { Dialog } from './dialog.tsx'

interface QueueActionsFrame {
  queue: QueueDestination
  small?: boolean
  /** Told how many recipients were changed. */
  onDone(recipients: number): Promise<unknown>
}

interface QueueChange {
  recipients: number
  has_more?: boolean
}

/** Tries, holds, releases or gives up the mail for a destination. */
export function QueueActions({ queue: { destination, waiting, held }, small = false, onDone }: QueueActionsFrame) {
  const [isAsked, setAsked] = useState(false)
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
      {held < waiting && <ActionButton small={small} text={t.queue.retry} run={() => run('retry')} />}
      {held > 0 && <ActionButton small={small} text={t.queue.release} run={() => run('release')} />}
      {held < waiting && <ActionButton small={small} text={t.queue.hold} run={() => run('hold')} />}
      <button class={small ? 'btn small' : 'btn'} type="button" onClick={() => setAsked(true)}>
        {t.queue.bounce}
      </button>
      {isAsked && (
        <Dialog heading={t.queue.bounce} button={t.queue.bounce} run={giveUp} onClose={() => setAsked(false)} typed={destination}>
          <p>{t.queue.bounceText(waiting)}</p>
        </Dialog>
      )}
    </div>
  )
}
