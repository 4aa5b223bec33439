import { useEffect, useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { useEmailChange } from '../api/live.ts'
import type { EmailItem, Latency, List, Metrics } from '../api/types.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { percent } from '../format.ts'
import { Attention, isLosing, useServerState, type ServerState } from '../parts/attention.tsx'
import { ButtonLink } from '../parts/button.tsx'
import { rangeOf, type Steps } from '../parts/chart-period.ts'
import { Segments } from '../parts/controls.tsx'
import { EmailTable } from '../parts/email-rows.tsx'
import { ByProvider, Causes } from '../parts/mail-breakdowns.tsx'
import { KeyFigures } from '../parts/key-figures.tsx'
import { Live, Page, Panel } from '../parts/page.tsx'
import { VolumeChart } from '../parts/volume-chart.tsx'
import { isOperator, mayChange } from '../rights.ts'
import { Link, navigate, setQuery, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { verdictOf, type MailFacts, type Verdict } from '../verdict.ts'
import { hasLeftWelcome } from '../welcome/left.ts'

const shownPeriods = ['24h', '7d', '30d']

/** How often the figures are fetched again; the latest emails are live. */
const figuresMs = 30_000
const counts = 'sent,delivered,bounced,bounced_permanent,bounced_transient,complained,failed,delivery_rate,bounce_rate,complaint_rate'

export default function Overview({ query }: PageProps) {
  const asked = query.get('period') ?? ''
  const period = shownPeriods.includes(asked) ? asked : '24h'
  const [openedAt] = useState(Date.now)
  const range = rangeOf(period, openedAt)
  const steps: Steps = { granularity: period === '24h' ? 'hourly' : 'daily', isLong: false }
  const volume = useApi<Metrics>(
    `/api/analytics?${range}&granularity=${steps.granularity}&dimensions=period&metrics=${counts}&compare=previous`,
    { everyMs: figuresMs },
  )
  const latency = useApi<Latency>(`/api/analytics/latency?${range}&compare=previous`, { everyMs: figuresMs })
  const latest = useApi<List<EmailItem>>('/api/emails?limit=7', { everyMs: 60_000 })
  useEmailChange(() => void latest.reload())
  const isNew = latest.data?.data.length === 0 && mayChange() && !hasLeftWelcome()
  useEffect(() => {
    if (isNew) navigate('/welcome', { replace: true })
  }, [isNew])
  const state = useServerState()
  const totals = volume.data?.totals
  const facts = volume.data && latest.data ? factsOf(volume.data, latest.data.data, state) : null
  return (
    <Page
      title={t.nav.overview}
      heading={facts ? headingOf(verdictOf(facts)) : t.nav.overview}
      sub={
        <>
          <Live />
          {totals && <span>{t.overview.summary(totals.sent ?? 0, t.overview.periods[period] ?? period)}</span>}
        </>
      }
      actions={
        <Segments
          name={t.overview.period}
          options={shownPeriods.map((each) => [each, t.overview.periods[each] ?? each])}
          current={period}
          onChoice={(chosen) => setQuery({ period: chosen === '24h' ? null : chosen })}
        />
      }
    >
      <Attention state={state} facts={facts} complaints={{ rate: totals?.complaint_rate ?? 0, count: totals?.complained ?? 0 }} />
      <section class="panel" aria-label={t.overview.figures}>
        <Answer of={volume} rows={2}>
          {(metrics) => <KeyFigures metrics={metrics} latency={latency.data} beforeName={t.overview.before[period] ?? ''} />}
        </Answer>
      </section>
      {volume.data?.data && <VolumeChart rows={volume.data.data} steps={steps} />}
      <div class="cols">
        <ByProvider range={range} latency={latency.data} plain />
        <Causes range={range} plain />
      </div>
      <Panel heading={t.overview.latest} aside={<Link href="/emails">{t.overview.allEmails}</Link>}>
        <Answer of={latest} rows={7}>
          {({ data }) => (data.length === 0 ? <NoEmail /> : <EmailTable emails={data} id="latest" />)}
        </Answer>
      </Panel>
    </Page>
  )
}

const NoEmail = () => <Empty text={t.emails.none}>{mayChange() && <ButtonLink text={t.welcome.goOn} href="/welcome" />}</Empty>

type Totals = Metrics['totals']

const countsOf = ({ delivered = 0, bounced = 0, failed = 0 }: Totals) => ({ delivered, bounced, failed })

function factsOf({ totals, previous }: Metrics, latest: EmailItem[], { domains, queue, findings }: ServerState): MailFacts {
  const waitingFor = isOperator() ? queue.map(({ destination }) => destination) : latest.flatMap(domainsThatWait)
  return {
    sent: totals.sent ?? 0,
    ...countsOf(totals),
    before: previous ? countsOf(previous.totals) : null,
    hasSent: latest.length > 0,
    waitingFor: [...new Set(waitingFor)],
    failedChecks: findings.filter(({ status }) => status === 'failed').map(({ check }) => check),
    lostDomains: domains.filter(isLosing).map(({ name }) => name),
  }
}

/** The domains of an email that was deferred. */
const domainsThatWait = ({ recipient_states: states, to }: EmailItem): string[] =>
  states.deferred ? to.map((mailbox) => mailbox.replace(/^.*@|>$/g, '')) : []

function headingOf(verdict: Verdict): string {
  switch (verdict.name) {
    case 'manyBounce':
      return t.verdicts.manyBounce(percent(verdict.share))
    case 'oneWaits':
    case 'domainLost':
      return t.verdicts[verdict.name](verdict.about)
    default:
      return t.verdicts[verdict.name]
  }
}
