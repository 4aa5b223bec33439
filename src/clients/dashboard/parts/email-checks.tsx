import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import type { EmailChecks as Checks } from '../api/types.ts'
import { inWords } from '../say.ts'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { Button } from './button.tsx'
import { State } from './state.tsx'

const order = ['warning', 'ok', 'skipped']

/** What readers and their mail programs will make of an email. Its links are fetched only when somebody asks for that. */
export function EmailChecks({ id, sandbox }: { id: string; sandbox: boolean }) {
  const [withLinks, setWithLinks] = useState(false)
  const checks = useApi<Checks>(`/api/emails/${id}/checks${withLinks ? '?links=true' : ''}`, { sandbox })
  return (
    <>
      <Answer of={checks} rows={7}>
        {({ findings }) => (
          <ul class="stack">
            {findings
              .toSorted((one, other) => order.indexOf(one.status) - order.indexOf(other.status))
              .map((finding, place) => (
                <CheckRow key={place} finding={finding} />
              ))}
          </ul>
        )}
      </Answer>
      {!withLinks && (
        <p>
          <Button look="small" text={t.mail.fetchLinks} onClick={() => setWithLinks(true)} />{' '}
          <span class="muted">{t.mail.fetchLinksText}</span>
        </p>
      )}
    </>
  )
}

function CheckRow({ finding }: { finding: Checks['findings'][number] }) {
  const { check, status } = finding
  const { what, advice } = inWords('content', finding)
  return (
    <li>
      <h3>
        {t.mail.checks[check] ?? check} <State of={status} />
      </h3>
      <p class="reason">{what}</p>
      {advice !== null && <p class="muted">{advice}</p>}
    </li>
  )
}
