import { useAll, useApi, type Resource } from '../api/cache.ts'
import { call, session } from '../api/client.ts'
import { useEmailChange } from '../api/live.ts'
import type { Attempt, Domain, Email, EmailItem, List, MailEvent } from '../api/types.ts'
import { hourMinute } from '../format.ts'
import { ActionButton } from '../parts/button.tsx'
import { EmailTimeline } from '../parts/email-timeline.tsx'
import { Live, Note } from '../parts/page.tsx'
import { WhatToDo } from '../parts/what-to-do.tsx'
import { Link } from '../router.tsx'
import { explained } from '../say.ts'
import { t } from '../texts/texts.ts'
import { Connect } from './connect.tsx'

interface EmailStepFrame {
  domain: Domain | undefined
  /** Of the key that was just made; null for a placeholder. */
  token: string | null
  /** The newest email alone. */
  latest: Resource<List<EmailItem>>
}

/** The first email: how to send it from a program or from here, and what becomes of it. */
export function EmailStep({ domain, token, latest }: EmailStepFrame) {
  useEmailChange(() => void latest.reload())
  const to = session.value?.user.email ?? ''
  const from = `hello@${domain?.name ?? 'example.com'}`
  const email = latest.data?.data[0]
  const send = async (): Promise<void> => {
    await call('/api/emails', { method: 'POST', body: { from, to, subject: t.welcome.subject, text: t.welcome.text } })
    await latest.reload()
  }
  return (
    <>
      {email?.status !== 'delivered' && (
        <>
          <p class="sum">
            {domain?.status === 'verified' ? (
              <>
                {t.welcome.sendIt} <ActionButton look="small" text={t.welcome.sendHere(to)} run={send} />
              </>
            ) : (
              t.welcome.notVerified
            )}{' '}
            <Live />
          </p>
          <Connect token={token} from={from} to={to} />
        </>
      )}
      {email && <Watched id={email.id} />}
    </>
  )
}

/** One email as it moves, with the reason where it waits or came back. */
function Watched({ id }: { id: string }) {
  const path = `/api/emails/${id}`
  const email = useApi<Email>(path)
  const attempts = useAll<Attempt>(`${path}/attempts`)
  const events = useAll<MailEvent>(`${path}/events`)
  useEmailChange(() => [email, attempts, events].forEach((resource) => void resource.reload()))
  if (!email.data || !events.data || !attempts.data) return null
  const recipient = email.data.recipients[0]
  const attempt = attempts.data.data[0]
  const isTroubled = attempt !== undefined && attempt.outcome !== 'delivered'
  return (
    <div class="watch" aria-live="polite">
      <p class="sum">
        <Link href={`/emails/${id}`}>{email.data.subject || t.emails.noSubject}</Link>
      </p>
      {isTroubled && (
        <Note tone={attempt.outcome === 'deferred' ? 'wait' : 'bad'} says={explained(attempt.explanation).cause}>
          <WhatToDo explanation={attempt.explanation}>
            {recipient?.next_attempt_at && t.email.nextTry(hourMinute(recipient.next_attempt_at))}
          </WhatToDo>
        </Note>
      )}
      <EmailTimeline email={email.data} attempts={attempts.data.data} events={events.data.data} />
    </div>
  )
}
