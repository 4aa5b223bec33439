import { useApi } from '../api/cache.ts'
import type { Latency, Metrics, MetricsRow as Row } from '../api/types.ts'
import { dayOf, isDay } from '../days.ts'
import { duration, percent } from '../format.ts'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { Breakdown } from './breakdown.tsx'

const settledOf = ({ delivered = 0, bounced = 0 }: Row): number => delivered + bounced
/** Of what has come to its end: mail that waits belongs to no provider yet. */
const shareOf = (row: Row, part: number): number | null => (settledOf(row) === 0 ? null : part / settledOf(row))

/** How much left us over TLS; null if it was not recorded. */
function encryptedShareOf({ delivered_encrypted: encrypted = 0, delivered_unencrypted: unencrypted = 0 }: Row): number | null {
  return encrypted + unencrypted === 0 ? null : encrypted / (encrypted + unencrypted)
}

/** Who takes the mail: delivered, refused, how much of it over TLS, and how fast. `range` is a part of the query. */
export function ByProvider({ range, latency, plain = false }: { range: string; latency: Latency | undefined; plain?: boolean }) {
  const metrics = useApi<Metrics>(
    `/api/analytics?${range}&dimensions=provider&metrics=delivered,bounced,delivered_encrypted,delivered_unencrypted`,
  )
  const medianOf = ({ provider }: Row): number | null => latency?.data.find((row) => row.provider === provider)?.p50_ms ?? null
  return (
    <Answer of={metrics}>
      {({ data = [] }) => (
        <Breakdown
          heading={t.overview.whoTakes}
          file="provider"
          nameHead={t.overview.provider}
          keyOf={({ provider }) => provider ?? 'none'}
          nameOf={({ provider }) => (provider == null ? t.overview.noProvider : (t.providers[provider] ?? provider))}
          figures={[
            { metric: 'delivered', head: t.status.delivered, value: ({ delivered = 0 }) => delivered },
            { metric: 'delivery_rate', head: t.analytics.rate, value: (row) => shareOf(row, row.delivered ?? 0), inWords: percent },
            { metric: 'bounce_rate', head: t.status.bounced, value: (row) => shareOf(row, row.bounced ?? 0), inWords: percent },
            { metric: 'encryption_rate', head: t.overview.byTls, value: encryptedShareOf, inWords: percent },
            { metric: 'p50_ms', head: t.overview.median, value: medianOf, inWords: duration },
          ]}
          rows={data.filter((row) => settledOf(row) > 0).toSorted((one, other) => settledOf(other) - settledOf(one))}
          none={t.overview.noDelivery}
          plain={plain}
        />
      )}
    </Answer>
  )
}

/** Why mail did not arrive; each cause leads to the emails. */
export function Causes({ range, domainId = '', plain = false }: { range: string; domainId?: string; plain?: boolean }) {
  const metrics = useApi<Metrics>(`/api/analytics?${range}&dimensions=cause&metrics=bounced,suppressed,failed`)
  const countOf = ({ bounced = 0, suppressed = 0, failed = 0 }: Row): number => bounced + suppressed + failed
  return (
    <Answer of={metrics}>
      {({ data = [] }) => (
        <Breakdown
          heading={t.overview.why}
          file="cause"
          nameHead={t.common.cause}
          keyOf={({ cause = '' }) => cause}
          nameOf={({ cause = '' }) => (
            <Link class="row" href={`/emails?${listOf(cause, range, domainId)}`}>
              {t.causes[cause] ?? cause}
            </Link>
          )}
          detail={{ head: t.overview.liesWith, of: ({ owner = '' }) => t.ownerNames[owner] ?? owner }}
          figures={[{ metric: 'recipients', head: t.common.recipients, value: countOf }]}
          rows={data.toSorted((one, other) => countOf(other) - countOf(one))}
          none={t.overview.allArrived}
          plain={plain}
        />
      )}
    </Answer>
  )
}

/** The filters of the emails that show what a cause is about. */
function listOf(cause: string, range: string, domainId: string): string {
  const status = cause === 'suppressed' ? 'suppressed' : cause === 'internal_error' ? 'failed' : 'bounced'
  const start = new URLSearchParams(range).get('start_date')
  const since = start === null || isDay(start) ? (start ?? '') : dayOf(new Date(start))
  return new URLSearchParams({ status, since, ...(domainId === '' ? {} : { domain_id: domainId }) }).toString()
}
