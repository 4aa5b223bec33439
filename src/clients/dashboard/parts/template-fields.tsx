import { useState } from 'preact/hooks'
import type { ApiError } from '../api/client.ts'
import type { TemplateContent } from '../template-draft.ts'
import { t } from '../texts/texts.ts'
import { CodeEditor } from './code-editor.tsx'
import { Tabs } from './controls.tsx'
import { Field, Switch } from './fields.tsx'
import { Panel } from './page.tsx'
import { isAbout } from './refused.tsx'

type Tab = 'html' | 'text' | 'details'

interface TemplateForm {
  content: TemplateContent
  /** Why it was not saved. */
  error: ApiError | null
  /** Null for those who only read it. */
  onChange: ((changes: Partial<TemplateContent>) => void) | null
}

const fieldsOf: Record<Tab, string[]> = { html: ['html'], text: ['text'], details: ['name', 'alias', 'from', 'reply_to', 'layout'] }

/** The tab with a field that an error is about. */
const tabOf = (error: ApiError): Tab | undefined =>
  (Object.keys(fieldsOf) as Tab[]).find((tab) => fieldsOf[tab].some((name) => isAbout(error, name, 'alias')))

/** What a template is made of. */
export function TemplateFields({ content, error, onChange }: TemplateForm) {
  const [chosen, setChosen] = useState<{ tab: Tab; error: ApiError | null }>({ tab: 'html', error: null })
  // What was refused since then is shown first.
  const tab = (error !== chosen.error && error && tabOf(error)) || chosen.tab
  const set = (changes: Partial<TemplateContent>): void => onChange?.(changes)
  const readOnly = onChange === null
  return (
    <Panel heading={t.common.content}>
      <div class="body">
        <Field
          name="subject"
          label={t.common.subject}
          value={content.subject}
          onValue={(subject) => set({ subject })}
          maxLength={998}
          readOnly={readOnly}
        />
      </div>
      <Tabs
        name={t.common.content}
        options={Object.entries(t.template.tabs)}
        current={tab}
        onChoice={(next) => setChosen({ tab: next as Tab, error })}
      />
      <div class="shown">
        {tab === 'html' && (
          <CodeEditor name="html" label={t.template.html} value={content.html} onValue={(html) => set({ html })} readOnly={readOnly} />
        )}
        {tab === 'text' && (
          <>
            <Switch
              name={null}
              label={t.template.textFromHtml}
              value={content.text === null}
              onValue={(isMade) => set({ text: isMade ? null : '' })}
              disabled={readOnly}
            />
            {content.text !== null && (
              <CodeEditor name="text" label={t.template.text} value={content.text} onValue={(text) => set({ text })} readOnly={readOnly} />
            )}
          </>
        )}
        {tab === 'details' && <Details content={content} set={set} readOnly={readOnly} />}
      </div>
    </Panel>
  )
}

interface DetailFields {
  content: TemplateContent
  set(changes: Partial<TemplateContent>): void
  readOnly: boolean
}

const Details = ({ content, set, readOnly }: DetailFields) => (
  <>
    {(['name', 'alias', 'from', 'replyTo', 'layout'] as const).map((part) => (
      <Field
        key={part}
        name={part === 'replyTo' ? 'reply_to' : part}
        label={t.template.details[part]}
        hint={t.template.hints[part]}
        value={content[part]}
        onValue={(value) => set({ [part]: value })}
        spellcheck={false}
        readOnly={readOnly}
      />
    ))}
  </>
)
