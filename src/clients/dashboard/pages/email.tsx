import { useAll, useApi } from '../api/cache.ts'
import { liveState, useEmailChange } from '../api/live.ts'
import type { Attempt, Email, EmailDelivery, EmailRecipient, MailEvent } from '../api/types.ts'
import { duration, fullTime } from '../format.ts'
import { ObjectPage } from '../parts/answer.tsx'
import { EmailActions } from '../parts/email-actions.tsx'
import { EmailContent, removedAt } from '../parts/email-content.tsx'
import { EmailExplanations } from '../parts/email-explanations.tsx'
import { EmailFacts } from '../parts/email-facts.tsx'
import { DownloadEmail } from '../parts/email-parts.tsx'
import { EmailTimeline } from '../parts/email-timeline.tsx'
import { EmailWebhooks } from '../parts/email-webhooks.tsx'
import { Live, Page, Panel } from '../parts/page.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { ShownFirst } from '../parts/shown-first.tsx'
import { State } from '../parts/state.tsx'
import { Link, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

const maxShown = 100
/** Where an email fits at the width of a desktop. */
const wideEnough = '(min-width: 64.01rem)'

export default function EmailPage({ params }: PageProps) {
  const path = `/api/emails/${encodeURIComponent(params['id'] ?? '')}`
  const everyMs = liveState.value === 'polling' ? 15_000 : null
  const email = useApi<Email>(path, { everyMs })
  const attempts = useAll<Attempt>(`${path}/attempts`, { everyMs })
  const events = useAll<MailEvent>(`${path}/events`, { everyMs })
  // Webhooks are told after the email changed.
  const told = useAll<EmailDelivery>(`${path}/webhook-deliveries`, { everyMs: 5_000 })
  useEmailChange(() => [email, attempts, events].forEach((resource) => void resource.reload()), { id: params['id'] ?? '' })
  return (
    <ObjectPage of={email} title={t.nav.emails} crumb={crumb()} missing={t.email.notFound}>
      {(found) => (
        <Shown email={found} attempts={attempts.data?.data ?? []} events={events.data?.data ?? []} deliveries={told.data?.data ?? []} />
      )}
    </ObjectPage>
  )
}

const crumb = () => ({ href: '/emails', text: t.nav.emails })

interface ShownFrame {
  email: Email
  attempts: Attempt[]
  events: MailEvent[]
  /** To webhooks. */
  deliveries: EmailDelivery[]
}

function Shown({ email, attempts, events, deliveries }: ShownFrame) {
  const { recipients } = email
  const delivered = recipients.filter(({ status }) => status === 'delivered' || status === 'complained').length
  const word = recipients.length > 1 && delivered > 0 ? t.email.deliveredTo(delivered, recipients.length) : undefined
  return (
    <Page
      heading={email.subject === '' ? t.emails.noSubject : email.subject}
      crumb={crumb()}
      sub={
        <>
          <State of={email.status} {...(word === undefined ? {} : { word })} />
          <time dateTime={email.created_at} title={email.created_at}>
            {fullTime(email.created_at)}
          </time>
          <Live />
        </>
      }
      actions={<EmailActions email={email} />}
    >
      <EmailExplanations id={email.id} recipients={recipients} />
      <div class="cols wide">
        <div class="stack">
          <Recipients recipients={recipients} accepted={email.created_at} />
          <Panel heading={t.common.content} aside={removedAt(email) === null && <DownloadEmail id={email.id} />}>
            <EmailContent email={email} first={matchMedia(wideEnough).matches ? 'desktop' : 'phone'} />
          </Panel>
          <EmailTimeline email={email} attempts={attempts} events={events} />
          <EmailWebhooks deliveries={deliveries} />
        </div>
        <EmailFacts email={email} />
      </div>
    </Page>
  )
}

function Recipients({ recipients, accepted }: { recipients: EmailRecipient[]; accepted: string }) {
  const troubledFirst = recipients.toSorted((one, other) => Number(one.status === 'delivered') - Number(other.status === 'delivered'))
  return (
    <Panel heading={t.common.recipients}>
      <ShownFirst rows={troubledFirst} most={maxShown}>
        {(shown) => <Rows id="rcpts" rows={shown} columns={columnsSince(accepted)} keyOf={({ email }) => email} />}
      </ShownFirst>
    </Panel>
  )
}

const columnsSince = (accepted: string): Column<EmailRecipient>[] => [
  { head: t.common.status, kind: 'state', place: 1, cell: ({ status }) => <State of={status} /> },
  {
    head: t.email.recipient,
    kind: 'title',
    place: 3,
    cell: ({ email, type, last_response: response }) => (
      <>
        <p>
          <Link href={`/emails?to=${encodeURIComponent(email)}`}>{email}</Link> <span class="muted">{type}</span>
        </p>
        {response !== null && <code class="muted">{response}</code>}
      </>
    ),
  },
  { head: t.email.after, kind: 'age', place: 2, cell: (recipient) => afterWhat(recipient, accepted) },
]

const afterWhat = ({ delivered_at: deliveredAt, attempts }: EmailRecipient, accepted: string): string =>
  deliveredAt === null ? t.email.attempts(attempts) : duration(Math.max(0, Date.parse(deliveredAt) - Date.parse(accepted)))
