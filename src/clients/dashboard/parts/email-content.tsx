import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Email } from '../api/types.ts'
import { shortDate } from '../format.ts'
import { t } from '../texts/texts.ts'
import { Tabs } from './controls.tsx'
import { EmailAttachments, EmailHeaders, EmailSource } from './email-parts.tsx'
import { MailFrame } from './mail-frame.tsx'

interface OtherTab {
  word: string
  show(): ComponentChildren
}

interface ContentFrame {
  email: Email
  sandbox?: boolean
  /** The width at which HTML is shown first. */
  first: 'phone' | 'desktop'
  /** What else there is to see of it, by the names of the tabs: `middle` stands before the headers, `last` at the end. */
  middle?: Record<string, OtherTab>
  last?: Record<string, OtherTab>
}

/** When the content was removed by its age; null if it was not. */
export const removedAt = ({ html, text, content_expires_at: at }: Email): string | null =>
  html === null && text === null && at !== null && Date.parse(at) <= Date.now() ? at : null

/** What was sent, in tabs. */
export function EmailContent({ email, sandbox = false, first, middle = {}, last = {} }: ContentFrame) {
  const own: Record<string, OtherTab> = {
    html: {
      word: t.email.contentTabs['html'] ?? '',
      show: () =>
        email.html === null ? <p class="muted">{t.email.noHtml}</p> : <MailFrame email={email} sandbox={sandbox} first={first} />,
    },
    text: {
      word: t.email.contentTabs['text'] ?? '',
      show: () => (email.text === null ? <p class="muted">{t.email.noText}</p> : <pre class="code plain">{email.text}</pre>),
    },
    ...middle,
    headers: { word: t.email.contentTabs['headers'] ?? '', show: () => <EmailHeaders id={email.id} sandbox={sandbox} /> },
    source: { word: t.email.contentTabs['source'] ?? '', show: () => <EmailSource email={email} sandbox={sandbox} /> },
    attachments: { word: t.email.contentTabs['attachments'] ?? '', show: () => <EmailAttachments id={email.id} sandbox={sandbox} /> },
    ...last,
  }
  const [tab, setTab] = useState(email.html === null && email.text !== null ? 'text' : 'html')
  const removed = removedAt(email)
  const gone = removed !== null && !(tab in middle) && !(tab in last)
  return (
    <>
      <Tabs name={t.common.content} options={Object.entries(own).map(([name, { word }]) => [name, word])} current={tab} onChoice={setTab} />
      <div class="shown" role="tabpanel" aria-label={own[tab]?.word}>
        {gone ? <p class="muted">{t.email.removed(shortDate(removed))}</p> : own[tab]?.show()}
      </div>
    </>
  )
}
