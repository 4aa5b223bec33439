import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import type { DmarcSource, DmarcSummary, Domain, TlsSummary } from '../api/types.ts'
import { number, percent } from '../format.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { Breakdown } from '../parts/breakdown.tsx'
import { Segments, CopyFact } from '../parts/controls.tsx'
import { hostWithin } from '../parts/dns-record.tsx'
import { Note, Page, Panel, Facts, Fact } from '../parts/page.tsx'
import { ReportList } from '../parts/report-list.tsx'
import { State } from '../parts/state.tsx'
import { setQuery, type PageProps } from '../router.tsx'
import { reasonsOf } from '../say.ts'
import { t } from '../texts/texts.ts'

const dayMs = 86_400_000
const periods: Record<string, number> = { '7d': 7, '30d': 30, '90d': 90 }
const usualPeriod = '30d'

export default function DomainReports({ params, query }: PageProps) {
  const name = params['domain'] ?? ''
  const [openedAt] = useState(Date.now)
  const asked = query.get('period') ?? usualPeriod
  const period = Object.hasOwn(periods, asked) ? asked : usualPeriod
  const since = new Date(openedAt - (periods[period] ?? 30) * dayMs).toISOString()
  const path = `/api/domains/${encodeURIComponent(name)}`
  const dmarc = useApi<DmarcSummary>(`${path}/dmarc?since=${since}`)
  const tls = useApi<TlsSummary>(`${path}/tls?since=${since}`)
  return (
    <Page
      title={name}
      heading={verdict(dmarc.data, name)}
      crumb={{ href: '/reports', text: t.nav.reports }}
      sub={dmarc.data && <span>{t.reports.summary(dmarc.data.reports, dmarc.data.reporters.length)}</span>}
      actions={
        <Segments
          name={t.overview.period}
          options={Object.keys(periods).map((each) => [each, t.analytics.periods[each] ?? each])}
          current={period}
          onChoice={(chosen) => setQuery({ period: chosen === usualPeriod ? null : chosen, after: null })}
        />
      }
    >
      <Answer of={dmarc}>
        {(summary) => (
          <>
            <Advice summary={summary} />
            <Sources summary={summary} />
          </>
        )}
      </Answer>
      <Answer of={tls}>{(summary) => <Encryption summary={summary} />}</Answer>
      <ReportList path={path} since={since} query={query} />
    </Page>
  )
}

function verdict(summary: DmarcSummary | undefined, name: string): string {
  if (!summary) return name
  return summary.messages === 0 ? t.reports.nobody(name) : t.reports.passes(percent(summary.pass_rate), name)
}

const tones: Record<string, 'ok' | 'wait' | 'bad'> = { keep: 'ok', tighten: 'ok', wait: 'wait', fix: 'bad', publish: 'bad', repair: 'bad' }

/** Whether the policy may become stricter, and the record that makes it so. */
function Advice({ summary: { advice, domain, policy, record } }: { summary: DmarcSummary }) {
  return (
    <Panel heading={t.reports.advice}>
      <div class="body stack">
        <Note tone={tones[advice.step] ?? 'wait'} says={t.reports.steps[advice.step] ?? advice.step}>
          {reasonsOf(advice).map((reason) => (
            <p key={reason}>{reason}</p>
          ))}
          {advice.fix.length > 0 && <p>{t.reports.fix(advice.fix)}</p>}
        </Note>
        <Facts>
          <Fact name={t.reports.policy}>{t.reports.policies[policy ?? 'missing'] ?? policy}</Fact>
          <Fact name={t.status.published}>{record !== null && <code>{record}</code>}</Fact>
        </Facts>
        {advice.record && <TextRecord record={advice.record} domain={domain} text={t.reports.publish} />}
      </div>
    </Panel>
  )
}

/** A record to publish, with the host as most providers want it. */
function TextRecord({ record, domain, text }: { record: NonNullable<TlsSummary['record']>; domain: string; text: string }) {
  const zone = useApi<Domain>(`/api/domains/${domain}`).data?.zone
  if (zone === undefined) return null
  return (
    <>
      <p>{text}</p>
      <Facts>
        <Fact name={t.domain.type}>
          <code>{record.type}</code>
        </Fact>
        <CopyFact name={t.domain.host} value={hostWithin(record.name, zone)} />
        <CopyFact name={t.domain.value} value={record.value} />
      </Facts>
    </>
  )
}

const Sources = ({ summary: { sources } }: { summary: DmarcSummary }) => (
  <Breakdown<DmarcSource>
    heading={t.reports.sources}
    file="ip_address"
    nameHead={t.common.address}
    keyOf={({ ip_address: address }) => address}
    nameOf={({ ip_address: address, header_from: from, dkim, spf }) => <code title={`${from}: ${dkim}; ${spf}`}>{address}</code>}
    detail={{ head: t.reports.origin, of: ({ origin }) => <State of={origin} word={t.reports.origins[origin] ?? origin} /> }}
    figures={[
      { metric: 'messages', head: t.reports.messages, value: (row) => row.messages },
      { metric: 'failed', head: t.reports.failed, value: (row) => row.failed },
      { metric: 'dkim_aligned', head: t.reports.dkim, value: (row) => row.dkim_aligned },
      { metric: 'spf_aligned', head: t.reports.spf, value: (row) => row.spf_aligned },
      { metric: 'stopped', head: t.reports.stopped, value: (row) => row.quarantined + row.rejected },
    ]}
    rows={sources}
    none={t.reports.noSources}
  />
)

/** Whether other servers reach ours with TLS, as they report. */
function Encryption({ summary: { sessions, success_rate: rate, results, record, domain } }: { summary: TlsSummary }) {
  if (sessions === 0) {
    return (
      <Panel heading={t.reports.tls}>
        <Empty text={t.reports.noTls} />
        {record && (
          <div class="body">
            <TextRecord record={record} domain={domain} text={t.reports.publishTls} />
          </div>
        )}
      </Panel>
    )
  }
  return (
    <Breakdown<TlsSummary['results'][number]>
      heading={t.reports.tlsRate(percent(rate), number(sessions))}
      file="result_type"
      nameHead={t.reports.outcome}
      keyOf={(row) => `${row.result_type} ${row.policy_type} ${row.receiving_mx ?? ''}`}
      nameOf={({ result_type: result }) => (
        <State of={result === 'success' ? 'ok' : 'failed'} word={t.reports.tlsResults[result] ?? result} />
      )}
      detail={{ head: t.reports.receiver, of: ({ receiving_mx: host, policy_type: policy }) => `${host ?? '—'}, ${policy}` }}
      figures={[{ metric: 'sessions', head: t.reports.sessions, value: (row) => row.sessions }]}
      rows={results}
      none={t.reports.noTls}
    />
  )
}
