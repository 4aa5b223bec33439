import type { ComponentChildren } from 'preact'
import { useApi } from '../api/cache.ts'
import type { Doctor, Domain, List, QueueDestination, Webhook } from '../api/types.ts'
import { ago, percent } from '../format.ts'
import { isOperator } from '../rights.ts'
import { Link } from '../router.tsx'
import { inWords } from '../say.ts'
import { t } from '../texts/texts.ts'
import { Note } from './page.tsx'

/** Above it, providers begin to refuse. */
const harmfulComplaintRate = 0.001
const mostNotes = 5

interface Concern {
  key: string
  tone: 'bad' | 'wait'
  what: string
  how: string
  link: { href: string; text: string } | null
}

/** What somebody should look at, the worst first. */
export function Attention({ complaintRate, complaints }: { complaintRate: number; complaints: number }) {
  const domains = useApi<List<Domain>>('/api/domains?limit=100')
  const webhooks = useApi<List<Webhook>>('/api/webhooks?limit=100')
  const queue = useApi<List<QueueDestination>>(isOperator() ? '/api/queue?order=waiting&limit=5' : null, { everyMs: 30_000 })
  // The last look will do: a new one takes up to half a minute.
  const doctor = useApi<Doctor>(isOperator() ? '/api/doctor?max_age=3600' : null)
  const concerns = [
    ...healthConcerns(doctor.data?.findings ?? []),
    ...(domains.data?.data ?? []).flatMap(domainConcern),
    ...(webhooks.data?.data ?? []).flatMap(webhookConcern),
    ...(complaints > 1 && complaintRate > harmfulComplaintRate ? [complaintConcern(complaintRate)] : []),
    ...(queue.data?.data ?? []).flatMap(queueConcern),
  ]
  const shown = concerns.toSorted((one, other) => Number(one.tone !== 'bad') - Number(other.tone !== 'bad')).slice(0, mostNotes)
  if (shown.length === 0) return null
  return (
    <section class="notes" aria-label={t.overview.attention}>
      {shown.map(({ key, tone, what, how, link }) => (
        <Note key={key} tone={tone} action={link && noteLink(link)}>
          <p>
            <b>{what}</b>
          </p>
          {how !== '' && <p>{how}</p>}
        </Note>
      ))}
    </section>
  )
}

const noteLink = ({ href, text }: { href: string; text: string }): ComponentChildren => (
  <Link class="btn small" href={href}>
    {text}
  </Link>
)

function healthConcerns(findings: Doctor['findings']): Concern[] {
  const link = { href: '/health', text: t.overview.openHealth }
  const failed = findings.filter(({ status }) => status === 'failed')
  const names = [...new Set(failed.map(({ check }) => t.health.checks[check] ?? check))]
  const disk = findings.find(({ check, status }) => check === 'disk' && status === 'warning')
  return [
    ...(failed[0]
      ? [{ key: 'health', tone: 'bad' as const, what: t.overview.healthFails(names), how: inWords('findings', failed[0]).what, link }]
      : []),
    ...(disk
      ? [{ key: 'disk', tone: 'wait' as const, what: inWords('findings', disk).what, how: inWords('findings', disk).advice ?? '', link }]
      : []),
  ]
}

function domainConcern({ name, status, records }: Domain): Concern[] {
  const link = { href: `/domains/${name}`, text: t.overview.seeRecord }
  const isLosing = records.some((record) => record.status === 'temporary_failure')
  if (status === 'verified' && isLosing)
    return [{ key: name, tone: 'bad', what: t.overview.domainLost(name), how: t.overview.domainLostHow, link }]
  if (status === 'verified') return []
  return [{ key: name, tone: 'wait', what: t.overview.domainMissing(name), how: t.overview.domainMissingHow, link }]
}

/** A receiver that is started anew fails for so long. */
const passingFailureMs = 600_000

function webhookConcern({ id, url, disabled_reason: reason, failing_since: since }: Webhook): Concern[] {
  const link = { href: `/webhooks/${id}`, text: t.overview.openWebhook }
  if (reason === 'failures') return [{ key: id, tone: 'bad', what: t.overview.webhookDisabled(url), how: '', link }]
  if (since === null || Date.now() - Date.parse(since) < passingFailureMs) return []
  return [{ key: id, tone: 'wait', what: t.overview.webhookFails(url), how: t.overview.webhookFailsSince(ago(since)), link }]
}

const complaintConcern = (rate: number): Concern => ({
  key: 'complaints',
  tone: 'bad',
  what: t.overview.complaintsHigh(percent(rate)),
  how: t.overview.complaintsHow,
  link: null,
})

function queueConcern({ destination, waiting, last_response: answer }: QueueDestination): Concern[] {
  // Mail that has not been tried yet waits for nobody.
  if (answer === null) return []
  const how = t.overview.itAnswers(answer)
  return [
    {
      key: destination,
      tone: 'wait',
      what: t.overview.queueWaits(destination, waiting),
      how,
      link: { href: `/queue/${destination}`, text: t.overview.openQueue },
    },
  ]
}
