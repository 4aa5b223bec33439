import { useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Template } from '../api/types.ts'
import { ObjectPage } from '../parts/answer.tsx'
import { Button, AskButton, ActionButton, useAction } from '../parts/button.tsx'
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
  return (
    <ObjectPage of={template} title={t.nav.templates} crumb={crumb()} missing={t.template.notFound}>
      {(found) => <Editor key={found.id} template={found} reload={template.reload} />}
    </ObjectPage>
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
  const [asked, setAsked] = useState<'publish' | 'test' | null>(null)
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
            <Button text={t.template.save} disabled={!draft} busy={saving.busy} onClick={() => saving.start(null)} />
            <Button
              look="main"
              text={t.template.publish}
              disabled={!canPublish}
              busy={saving.busy}
              onClick={() => saving.start('publish')}
            />
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
          <Button text={t.common.sendTest} icon="mail" busy={saving.busy} onClick={() => saving.start('test')} />
          <ActionButton text={t.template.duplicate} icon="copy" run={duplicate} />
          <AskButton text={t.common.delete} dialog={(closeIt) => <DeleteTemplate template={template} onClose={closeIt} />} />
        </div>
      )}
      {asked === 'publish' && <PublishTemplate template={template} onDone={refetch} onClose={close} />}
      {asked === 'test' && <TestTemplate template={template} values={valuesOf(values, content.variables)} onClose={close} />}
    </Page>
  )
}

const ChangedElsewhere = ({ id }: { id: string }) => (
  <Note
    tone="wait"
    role="status"
    says={t.template.changedElsewhere}
    action={<Button look="small" text={t.template.takeTheirs} onClick={() => forgetDraft(id)} />}
  >
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
