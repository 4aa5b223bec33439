import { useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call, session } from '../api/client.ts'
import type { List, PublishedTemplate, Template, TemplateDependent } from '../api/types.ts'
import { Link, navigate } from '../router.tsx'
import { forgetDraft } from '../template-draft.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from './dialog.tsx'
import { Field, useFields } from './fields.tsx'
import { Note } from './page.tsx'
import { Compared } from './template-versions.tsx'

interface TemplateDialog {
  template: Template
  onClose(): void
}

/** Shows what publishing changes, and then which templates still use the version before. */
export function PublishTemplate({ template, onDone, onClose }: TemplateDialog & { onDone(): Promise<void> }) {
  const [outdated, setOutdated] = useState<TemplateDependent[] | null>(null)
  const path = `/api/templates/${template.id}`
  const publish = async (): Promise<boolean> => {
    const published = await call<PublishedTemplate>(`${path}/publish`, { method: 'POST' })
    await onDone()
    setOutdated(published.outdated_dependents)
    return published.outdated_dependents.length === 0
  }
  if (outdated && outdated.length > 0) {
    return (
      <Dialog heading={t.status.published} onClose={onClose}>
        <p>{t.template.outdated(outdated.length)}</p>
        <ul>
          {outdated.map(({ id, alias, name }) => (
            <li key={id}>
              <Link href={`/templates/${alias ?? id}`}>{name}</Link>
            </li>
          ))}
        </ul>
      </Dialog>
    )
  }
  return (
    <Dialog wide heading={t.template.publishName(template.name)} button={t.template.publish} run={publish} onClose={onClose}>
      <p>{template.status === 'draft' ? t.template.publishFirst : t.template.changes}</p>
      {template.status === 'published' && <Compared path={`${path}/diff?view=sent`} />}
    </Dialog>
  )
}

/** Sends the saved draft to one address, filled with the values of the preview. */
export function TestTemplate({ template, values, onClose }: TemplateDialog & { values: Record<string, unknown> }) {
  const { values: typed, field } = useFields({ to: session.value?.user.email ?? '', from: template.from ?? '' })
  const { to, from } = typed
  const [sent, setSent] = useState<string | null>(null)
  const send = async (): Promise<boolean> => {
    const body = { to, from: from.trim() || null, variables: values }
    setSent((await call<{ id: string }>(`/api/templates/${template.id}/test`, { method: 'POST', body })).id)
    return false
  }
  if (sent !== null) {
    return (
      <Dialog heading={t.common.sendTest} onClose={onClose}>
        <Note tone="ok">
          <p role="status">
            <b>{t.template.testSent(to)}</b> <Link href={`/emails/${sent}`}>{t.template.seeEmail}</Link>
          </p>
        </Note>
      </Dialog>
    )
  }
  return (
    <Dialog
      heading={t.common.sendTest}
      button={t.template.send}
      run={send}
      onClose={onClose}
      disabled={to.trim() === '' || from.trim() === ''}
    >
      <p>{t.template.testText}</p>
      <Field {...field('to')} label={t.emails.to} type="email" autocomplete="email" />
      <Field {...field('from')} label={t.template.details.from} />
    </Dialog>
  )
}

/** Whoever deletes what apps or other templates use types its name. */
export function DeleteTemplate({ template, onClose }: TemplateDialog) {
  const dependents = useApi<List<TemplateDependent>>(`/api/templates/${template.id}/dependents`)
  const used = dependents.data?.data ?? []
  const isUsed = template.status === 'published' || used.length > 0
  const remove = async (): Promise<void> => {
    await call(`/api/templates/${template.id}`, { method: 'DELETE' })
    forgetDraft(template.id)
    invalidate('/api/templates')
    navigate('/templates')
  }
  return (
    <Dialog
      heading={t.common.deleteOf(template.name)}
      button={t.common.delete}
      run={remove}
      onClose={onClose}
      disabled={dependents.data === undefined}
      typed={isUsed ? template.name : undefined}
    >
      <p>{template.status === 'published' ? t.template.deletePublished : t.template.deleteText}</p>
      {used.length > 0 && <p>{t.template.usedBy(used.map(({ name }) => name).join(', '))}</p>}
    </Dialog>
  )
}
