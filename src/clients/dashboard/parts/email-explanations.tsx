import type { EmailRecipient } from '../api/types.ts'
import { dayOf } from '../days.ts'
import { hourMinute, shortDate } from '../format.ts'
import { mayChange } from '../rights.ts'
import { Link } from '../router.tsx'
import { explained } from '../say.ts'
import { t } from '../texts/texts.ts'
import { Note } from './page.tsx'
import { WhatToDo } from './what-to-do.tsx'

/** Why somebody did not get it, or has to wait: one note for each cause. */
export function EmailExplanations({ id, recipients }: { id: string; recipients: EmailRecipient[] }) {
  const notes = Map.groupBy(
    recipients.filter(({ explanation }) => explanation !== null),
    ({ status, explanation, suppression }) => `${status} ${explanation?.code} ${suppression?.origin ?? ''}`,
  )
  if (notes.size === 0) return null
  return (
    <div class="notes">
      {Array.from(
        notes,
        ([key, [recipient, ...others]]) => recipient && <Explained key={key} id={id} recipient={recipient} others={others.length} />,
      )}
    </div>
  )
}

function Explained({ id, recipient, others }: { id: string; recipient: EmailRecipient; others: number }) {
  const { email, status, explanation, suppression, next_attempt_at: next } = recipient
  if (!explanation) return null
  const who = t.emails.and(email, others)
  const waits = status === 'deferred'
  const { cause } = explained(explanation)
  return (
    <Note tone={waits ? 'wait' : 'bad'}>
      <p>
        <b>
          {waits ? t.email.waitsFor(who) : t.email.didNotGet(who)}: {cause}
        </b>
      </p>
      {suppression && <Suppressed id={id} of={suppression} />}
      <WhatToDo explanation={explanation}>{waits && next !== null && t.email.nextTry(hourMinute(next))}</WhatToDo>
    </Note>
  )
}

/** What put an address on the suppression list, and when. */
function Suppressed({
  id,
  of: { email, origin, source_id: source, reason, created_at: at, expires_at: ends },
}: {
  id: string
  of: NonNullable<EmailRecipient['suppression']>
}) {
  const isByThis = source === id
  return (
    <p>
      {isByThis ? t.email.suppressedByThis : t.email.suppressedBy[origin]?.(shortDate(at))}{' '}
      {reason !== null && !isByThis && <q>{reason}</q>} {ends !== null && t.email.suppressedUntil(shortDate(ends))}{' '}
      {source !== null && !isByThis && (
        <>
          <Link href={`/emails/${source}`}>{t.email.causedBy}</Link>{' '}
        </>
      )}
      <Link href={`/suppressions?email=${encodeURIComponent(email)}`}>{t.email.openEntry}</Link>{' '}
      {origin === 'manual' && mayChange() && <Link href={`/people?${auditOf(at)}`}>{t.email.whoAdded}</Link>}
    </p>
  )
}

/** The changes of that day. */
function auditOf(time: string): string {
  const day = dayOf(new Date(time))
  return new URLSearchParams({ view: 'audit', since: day, until: day }).toString()
}
