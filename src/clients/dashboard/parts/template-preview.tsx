import { useState, useRef } from 'preact/hooks'
import { useFetched } from '../api/cache.ts'
import { call, type ApiError } from '../api/client.ts'
import type { RenderedTemplate } from '../api/types.ts'
import { bodyOf, valuesOf, type TemplateContent } from '../template-draft.ts'
import { t } from '../texts/texts.ts'
import { Segments } from './controls.tsx'
import { MailPreview } from './mail-preview.tsx'
import { Note, Panel } from './page.tsx'

export interface Preview {
  /** What was rendered last. */
  rendered: RenderedTemplate | null
  /** Why the newest content cannot be rendered. */
  error: ApiError | null
}

const pauseMs = 300

/** What an email would contain, rendered by the server once nothing was typed for a moment. */
export function usePreview(content: TemplateContent, values: Record<string, string>): Preview {
  const isFirst = useRef(true)
  const { subject, html, text, layout, variables } = bodyOf(content)
  const body = { subject, html, text, layout, declared: variables, variables: valuesOf(values, content.variables) }
  const { data = null, error } = useFetched(JSON.stringify(body), async (aborted) => {
    if (!isFirst.current) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    aborted.throwIfAborted()
    const rendered = await call<RenderedTemplate>('/api/templates/render', { method: 'POST', body, signal: aborted })
    isFirst.current = false
    return rendered
  })
  return { rendered: data, error }
}

type View = 'desktop' | 'phone' | 'text'

/** What the recipient will see. */
export function TemplatePreview({ preview: { rendered, error } }: { preview: Preview }) {
  const [view, setView] = useState<View>('desktop')
  return (
    <Panel
      heading={t.template.preview}
      aside={
        <Segments
          name={t.template.view}
          options={Object.entries(t.template.views)}
          current={view}
          onChoice={(chosen) => setView(chosen as View)}
        />
      }
    >
      <div class="shown">
        {error && (
          <Note tone="bad">
            <p role="status">{error.message === '' ? t.offline : error.message}</p>
          </Note>
        )}
        {rendered && rendered.missing.length > 0 && (
          <Note tone="wait">
            <p role="status">
              <b>{t.template.missing(rendered.missing.length)}</b> <code>{rendered.missing.join(', ')}</code>
            </p>
            <p>{t.template.missingHow}</p>
          </Note>
        )}
        {rendered && <p class="subject">{rendered.subject ?? <span class="muted">{t.template.noSubject}</span>}</p>}
        {rendered && view === 'text' && <TextPart text={rendered.text} />}
        {rendered && view !== 'text' && (
          <div class="scroll" role="region" tabIndex={0} aria-label={t.template.views[view]}>
            <MailPreview html={rendered.html} width={view} name={t.template.preview} />
          </div>
        )}
      </div>
    </Panel>
  )
}

function TextPart({ text }: { text: string | null }) {
  if (text === null) return <p class="muted">{t.template.textMade}</p>
  return text === '' ? <p class="muted">{t.template.textNone}</p> : <pre class="code plain">{text}</pre>
}
