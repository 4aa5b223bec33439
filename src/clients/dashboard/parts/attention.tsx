import { useState } from 'preact/hooks'
import { useApi, useRows } from '../api/cache.ts'
import type { Doctor, Domain, List, QueueDestination, Webhook } from '../api/types.ts'
import { ago, percent } from '../format.ts'
import { isOperator } from '../rights.ts'
import { inWords, useLater } from '../say.ts'
import { t } from '../texts/texts.ts'
import { bounceConcern, type MailFacts } from '../verdict.ts'
import { Button, ButtonLink } from './button.tsx'
import { Note } from './page.tsx'

/** Above it, providers begin to refuse. */
const harmfulComplaintRate = 0.001
const maxNotes = 5

interface Concern {
  key: string
  tone: 'bad' | 'wait'
  what: string
  how: string
  link: { href: string; text: string } | null
}

/** What the server says of itself, as far as the user may know it. */
export function useServerState() {
  const queue = useApi<List<QueueDestination>>(isOperator() ? '/api/queue?order=waiting&limit=100' : null, { everyMs: 30_000 }).data
  // The last look will do: a new one takes up to half a minute.
  const doctor = useApi<Doctor>(isOperator() ? '/api/doctor?max_age=3600' : null).data
  return {
    domains: useRows<Domain>('/api/domains'),
    webhooks: useRows<Webhook>('/api/webhooks'),
    // Mail that has not been tried yet waits for nobody.
    queue: (queue?.data ?? []).filter(({ last_response: answer }) => answer !== null),
    findings: doctor?.findings ?? [],
  }
}

export type ServerState = ReturnType<typeof useServerState>

interface AttentionFrame {
  state: ServerState
  facts: MailFacts | null
  complaints: { rate: number; count: number }
}

/** What somebody should look at, the worst first. */
export function Attention({ state: { domains, webhooks, queue, findings }, facts, complaints }: AttentionFrame) {
  const [isWhole, setWhole] = useState(false)
  const bad = findings.filter(isConcern)
  const canSay = useLater(bad.length > 0)
  const concerns = [
    ...(canSay ? healthConcerns(bad) : []),
    ...domains.flatMap(domainConcern),
    ...webhooks.flatMap(webhookConcern),
    ...(facts ? bounceConcerns(facts) : []),
    ...(complaints.count > 1 && complaints.rate > harmfulComplaintRate ? [complaintConcern(complaints.rate)] : []),
    ...queue.map(queueConcern),
  ].toSorted((one, other) => Number(one.tone !== 'bad') - Number(other.tone !== 'bad'))
  const left = isWhole ? 0 : Math.max(0, concerns.length - maxNotes)
  if (concerns.length === 0) return null
  return (
    <section class="notes" aria-label={t.overview.attention}>
      {concerns.slice(0, concerns.length - left).map(({ key, tone, what, how, link }) => (
        <Note key={key} tone={tone} says={what} action={link && <ButtonLink look="small" {...link} />}>
          {how !== '' && <p>{how}</p>}
        </Note>
      ))}
      {left > 0 && (
        <p>
          <Button look="small" text={t.overview.moreNotes(left)} onClick={() => setWhole(true)} />
        </p>
      )}
    </section>
  )
}

const isConcern = ({ check, status }: Doctor['findings'][number]): boolean =>
  status === 'failed' || ((check === 'node' || check === 'disk') && status === 'warning')

function healthConcerns(findings: Doctor['findings']): Concern[] {
  const link = { href: '/health', text: t.overview.openHealth }
  const failed = findings.filter(({ status }) => status === 'failed')
  const names = [...new Set(failed.map(({ check }) => t.health.checks[check] ?? check))]
  const warned = findings.filter(({ status }) => status === 'warning')
  return [
    ...(failed[0]
      ? [{ key: 'health', tone: 'bad' as const, what: t.overview.healthFails(names), how: inWords('findings', failed[0]).what, link }]
      : []),
    ...warned.map((finding) => {
      const { what, advice } = inWords('findings', finding)
      return { key: what, tone: 'wait' as const, what, how: advice ?? '', link }
    }),
  ]
}

export const isLosing = ({ status, records }: Domain): boolean =>
  status === 'verified' && records.some((record) => record.status === 'temporary_failure')

function domainConcern(domain: Domain): Concern[] {
  const { name, status } = domain
  const link = { href: `/domains/${name}`, text: t.overview.seeRecord }
  if (isLosing(domain)) return [{ key: name, tone: 'bad', what: t.overview.domainLosing(name), how: t.overview.domainLostHow, link }]
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

function bounceConcerns(facts: MailFacts): Concern[] {
  const concern = bounceConcern(facts)
  if (!concern) return []
  const { tone, share, before } = concern
  const how = `${before === null ? '' : `${t.overview.bouncedBefore(percent(before))} `}${t.overview.bouncesHow}`
  return [
    { key: 'bounces', tone, what: t.overview.bouncesHigh(percent(share)), how, link: { href: '/analytics', text: t.overview.seeCauses } },
  ]
}

const complaintConcern = (rate: number): Concern => ({
  key: 'complaints',
  tone: 'bad',
  what: t.overview.complaintsHigh(percent(rate)),
  how: t.overview.complaintsHow,
  link: null,
})

const queueConcern = ({ destination, waiting, last_response: answer }: QueueDestination): Concern => ({
  key: destination,
  tone: 'wait',
  what: t.overview.queueWaits(destination, waiting),
  how: t.overview.itAnswers(answer ?? ''),
  link: { href: `/queue/${destination}`, text: t.overview.openQueue },
})
