import { useState } from 'preact/hooks'
import type { TemplateContent } from '../template-draft.ts'
import { t } from '../texts/texts.ts'
import { CodeEditor } from './code-editor.tsx'
import { Tabs } from './controls.tsx'
import { Field, Switch } from './fields.tsx'
import { Panel } from './page.tsx'

type Tab = 'html' | 'text' | 'details'

/** What a template is made of; `onChange` is null for those who only read it. */
export function TemplateFields({
  content,
  onChange,
}: {
  content: TemplateContent
  onChange: ((changes: Partial<TemplateContent>) => void) | null
}) {
  const [tab, setTab] = useState<Tab>('html')
  const set = (changes: Partial<TemplateContent>): void => onChange?.(changes)
  const readOnly = onChange === null
  return (
    <Panel heading={t.template.content}>
      <div class="body">
        <Field
          label={t.template.subject}
          value={content.subject}
          onValue={(subject) => set({ subject })}
          autocomplete="off"
          maxLength={998}
          readOnly={readOnly}
        />
      </div>
      <Tabs name={t.template.content} tabs={Object.entries(t.template.tabs)} current={tab} onTab={(chosen) => setTab(chosen as Tab)} />
      <div class="shown">
        {tab === 'html' && (
          <CodeEditor label={t.template.html} value={content.html} onValue={(html) => set({ html })} readOnly={readOnly} />
        )}
        {tab === 'text' && (
          <>
            <Switch
              label={t.template.textFromHtml}
              on={content.text === null}
              onChange={(isMade) => set({ text: isMade ? null : '' })}
              disabled={readOnly}
            />
            {content.text !== null && (
              <CodeEditor label={t.template.text} value={content.text} onValue={(text) => set({ text })} readOnly={readOnly} />
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
        label={t.template.details[part]}
        hint={t.template.hints[part]}
        value={content[part]}
        onValue={(value) => set({ [part]: value })}
        autocomplete="off"
        spellcheck={false}
        readOnly={readOnly}
      />
    ))}
  </>
)
