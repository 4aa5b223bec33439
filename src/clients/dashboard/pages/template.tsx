import { useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Template } from '../api/types.ts'
import { Answer } from '../parts/answer.tsx'
import { ActionButton, useAction } from '../parts/controls.tsx'
import { Icon } from '../parts/icon.tsx'
import { Note, Page } from '../parts/page.tsx'
import { WithRefusal } from '../parts/refused.tsx'
import { State } from '../parts/state.tsx'
import { DeleteTemplate, PublishTemplate, TestTemplate } from '../parts/template-dialogs.tsx'
import { TemplateFields } from '../parts/template-fields.tsx'
import { TemplatePreview, usePreview } from '../parts/template-preview.tsx'
import { TemplateVariables } from '../parts/template-variables.tsx'
import { TemplateVersions } from '../parts/template-versions.tsx'
import { Ago } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { navigate, type PageProps } from '../router.tsx'
import { bodyOf, contentOf, draftOf, forgetDraft, keepDraft, settleDraft, valuesOf, type TemplateContent } from '../template-draft.ts'
import { t } from '../texts/texts.ts'

export default function TemplatePage({ params }: PageProps) {
  const name = params['alias'] ?? ''
  const template = useApi<Template>(`/api/templates/${encodeURIComponent(name)}`)
  if (template.data) return <Editor key={template.data.id} template={template.data} reload={template.reload} />
  const isMissing = template.error?.status === 404
  return (
    <Page title={t.nav.templates} heading={isMissing ? t.template.notFound : ''} crumb={crumb()}>
      {!isMissing && <Answer of={template}>{() => null}</Answer>}
    </Page>
  )
}

const crumb = () => ({ href: '/templates', text: t.nav.templates })

/** Saves what is in the fields as the draft of the template. @throws ApiError */
async function save(template: Template, content: TemplateContent, refetch: () => Promise<void>): Promise<void> {
  await call(`/api/templates/${template.id}`, { method: 'PATCH', body: bodyOf(content) })
  const { alias } = bodyOf(content)
  if (alias === template.alias) {
    await refetch()
    return settleDraft(template.id, content)
  }
  // The address of this page names the alias.
  settleDraft(template.id, content)
  invalidate('/api/templates?')
  navigate(`/templates/${alias ?? template.id}`, { replace: true })
}

function Editor({ template, reload }: { template: Template; reload(): Promise<void> }) {
  const draft = draftOf(template.id)
  const content = draft?.content ?? contentOf(template)
  const [values, setValues] = useState<Record<string, string>>({})
  const [asked, setAsked] = useState<'publish' | 'test' | 'delete' | null>(null)
  const preview = usePreview(content, values)
  const change = (changes: Partial<TemplateContent>): void => keepDraft(template, { ...content, ...changes })
  const refetch = (): Promise<void> => {
    invalidate('/api/templates')
    return reload()
  }
  // What is published or sent as a test is what is saved.
  const saving = useAction(async (next: typeof asked) => {
    if (draft) await save(template, content, refetch)
    setAsked(next)
  })
  const duplicate = async (): Promise<void> => {
    const { id } = await call<{ id: string }>(`/api/templates/${template.id}/duplicate`, { method: 'POST' })
    await refetch()
    navigate(`/templates/${id}`)
  }
  const canPublish = draft !== undefined || template.has_unpublished_versions || template.is_outdated
  const close = (): void => setAsked(null)
  return (
    <Page
      title={template.name}
      heading={template.name}
      crumb={crumb()}
      sub={<TemplateState template={template} isUnsaved={draft !== undefined} />}
      actions={
        mayChange() && (
          <>
            <button class="btn" type="button" disabled={!draft} aria-busy={saving.busy} onClick={() => saving.start(null)}>
              {t.template.save}
            </button>
            <button class="btn main" type="button" disabled={!canPublish} aria-busy={saving.busy} onClick={() => saving.start('publish')}>
              {t.template.publish}
            </button>
          </>
        )
      }
    >
      {draft && draft.base !== null && draft.base !== template.updated_at && <ChangedElsewhere id={template.id} />}
      <WithRefusal error={saving.error} main="alias">
        <div class="cols">
          <TemplateFields content={content} error={saving.error} onChange={mayChange() ? change : null} />
          <TemplatePreview preview={preview} />
        </div>
        <TemplateVariables
          declared={content.variables}
          missing={preview.rendered?.missing ?? []}
          values={values}
          onValues={setValues}
          onDeclared={mayChange() ? (variables) => change({ variables }) : null}
        />
      </WithRefusal>
      <TemplateVersions template={template} onRestored={refetch} />
      {mayChange() && (
        <div class="acts">
          <button class="btn" type="button" aria-busy={saving.busy} onClick={() => saving.start('test')}>
            <Icon name="mail" />
            {t.common.sendTest}
          </button>
          <ActionButton text={t.template.duplicate} icon="copy" run={duplicate} />
          <button class="btn" type="button" onClick={() => setAsked('delete')}>
            {t.common.delete}
          </button>
        </div>
      )}
      {asked === 'publish' && <PublishTemplate template={template} onDone={refetch} onClose={close} />}
      {asked === 'test' && <TestTemplate template={template} values={valuesOf(values, content.variables)} onClose={close} />}
      {asked === 'delete' && <DeleteTemplate template={template} onClose={close} />}
    </Page>
  )
}

const ChangedElsewhere = ({ id }: { id: string }) => (
  <Note
    tone="wait"
    action={
      <button class="btn small" type="button" onClick={() => forgetDraft(id)}>
        {t.template.takeTheirs}
      </button>
    }
  >
    <p role="status">
      <b>{t.template.changedElsewhere}</b>
    </p>
    <p>{t.template.changedElsewhereHow}</p>
  </Note>
)

const TemplateState = ({ template, isUnsaved }: { template: Template; isUnsaved: boolean }) => (
  <>
    <State of={template.status} />
    {template.published_at !== null && (
      <span>
        {t.template.version(template.version ?? 0)}, <Ago of={template.published_at} />
      </span>
    )}
    {template.status === 'published' && template.has_unpublished_versions && <State of="unpublished" />}
    {isUnsaved && <State of="unsaved" />}
  </>
)
