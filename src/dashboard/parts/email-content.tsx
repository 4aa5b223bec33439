import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { callForResponse } from '../api/client.ts'
import type { Attachment, Email, List } from '../api/types.ts'
import { download } from '../download.ts'
import { bytes } from '../format.ts'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { ActionButton, Tabs } from './controls.tsx'
import { Panel } from './page.tsx'

type Tab = 'text' | 'html' | 'attachments'

/** What was sent. The HTML is shown as its source: nothing of a stranger is ever rendered in the page itself. */
export function EmailContent({ email }: { email: Email }) {
  const [tab, setTab] = useState<Tab>(email.html === null ? 'text' : 'html')
  const isGone = email.html === null && email.text === null
  const tabs: Tab[] = ['html', 'text', 'attachments']
  return (
    <Panel heading={t.email.content}>
      <Tabs
        name={t.email.content}
        tabs={tabs.map((each) => [each, t.email.contentTabs[each] ?? each])}
        current={tab}
        onTab={(chosen) => setTab(chosen as Tab)}
      />
      <div class="shown">
        {tab === 'html' && <Source text={email.html} missing={isGone ? t.email.gone : t.email.noHtml} />}
        {tab === 'text' && <Source text={email.text} missing={isGone ? t.email.gone : t.email.noText} />}
        {tab === 'attachments' && <Attachments emailId={email.id} />}
      </div>
    </Panel>
  )
}

const Source = ({ text, missing }: { text: string | null; missing: string }) =>
  text === null ? <p class="muted">{missing}</p> : <pre class="code plain">{text}</pre>

function Attachments({ emailId }: { emailId: string }) {
  const path = `/api/emails/${emailId}/attachments`
  const list = useApi<List<Attachment>>(path)
  const save = async ({ id, filename }: Attachment): Promise<void> => {
    const response = await callForResponse(`${path}/${id}/content`)
    download(filename ?? id, 'application/octet-stream', await response.blob())
  }
  return (
    <Answer of={list} rows={2}>
      {({ data }) =>
        data.length === 0 ? (
          <p class="muted">{t.email.noAttachments}</p>
        ) : (
          <ul class="stack">
            {data.map((attachment) => (
              <li key={attachment.id} class="labelled">
                <b>{attachment.filename ?? attachment.id}</b>
                <span class="muted">
                  {attachment.content_type}, {bytes(attachment.size)}
                </span>
                <ActionButton small text={t.common.download} icon="dl" run={() => save(attachment)} />
              </li>
            ))}
          </ul>
        )
      }
    </Answer>
  )
}
