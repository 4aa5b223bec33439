import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { List, Template, TemplateDiff, TemplateVersionItem } from '../api/types.ts'
import { mayChange } from '../rights.ts'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { Dialog } from './dialog.tsx'
import { Icon } from './icon.tsx'
import { Panel } from './page.tsx'
import { State } from './state.tsx'
import { Differences } from './template-diff.tsx'
import { Ago } from './time.tsx'

/** What was published when and by whom, what each version changed, and the way back to one. */
export function TemplateVersions({ template, onRestored }: { template: Template; onRestored(): Promise<unknown> }) {
  const path = `/api/templates/${template.id}`
  const versions = useApi<List<TemplateVersionItem>>(`${path}/versions`)
  const [restored, setRestored] = useState<number | null>(null)
  const restore = async (number: number): Promise<void> => {
    await call(`${path}/versions/${number}/restore`, { method: 'POST' })
    await Promise.all([versions.reload(), onRestored()])
  }
  return (
    <Panel heading={t.template.versions} text={t.template.versionsHow}>
      <Answer of={versions} rows={2}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="body muted">{t.template.noVersion}</p>
          ) : (
            <ul class="versions">
              {data.map((version, place) => (
                <li key={version.id}>
                  <Version version={version} path={path} before={data[place + 1]?.number ?? null} />
                  {mayChange() && !version.is_sent && (
                    <button class="btn small" type="button" onClick={() => setRestored(version.number)}>
                      {t.template.restore}
                    </button>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      {restored !== null && (
        <Dialog
          wide
          heading={t.template.restoreVersion(restored)}
          button={t.template.restore}
          run={() => restore(restored)}
          onClose={() => setRestored(null)}
        >
          <p>{t.template.changes}</p>
          <Compared path={`${path}/diff?from=published&to=${restored}&view=sent`} />
        </Dialog>
      )}
    </Panel>
  )
}

function Version({ version, path, before }: { version: TemplateVersionItem; path: string; before: number | null }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <div>
      <p>
        <b>{t.template.version(version.number)}</b>{' '}
        <span class="muted">
          <Ago of={version.published_at} />
          {version.published_by && ` ${t.template.by(version.published_by.name)}`}
        </span>{' '}
        {version.is_sent && <State of="published" word={t.template.isSent} />}
      </p>
      {before !== null && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>
            <Icon name="right" />
            {t.template.whatChanged}
          </summary>
          {isOpen && <Compared path={`${path}/diff?from=${before}&to=${version.number}`} />}
        </details>
      )}
    </div>
  )
}

/** The differences that the API finds at this path. */
export const Compared = ({ path }: { path: string }) => (
  <Answer of={useApi<TemplateDiff>(path)} rows={2}>
    {(diff) => <Differences diff={diff} />}
  </Answer>
)
