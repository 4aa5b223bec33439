import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { EmailItem } from '../api/types.ts'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Age } from './time.tsx'

interface ListFrame {
  emails: EmailItem[]
  /** The id of the one that is read. */
  current: string
  isNew(id: string): boolean
  /** The way on through the list. */
  children: ComponentChildren
}

/** The emails that the sandbox captured, newest first. */
export function CapturedList({ emails, current, isNew, children }: ListFrame) {
  const [search, setSearch] = useState('')
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const found = emails.filter((email) => words.every((word) => searchedIn(email).includes(word)))
  return (
    <section class="list" aria-label={t.sandbox.list}>
      <div class="bar-top">
        <input
          class="field"
          type="search"
          aria-label={t.sandbox.search(emails.length)}
          placeholder={t.sandbox.search(emails.length)}
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      </div>
      {found.length === 0 && <p class="empty">{t.emails.noMatch}</p>}
      <ul class="mails">
        {found.map((email) => (
          <li key={email.id}>
            <Link
              class="row"
              href={`/sandbox/${email.id}`}
              aria-current={email.id === current ? 'true' : undefined}
              data-new={isNew(email.id) ? '' : undefined}
            >
              <b class="cut">
                {isNew(email.id) && <span class="hidden">{t.sandbox.isNew} </span>}
                {email.subject === '' ? t.emails.noSubject : email.subject}
              </b>
              <span class="nowrap">
                <Age of={email.created_at} />
              </span>
              <span class="cut">{recipientsOf(email).join(', ')}</span>
              <span />
              <span class="cut">{t.sandbox.from(email.from)}</span>
            </Link>
          </li>
        ))}
      </ul>
      {children}
    </section>
  )
}

const recipientsOf = ({ to, cc, bcc }: EmailItem): string[] => [...to, ...(cc ?? []), ...(bcc ?? [])]

const searchedIn = (email: EmailItem): string => [email.subject, email.from, ...recipientsOf(email), email.id].join('\n').toLowerCase()
