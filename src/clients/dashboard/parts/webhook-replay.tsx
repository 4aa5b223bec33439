import { useFetched } from '../api/cache.ts'
import { ApiError, call } from '../api/client.ts'
import type { Webhook } from '../api/types.ts'
import { minuteOf } from '../days.ts'
import { fullTime } from '../format.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from './dialog.tsx'
import { Choice, Field, useFields } from './fields.tsx'

interface ReplayRange {
  since: string
  until?: string
  status: string
}

const replay = async (webhook: Webhook, range: ReplayRange, dryRun: boolean): Promise<number> =>
  (await call<{ count: number }>(`/api/webhooks/${webhook.id}/replay`, { method: 'POST', body: { ...range, dry_run: dryRun } })).count

/** How many events these ranges would post again; null while that is asked. */
function useCount(webhook: Webhook, ranges: ReplayRange[]): { count: number | null; error: ApiError | null } {
  const { data, error, isCurrent } = useFetched(JSON.stringify([webhook.id, ranges]), async () =>
    (await Promise.all(ranges.map((range) => replay(webhook, range, true)))).reduce((sum, count) => sum + count, 0),
  )
  return { count: isCurrent ? (data ?? null) : null, error: isCurrent ? error : null }
}

const dayMs = 24 * 60 * 60 * 1000

interface ReplayDialog {
  webhook: Webhook
  onDone(): Promise<unknown>
  onClose(): void
}

/** The last moment of the minute that the field for a time names. */
const endOfMinute = (local: string): string => new Date(Date.parse(local) + 59_999).toISOString()

/** Posts again what was not taken within a period, and says first how much that is. */
export function ReplayFailed({ webhook, onDone, onClose }: ReplayDialog) {
  const { values, field } = useFields({ since: minuteOf(new Date(Date.now() - dayMs)), until: '', status: 'failed' })
  const { since, until, status } = values
  const isTime = [since, until || since].every((time) => !Number.isNaN(Date.parse(time)))
  const range = { since: isTime ? new Date(since).toISOString() : '', ...(isTime && until ? { until: endOfMinute(until) } : {}), status }
  const { count, error } = useCount(webhook, isTime ? [range] : [])
  const run = async (): Promise<void> => {
    await replay(webhook, range, false)
    await onDone()
  }
  return (
    <Dialog
      early={error}
      heading={t.webhooks.replayAll}
      button={t.webhooks.replay}
      run={run}
      onClose={onClose}
      disabled={!isTime || !count}
    >
      <Field {...field('since')} label={t.common.since} type="datetime-local" />
      <Field {...field('until')} label={t.common.until} hint={t.webhooks.untilNow} type="datetime-local" />
      <Choice {...field('status')} label={t.common.status} options={Object.entries(t.webhooks.replayed)} />
      <p role="status">{count === null ? t.common.loading : t.webhooks.replayCount(count)}</p>
    </Dialog>
  )
}

/** Enables a webhook that was disabled for its failures, and posts what it missed until then. */
export function EnableAndReplay({ webhook, since, onDone, onClose }: ReplayDialog & { since: string }) {
  const ranges = ['failed', 'canceled'].map((status) => ({ since, status }))
  const { count, error } = useCount(webhook, ranges)
  const run = async (): Promise<void> => {
    await call(`/api/webhooks/${webhook.id}`, { method: 'PATCH', body: { status: 'enabled' } })
    for (const range of ranges) await replay(webhook, range, false)
    await onDone()
  }
  return (
    <Dialog
      early={error}
      heading={t.webhooks.enable}
      button={t.webhooks.enableAndReplay}
      run={run}
      onClose={onClose}
      disabled={count === null}
    >
      <p>{t.webhooks.failingSince(fullTime(since))}</p>
      <p role="status">{count === null ? t.common.loading : t.webhooks.replayCount(count)}</p>
      <p>{t.webhooks.missed}</p>
    </Dialog>
  )
}
