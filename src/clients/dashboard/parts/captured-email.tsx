import { useEffect, useRef } from 'preact/hooks'
import { invalidate, useAll, useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import { useEmailChange } from '../api/live.ts'
import type { Attempt, Email, MailEvent } from '../api/types.ts'
import { fullTime } from '../format.ts'
import { mayChange } from '../rights.ts'
import { Link, navigate } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { ActionButton } from './button.tsx'
import { EmailChecks } from './email-checks.tsx'
import { EmailContent } from './email-content.tsx'
import { DownloadEmail } from './email-parts.tsx'
import { EmailTimeline } from './email-timeline.tsx'

const narrow = '(max-width: 48rem)'

/** One email of the sandbox: what its reader would see, and what became of it. */
export function CapturedEmail({ id }: { id: string }) {
  const path = `/api/emails/${encodeURIComponent(id)}`
  const email = useApi<Email>(path, { sandbox: true })
  useEmailChange(() => void email.reload(), { id, sandbox: true })
  return (
    <article class="view">
      {email.error?.status === 404 && email.data === undefined ? (
        <header>
          <BackToList />
          <h2>{t.email.notFound}</h2>
        </header>
      ) : (
        <Answer of={email} rows={8}>
          {(data) => <Shown email={data} />}
        </Answer>
      )}
    </article>
  )
}

/** On a phone, where the list is another page. */
const BackToList = () => (
  <p class="crumb only-narrow">
    <Link href="/sandbox">{t.nav.sandbox}</Link>
  </p>
)

function Shown({ email }: { email: Email }) {
  const head = useRef<HTMLHeadingElement>(null)
  const isNarrow = matchMedia(narrow).matches
  useEffect(() => {
    // On a phone the list gives way to it; elsewhere the focus stays in the list.
    if (isNarrow) head.current?.focus({ preventScroll: true })
  }, [])
  const recipients = email.recipients.map((recipient) => recipient.email)
  const remove = async (): Promise<void> => {
    await call(`/api/emails/${email.id}`, { method: 'DELETE', sandbox: true })
    invalidate('/api/emails')
    navigate('/sandbox')
  }
  return (
    <>
      <header>
        <BackToList />
        <div class="head">
          <div>
            <h2 ref={head} tabIndex={-1}>
              {email.subject === '' ? t.emails.noSubject : email.subject}
            </h2>
          </div>
          <div class="acts">
            <DownloadEmail id={email.id} sandbox />
            {mayChange() && <ActionButton look="small" text={t.common.remove} icon="trash" run={remove} />}
          </div>
        </div>
        <p class="sub muted">
          {t.sandbox.whoWhen(email.from, t.emails.and(recipients[0] ?? '', recipients.length - 1), fullTime(email.created_at))}
        </p>
      </header>
      <EmailContent
        email={email}
        sandbox
        first={isNarrow ? 'phone' : 'desktop'}
        middle={{ checks: { word: t.mail.checksTab, show: () => <EmailChecks id={email.id} sandbox /> } }}
        last={{ events: { word: t.common.events, show: () => <Events email={email} /> } }}
      />
    </>
  )
}

function Events({ email }: { email: Email }) {
  const path = `/api/emails/${email.id}`
  const events = useAll<MailEvent>(`${path}/events`, { sandbox: true })
  const attempts = useAll<Attempt>(`${path}/attempts`, { sandbox: true })
  return <Answer of={events}>{({ data }) => <EmailTimeline email={email} attempts={attempts.data?.data ?? []} events={data} />}</Answer>
}
