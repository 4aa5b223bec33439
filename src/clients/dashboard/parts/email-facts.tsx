import { useAll } from '../api/cache.ts'
import type { Domain, Email } from '../api/types.ts'
import { bytes, dayAndTime, fullTime, shortDate } from '../format.ts'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { CopyFact } from './controls.tsx'
import { Panel, Facts, Fact } from './page.tsx'

/** What an email is, beside what became of it. */
export function EmailFacts({ email }: { email: Email }) {
  const domains = useAll<Domain>(email.domain_id === null ? null : '/api/domains')
  const domain = domains.data?.data.find(({ id }) => id === email.domain_id)?.name
  const isScheduled = email.status === 'scheduled'
  return (
    <Panel heading={t.email.facts}>
      <div class="body">
        <Facts>
          <CopyFact name={t.email.id} value={email.id} oneLine />
          <Fact name={t.common.from}>{email.from}</Fact>
          <Fact name={t.email.replyTo}>{email.reply_to?.join(', ')}</Fact>
          <Fact name={t.email.messageId}>
            <span class="mono">{email.message_id}</span>
          </Fact>
          <Fact name={t.common.domain}>{domain && <Link href={`/domains/${domain}`}>{domain}</Link>}</Fact>
          <Fact name={t.email.template}>{email.template_id && <code>{email.template_id}</code>}</Fact>
          <Fact name={t.email.tags}>{email.tags.length > 0 && <Tags tags={email.tags} />}</Fact>
          <Fact name={t.email.metadata}>{Object.keys(email.metadata).length > 0 && <Metadata of={email.metadata} />}</Fact>
          <Fact name={t.email.size}>{bytes(email.size)}</Fact>
          <Fact name={t.email.scheduledFor}>{isScheduled && email.scheduled_at && fullTime(email.scheduled_at)}</Fact>
          <Fact name={t.common.nextAttempt}>{!isScheduled && email.next_attempt_at && dayAndTime(email.next_attempt_at)}</Fact>
          <Fact name={t.email.keptUntil}>{email.content_expires_at && shortDate(email.content_expires_at)}</Fact>
          <Fact name={t.email.source}>{t.email.sources[email.source] ?? email.source}</Fact>
          <Fact name={t.email.requireTls}>{email.require_tls !== null && t.email.requireTlsOf(email.require_tls)}</Fact>
          <Fact name={t.email.tracking}>{t.email.trackingOf(email.tracking.opens, email.tracking.clicks)}</Fact>
        </Facts>
      </div>
    </Panel>
  )
}

const Tags = ({ tags }: { tags: Email['tags'] }) =>
  tags.map(({ name, value }) => (
    <Link key={name} class="tag" href={`/emails?tag=${encodeURIComponent(`${name}=${value}`)}`}>
      {name}={value}
    </Link>
  ))

const Metadata = ({ of: metadata }: { of: Email['metadata'] }) =>
  Object.entries(metadata).map(([name, value]) => (
    <span key={name} class="tag">
      {name}={value}
    </span>
  ))
