import { useApi } from '../api/cache.ts'
import type { Domain, Email, List } from '../api/types.ts'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { CopyValue } from './controls.tsx'
import { Panel } from './page.tsx'

/** What an email is, beside what became of it. */
export function EmailFacts({ email }: { email: Email }) {
  const domains = useApi<List<Domain>>(email.domain_id === null ? null : '/api/domains?limit=100')
  const domain = domains.data?.data.find(({ id }) => id === email.domain_id)?.name
  const metadata = Object.entries(email.metadata)
  return (
    <Panel heading={t.email.facts}>
      <div class="body">
        <dl class="facts">
          <dt>{t.email.id}</dt>
          <dd>
            <CopyValue value={email.id} name={t.email.id} oneLine />
          </dd>
          <dt>{t.emails.from}</dt>
          <dd>{email.from}</dd>
          {email.reply_to !== null && (
            <>
              <dt>{t.email.replyTo}</dt>
              <dd>{email.reply_to.join(', ')}</dd>
            </>
          )}
          <dt>{t.email.messageId}</dt>
          <dd class="mono">{email.message_id}</dd>
          {domain !== undefined && (
            <>
              <dt>{t.emails.domain}</dt>
              <dd>
                <Link href={`/domains/${domain}`}>{domain}</Link>
              </dd>
            </>
          )}
          {email.template_id !== null && (
            <>
              <dt>{t.email.template}</dt>
              <dd class="mono">{email.template_id}</dd>
            </>
          )}
          {email.tags.length > 0 && (
            <>
              <dt>{t.email.tags}</dt>
              <dd>
                {email.tags.map(({ name, value }) => (
                  <Link key={name} class="tag" href={`/emails?tag=${encodeURIComponent(`${name}=${value}`)}`}>
                    {name}={value}
                  </Link>
                ))}
              </dd>
            </>
          )}
          {metadata.length > 0 && (
            <>
              <dt>{t.email.metadata}</dt>
              <dd>
                {metadata.map(([name, value]) => (
                  <span key={name} class="tag">
                    {name}={value}
                  </span>
                ))}
              </dd>
            </>
          )}
          <dt>{t.email.source}</dt>
          <dd>{t.email.sources[email.source] ?? email.source}</dd>
          <dt>{t.email.tracking}</dt>
          <dd>{t.email.trackingOf(email.tracking.opens, email.tracking.clicks)}</dd>
        </dl>
      </div>
    </Panel>
  )
}
