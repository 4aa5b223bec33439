import { t } from '../texts/texts.ts'
import type { EmailItem } from '../api/types.ts'
import { Link } from '../router.tsx'
import { State } from './state.tsx'
import { Age } from './time.tsx'

/** Emails of a list, a row each; on a phone three lines each. */
export const EmailTable = ({ emails, id, query = '' }: { emails: EmailItem[]; id: string; query?: string }) => (
  <table class="flow fixed" id={id}>
    <thead>
      <tr>
        <th scope="col">{t.common.status}</th>
        <th scope="col">{t.emails.subject}</th>
        <th scope="col">{t.emails.to}</th>
        <th scope="col" class="num">
          {t.emails.ago}
        </th>
      </tr>
    </thead>
    <tbody>
      {emails.map((email) => (
        <tr key={email.id}>
          <td class="o1 grow">
            <State of={email.status} />
          </td>
          <td class="full o3">
            <Link class="row cut" href={`/emails/${email.id}${query}`}>
              {email.subject === '' ? t.emails.noSubject : email.subject}
            </Link>
            {email.reason && <p class="reason cut">{reasonInWords(email.reason)}</p>}
          </td>
          <td class="full o4">{recipientsInWords(email)}</td>
          <td class="num muted o2">
            <Age of={email.created_at} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

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
