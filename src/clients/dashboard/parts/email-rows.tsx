import type { EmailItem } from '../api/types.ts'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Rows, type Column } from './rows.tsx'
import { State } from './state.tsx'
import { Age } from './time.tsx'

/** Emails of a list, a row each; on a phone three lines each. */
export const EmailTable = ({ emails, id }: { emails: EmailItem[]; id: string }) => (
  <Rows look="fixed" id={id} rows={emails} columns={columns()} />
)

const columns = (): Column<EmailItem>[] => [
  { head: t.common.status, kind: 'state', place: 1, cell: ({ status }) => <State of={status} /> },
  {
    head: t.common.subject,
    kind: 'title',
    place: 3,
    cell: ({ id, subject, reason }) => (
      <>
        <Link class="row cut" href={`/emails/${id}`}>
          {subject === '' ? t.emails.noSubject : subject}
        </Link>
        {reason && <p class="reason cut">{reasonInWords(reason)}</p>}
      </>
    ),
  },
  { head: t.emails.to, kind: 'title', place: 4, cell: recipientsInWords },
  { head: t.emails.ago, kind: 'age', place: 2, cell: ({ created_at: at }) => <Age of={at} /> },
]

/** A suppressed recipient's response is no server's. */
function reasonInWords({ category, code, response }: NonNullable<EmailItem['reason']>): string {
  const cause = t.causes[code] ?? code
  return category === 'suppressed' || response === null || response === '' ? cause : `${cause}: ${response}`
}

/** `a@b.example and 2 more` */
function recipientsInWords({ to, cc, bcc }: EmailItem): string {
  const all = [...to, ...(cc ?? []), ...(bcc ?? [])]
  return t.emails.and(all[0] ?? '', Math.max(0, all.length - 1))
}
